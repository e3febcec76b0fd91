#!/usr/bin/env bash
# lint.sh reads a file again when its contents, its place or the way it is compiled have changed, and not else.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
mkdir "$at/lint" "$at/bin"
printf '#!/bin/sh\necho "$@" >>%s/calls\n' "$at" >"$at/bin/clang-tidy"
chmod +x "$at/bin/clang-tidy"
: >"$at/lint/common"
: >"$at/calls"

# read_as COMMAND FILE: whether clang-tidy has been called.
read_as() {
    local before
    before=$(wc -l <"$at/calls")
    printf '  "command": "%s -c %s/%s",\n  "file": "%s/%s"\n' "$1" "$PWD" "$2" "$PWD" "$2" >"$at/compile_commands.json"
    PATH=$at/bin:$PATH tests/lint.sh --one "$at" quick "$2"
    [ "$(wc -l <"$at/calls")" -gt "$before" ]
}

failed() { echo "lint_remembers: $1" && exit 1; }
cp src/base/cut.c "$at/a.c"
cp "$at/a.c" "$at/b.c"
read_as cc "$at/a.c" || failed "a new file is not read"
! read_as cc "$at/a.c" || failed "a file that was clean is read again"
read_as cc "$at/b.c" || failed "the same contents in another place are not read"
read_as "cc -DMORE" "$at/a.c" || failed "what is compiled otherwise is not read"
echo >>"$at/a.c"
read_as "cc -DMORE" "$at/a.c" || failed "a change is not read"
