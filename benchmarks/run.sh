#!/usr/bin/env bash
# All benchmarks, one after the other, into results/<machine>-<date>.tsv. Nothing else should run meanwhile.
# usage: run.sh [-b BUILD] [-d DATA] [-p PYTHON] [-i ITERATIONS] [-o FOLDER] [-q] [PART ...]
#   -b  folder of a release build (build/release)         -p  python of an environment with MCRpy: also run the peers
#   -d  MCRpy's micrographs (../shared/data/mcrpy)     -i  iterations of MCRpy at 64^3 (500)
#   -o  folder of the results (benchmarks/results)     -q  small sizes, few repetitions: do the scripts still work?
#   PART: kernels_corr kernels_vec swap mpi_redistribute characterize memory quality textures gram peers (all of them)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../build/release data=$here/../../shared/data/mcrpy peer='' iterations=500 quick='' results=$here/results
command=("run.sh" "$@")
while getopts b:d:p:i:o:q option; do
    case $option in
    b) build=$OPTARG ;; d) data=$OPTARG ;; p) peer=$OPTARG ;; i) iterations=$OPTARG ;; o) results=$OPTARG ;;
    q) quick=1 ;; *) sed -n '3,7s/^# //p' "$0" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
build=$(cd "$build" && pwd)
data=$(cd "$data" && pwd)
all=(kernels_corr kernels_vec swap mpi_redistribute characterize memory quality textures gram peers)
parts=("${@:-${all[@]}}")
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# step COMMAND ...: its rows under a line with the command; a failure is written down and the rest goes on.
step() {
    local status=0
    printf '#\n# > %s\n' "$(sed "s|^bare ||; s|$build|build|g; s|$data|data|g; s|$here|benchmarks|g" <<<"$*")"
    "$@" || status=$?
    [ "$status" = 0 ] || printf '# status %d\n' "$status"
}

# The tables made by our own scripts bring `#` lines of their own; one header for the file is enough.
bare() { "$@" | grep -vE '^# (machine|vectors|compiler|system|commit|date|load before|command):'; }

pick() { if [ -n "$quick" ]; then echo "$1"; else echo "$2"; fi; }

kernels_corr() {
    local n threads
    for n in $(pick 64 "64 128 256"); do
        for threads in 1 2; do step "$build/benchmarks/bench_corr" "$n" "$threads" 16; done
    done
}

kernels_vec() {
    local n threads
    for n in $(pick 64 "64 128 256"); do
        for threads in 1 2; do step "$build/benchmarks/kernels_vec" "$n" "$threads"; done
    done
}

swap() { step "$build/benchmarks/bench_swap" "$(pick 0.2 2)"; }

mpi_redistribute() {
    local n ranks
    for n in $(pick 64 "128 256"); do
        for ranks in 1 2 4; do
            step timeout 600 mpirun -n "$ranks" --mca mpi_yield_when_idle $((ranks > $(nproc))) \
                "$build/benchmarks/bench_mpi_redistribute" "$n" "$n" "$n"
        done
    done
}

characterize() {
    local sizes
    read -ra sizes <<<"$(pick 64 "128 256 512")"
    step "$build/benchmarks/bench_characterize" "${sizes[@]}"
}

memory() {
    if [ -n "$quick" ]; then
        step bare "$here/memory.sh" -b "$build" -d "$data" -i 1 -p 1 -m 64 "64"
    else
        step bare "$here/memory.sh" -b "$build" -d "$data" "128 256"
    fi
}

quality() {
    local few=() python=python3
    "$python" -c 'import numpy, matplotlib' 2>/dev/null || python=/usr/bin/python3
    [ -z "$quick" ] || few=(--seeds 0 --cases pymks_1 composite)
    step bare "$python" "$here/quality.py" --mesoforge "$build/mesoforge" --data "$data" --sheet "${table%.tsv}.png" \
        "${few[@]}"
}

textures() {
    local few=() python=python3
    "$python" -c 'import numpy, matplotlib' 2>/dev/null || python=/usr/bin/python3
    [ -z "$quick" ] || few=(--seeds 0 --cases copolymer)
    step bare "$python" "$here/textures.py" --mesoforge "$build/mesoforge" --data "$data" \
        --sheet "${table%.tsv}-textures.png" "${few[@]}"
}

# Beside the SGEMM of that Python's NumPy, and MCRpy where there is one.
gram() {
    local few=() python=/usr/bin/python3
    [ -z "$peer" ] || few=(--python "$peer" --mcrpy "$(pick 20 40)")
    [ -z "$quick" ] || few+=(--sizes 64 --threads 1 --pairs 1 --evaluations 5)
    step bare "$python" "$here/gram.py" "$build/mesoforge" "$data/pymks_ms_64x64_1.npy" "${few[@]}"
}

# In full at 64^3; at 128^3 only the time of an evaluation, of which twenty are enough.
peers() {
    local common=(--mesoforge "$build/mesoforge" --data "$data")
    [ -n "$peer" ] || { printf '#\n# peers: no environment with MCRpy (-p)\n' && return; }
    if [ -n "$quick" ]; then
        step bare "$here/peers/mcrpy.sh" "$peer" --iterations 20 --repeats 1 --options "--max_iter 5" "${common[@]}"
    else
        step bare "$here/peers/mcrpy.sh" "$peer" --iterations 20 --pairs 3 --sizes 64 "${common[@]}"
        step bare "$here/peers/mcrpy.sh" "$peer" --iterations 20 --sizes 128 --repeats 1 "${common[@]}"
        step bare "$here/peers/mcrpy.sh" "$peer" --iterations "$iterations" --sizes 64 "${common[@]}"
    fi
}

for part in "${parts[@]}"; do
    [[ " ${all[*]} " = *" $part "* ]] || { echo "run.sh: no part '$part'; parts: ${all[*]}" >&2 && exit 2; }
done
mkdir -p "$results"
machine=$(lscpu | sed -n 's/^Model name: *//p' | head -n 1 | tr -cs 'A-Za-z0-9' '-' | sed 's/-*$//')
table=$results/${machine:-machine}-$(date -u +%Y-%m-%d)${quick:+-quick}.tsv
"$here/machine.sh" "${command[@]}" | tee "$table"
for part in "${parts[@]}"; do "$part" 2>&1 | tee -a "$table"; done
echo "wrote $table" >&2
! grep -q '^# status' "$table"
