#!/bin/sh
# The library has all that the recorded interface has, in functions and in structs. What is new may be recorded at any time. What is
# gone or changed makes another interface, with another soname, MESOFORGE_ABI and version node. Exit status 77: abidiff is missing.
# usage: lib_abi.sh LIBRARY HEADERS RECORD [--record]
set -eu
[ $# -ge 3 ] || { echo "usage: $0 LIBRARY HEADERS RECORD [--record]" >&2; exit 2; }
library=$1 headers=$2 record=$3
command -v abidiff >/dev/null || { echo "skipped: no abidiff (Debian: abigail-tools)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

abidw --no-architecture --no-corpus-path --drop-private-types --exported-interfaces-only --headers-dir "$headers" \
    --no-show-locs --no-comp-dir-path --no-elf-needed --no-parameter-names --out-file "$folder/now" "$library"
if [ "${4:-}" = --record ]; then
    cp "$folder/now" "$record"
    exit
fi

same() { abidiff --no-added-syms "$1" "$folder/now" >"$folder/said" 2>&1; }

# It sees a function that is gone, and a member that has another type.
for change in s/mesoforge_cancel/mesoforge_end/ "/name='ndim'/s/type-id-2/type-id-1/"; do
    sed "$change" "$record" >"$folder/other"
    ! cmp -s "$record" "$folder/other" || { echo "lib_abi: nothing in $record fits $change" >&2; exit 1; }
    ! same "$folder/other" || { echo "lib_abi: abidiff sees no change after $change" >&2; exit 1; }
done
same "$record" || {
    cat "$folder/said" >&2
    echo "lib_abi: the interface of soname 1 has changed; $0 $library $headers $record --record, if nobody has used it yet" >&2
    exit 1
}
