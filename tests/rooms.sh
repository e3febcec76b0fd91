#!/bin/sh
# The include rule: a file includes only its own room and rooms to its left, and a third-party header stands only in
# the room that owns it. Only verbs and the library read options. usage: rooms.sh ROOT [--self-test]
set -eu

# Rank of a path's room in the line; files outside the line (tests, benchmarks) have none.
rule='
function rank(path) {
    if (path ~ /^(include|src\/base)\//) return 1
    if (path ~ /^kernels\//) return 2
    if (path ~ /^mpi\//) return 3
    if (path ~ /^slurm\//) return 4
    if (path ~ /^io\//) return 5
    if (path ~ /^src\/(desc|optim|plan|prop|synth|text)\//) return 6
    if (path ~ /^src\/(vqa|net)\//) return 7
    if (path ~ /^src\/model\//) return 8
    if (path ~ /^src\/(place|run|show)\//) return 9
    if (path ~ /^src\/session\//) return 10
    if (path ~ /^src\/(recon|train|gen|bench)\//) return 11
    if (path ~ /^src\/(moe|serve)\//) return 12
    if (path ~ /^src\/cmd\/[^\/]*$/) return 13
    if (path ~ /^src\/cmd\//) return 14
    if (path == "src/main.c" || path ~ /^src\/lib\//) return 15
    return 0
}
function room(path) { sub(/\/[^\/]*$/, "", path); sub(/^kernels\/.*/, "kernels", path); return path }
function owner(header) {
    if (header ~ /^(mpi|nccl|pmix)\.h$/) return "^mpi/"
    if (header ~ /^(hdf5|H5.*|png|tiffio|tiff|cairo.*|zlib)\.h$/ || header ~ /^(openssl|cairo)\//) return "^io/"
    if (header ~ /^(fftw3|omp|cblas)\.h$/ || header ~ /^oneapi\//) return "^kernels/cpu/"
    if (header ~ /^(yaml|jansson)\.h$/) return "^src/base/"
    if (header == "microhttpd.h") return "^src/serve/"
    if (header ~ /^(pcre2|utf8proc)\.h$/) return "^src/text/"
    if (header ~ /^(cuda|cublas|cudnn|nvml).*\.h$/) return "^kernels/cuda/"
    return ""
}
function say(what) { printf "%s:%d: %s\n", file, FNR, what; ++bad }
FNR == 1 { file = FILENAME; sub("^" root "/", "", file) }
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\""); name = part[2]
    if (name == "src/base/opt.h" && file !~ /^(include|src\/(base|cmd|lib|main))/)
        say("includes \"" name "\": only verbs and the library read options; take plain values")
    if (rank(name) == 0) say("includes \"" name "\", which is in no room (write the path from the top)")
    else if (rank(name) > rank(file)) say("includes \"" name "\" from a room to its right")
    else if (rank(name) == rank(file) && room(name) != room(file) && rank(file) >= 6)
        say("includes \"" name "\" from a neighbouring room")
}
/^[ \t]*#[ \t]*include[ \t]*</ {
    name = $0; sub(/^[^<]*</, "", name); sub(/>.*/, "", name)
    if (owner(name) != "" && file !~ owner(name)) say("includes <" name ">, which only " substr(owner(name), 2) " may")
}
END { exit bad > 0 }
'

check() {
    find "$1/include" "$1/src" "$1/kernels" "$1/mpi" "$1/io" "$1/slurm" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
        -print 2>/dev/null | sort | xargs awk -v root="$1" "$rule"
}

# Every kind of violation is found, and a lawful tree passes.
self_test() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree/src/base" "$tree/src/desc" "$tree/src/optim" "$tree/src/cmd/learn" "$tree/src/train" "$tree/src/moe" "$tree/kernels/cpu" "$tree/io" \
        "$tree/mpi"
    printf '#include "src/base/a.h"\n#include <hdf5.h>\n#include <stdio.h>\n' >"$tree/io/a.c"
    printf '#include "src/train/a.h"\n' >"$tree/src/moe/a.c"
    printf '#include "kernels/a.h"\n#include "kernels/cpu/b.h"\n#include <fftw3.h>\n' >"$tree/kernels/cpu/a.c"
    check "$tree" || { echo "rooms: a lawful tree was refused"; exit 1; }
    for line in '#include "io/a.h"' '#include <mpi.h>' '  #  include "src/main.c"' '#include "a.h"' '#include <yaml.h>' \
        '#include "src/optim/a.h"' '#include <openssl/sha.h>' '#include "src/moe/a.h"' '#include "src/cmd/a.h"' '#include "src/cmd/recon/a.h"' \
        '#include "src/base/opt.h"'; do
        printf '%s\n' "$line" >"$tree/src/desc/bad.c"
        case $line in
            *io/a.h*) mv "$tree/src/desc/bad.c" "$tree/mpi/bad.c" ;;
            *moe/a.h*) mv "$tree/src/desc/bad.c" "$tree/src/train/bad.c" ;;
            *recon/a.h*) mv "$tree/src/desc/bad.c" "$tree/src/cmd/learn/bad.c" ;;
            *cmd/a.h*) mv "$tree/src/desc/bad.c" "$tree/src/moe/bad.c" ;;
        esac
        if check "$tree" >/dev/null; then echo "rooms: not found: $line"; exit 1; fi
        find "$tree" -name bad.c -delete
    done
}

[ "${2:-}" != --self-test ] || self_test
check "$1"
