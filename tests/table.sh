#!/usr/bin/env bash
# Every test that a table of a document names in its last column is there. usage: table.sh DOCUMENT FILE-OF-TESTS
set -uo pipefail
missing=0 named=0
while read -r name; do
    named=$((named + 1))
    grep -qx -- "$name" "$2" || { echo "$1: no test is called $name" >&2 && missing=1; }
done < <(sed -n 's/^|.*|\([^|]*\)|$/\1/p' "$1" | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort -u)
[ "$named" -gt 5 ] || { echo "$1: its tables name $named tests" >&2 && exit 1; }
exit "$missing"
