#!/usr/bin/env bash
# clang-tidy on all C files of the program, except GCC's vector code, which clang cannot read.
# usage: lint.sh BUILD SECONDS JOBS [CHANGED_FILE ...]
# Changed files come first, to the analyzer's full depth, which is 1.5 s of a core for a file; the others with as many
# paths as take 0.4 s (without any they would take 0.06 s). What was clean is not read again until it, its
# place, how it is compiled, a header or the rules change: BUILD/lint remembers. Exit status: 0 clean, 1 something was
# found, 3 time is up.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# --one BUILD DEPTH FILE: prints what is found.
one() {
    local build=$1 depth=$2 file=$3 quick=() key said
    key=$build/lint/$({
        cat "$build/lint/common" "$file"
        grep -F "/$file\"" "$build/compile_commands.json"
        echo "$file"
    } | sha256sum | cut -c1-32)
    [ "$depth" = deep ] ||
        quick=(--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=50000)
    if [ ! -e "$key.deep" ] && [ ! -e "$key.$depth" ]; then
        if said=$(clang-tidy -p "$build" --quiet "${quick[@]}" "$file" 2>&1); then
            touch "$key.$depth"
        else
            printf '%s\n' "$said"
        fi
    fi
    echo "$file" >>"$build/lint/read"
}

# "DEPTH FILE", every file once.
files() {
    {
        [ $# = 0 ] || printf 'deep %s\n' "$@"
        find src kernels mpi slurm io -name '*.c' -printf 'quick %p\n' | sort
    } | grep -E ' (src|kernels|mpi|slurm|io)/' | grep -vE ' kernels/cpu/slices/(lanes_text|strips_text|mirror).c$' | awk '!seen[$2]++'
}

if [ "$1" = --one ]; then
    one "${@:2}"
    exit 0
fi
build=$1 seconds=$2 jobs=$3
shift 3
mkdir -p "$build/lint"
: >"$build/lint/read"
{
    clang-tidy --version
    cat .clang-tidy
    find src kernels mpi slurm io -name '*.h' | sort | xargs cat
} | sha256sum >"$build/lint/common"
files "$@" >"$build/lint/files"
nice -n 10 timeout "$seconds" xargs -r -n 2 -P "$jobs" "$0" --one "$build" <"$build/lint/files" >"$build/lint/found" 2>&1
unread=$(($(wc -l <"$build/lint/files") - $(wc -l <"$build/lint/read")))
cat "$build/lint/found"
if [ -s "$build/lint/found" ]; then exit 1; fi
if [ "$unread" -gt 0 ]; then
    echo "$unread of $(wc -l <"$build/lint/files") files were not read in $seconds s"
    exit 3
fi
