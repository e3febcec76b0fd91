#!/bin/sh
# Every C file of ours is formatted as .clang-format says. 77 (skipped) without clang-format. usage: format.sh ROOT
set -eu
cd "$1"
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
find include src kernels mpi io slurm tests benchmarks examples \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' \) -print 2>/dev/null |
    sort | xargs clang-format --dry-run --Werror
