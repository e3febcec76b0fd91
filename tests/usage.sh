#!/usr/bin/env bash
# Tests that need arguments say so, with status 2, where they get none. A test that takes argv[1] without looking at argc is one of them.
# usage: usage.sh SOURCES PROGRAMS
set -uo pipefail
failed=0

for source in "$1"/unit/*.c; do
    name=$(basename "$source" .c)
    if grep -q '^ *NEEDS(' "$source"; then
        [ -x "$2/$name" ] || continue # not built here
        said=$("$2/$name" 2>&1)
        status=$?
        [[ $status:$said == "2:usage: $2/$name "* ]] || { echo "$name without arguments: status $status, '$said'" >&2 && failed=1; }
    elif grep -q 'argv\[1\]' "$source" && ! grep -qE 'argc [<>]' "$source"; then
        echo "$source: takes argv[1], lacks NEEDS()" >&2 && failed=1
    fi
done
exit "$failed"
