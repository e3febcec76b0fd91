#!/bin/sh
# The library exports its own names alone, has its soname, and leaves to its host what is its host's.
# usage: lib_symbols.sh LIBRARY HOST_CALLS PROGRAM ...: the programs use the library and print nothing
set -eu
[ $# -ge 3 ] || { echo "usage: $0 LIBRARY HOST_CALLS PROGRAM ..." >&2; exit 2; }
library=$1 calls=$2
shift 2

fail() {
    echo "lib_symbols: $1" >&2
    exit 1
}

others=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -E '^mesoforge_[a-z_]*@@MESOFORGE_1$|^MESOFORGE_1(@@MESOFORGE_1)?$' || true)
[ -z "$others" ] || fail "it exports $others"
declared=$(grep -o -E '\bmesoforge_[a-z_]+\(' include/mesoforge.h | tr -d '(' | sort -u |
    grep -v -E '^mesoforge_(open_mpi)$')
exported=$(nm -D --defined-only "$library" | awk '$3 ~ /^mesoforge_/ { sub(/@.*/, "", $3); print $3 }' | sort -u)
[ "$declared" = "$exported" ] || fail "the header declares other functions than it exports: $(echo "$declared
$exported" | sort | uniq -u | tr '\n' ' ')"
objdump -p "$library" | grep -q -E 'SONAME +libmesoforge\.so\.1$' || fail "no soname libmesoforge.so.1"

for program; do
    said=$(LD_PRELOAD="$calls" "$program" 2>&1) || fail "$program: ${said:-ends badly}"
    [ -z "$said" ] || fail "it prints: $said"
done
