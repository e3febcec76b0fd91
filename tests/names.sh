#!/usr/bin/env bash
# Files and functions that documents name are there: a path from the top (its end may be left out, capitals in it stand for a word), a source
# file by its name, a function or struct as it is called. usage: names.sh ROOT DOCUMENT ... [--self-test]
set -uo pipefail
rooms='src|kernels|mpi|io|slurm|tests|benchmarks|tools|examples|packaging|docs'

paths() { grep -oP "(?<![\w/.-])($rooms)/[\w./-]*\w" "$@" | sort -u; }
sources() { grep -oP '`\K[\w-]+\.(c|cu|cc|py|sh)(?=`)' "$@" | sort -u; }
names() { grep -oP '\bmf_[a-z0-9_]+\b' "$@" | sort -u; }

# usage: missing DOCUMENT. In ROOT; @words: names of the sources, a line each; @files: names of the files, without folders.
missing() {
    local one
    paths "$1" | while read -r one; do
        compgen -G "$one*" >/dev/null || compgen -G "$(sed -E 's/[A-Z]+/*/' <<<"$one")" >/dev/null || echo "$1: there is no $one"
    done
    sources "$1" | grep -vxF -f "$files" | sed "s|^|$1: no file is called |"
    names "$1" | grep -vxF -f "$words" | sed "s|^|$1: nothing is called |"
}

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
words=$tree/words files=$tree/files
cd "$1" && shift || exit 1
find ./*.* src kernels mpi io slurm tests benchmarks tools -type f -printf '%f\n' | sort -u >"$files"
find src kernels mpi io slurm tests benchmarks \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -exec grep -ohP '\bmf_\w+' {} + | sort -u >"$words"

if [ "${!#}" = --self-test ]; then
    set -- "${@:1:$#-1}"
    # shellcheck disable=SC2016
    printf 'io/nowhere.c `nothing.py` mf_never() io/h5.c kernels/cost `comm.c` mf_agree() src/desc/measure_NAME.c' >"$tree/document"
    [ "$(missing "$tree/document" | wc -l)" = 3 ] || { echo "names: what is missing is not found" >&2 && exit 1; }
fi
for document in "$@"; do missing "$document"; done >"$tree/found"
cat "$tree/found" >&2
[ ! -s "$tree/found" ]
