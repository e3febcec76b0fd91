#!/usr/bin/env bash
# The cuda back end on a real GPU: tests, times, memory and sanitizers, into one results file that can be committed.
# It builds nothing. What the time does not suffice for is left out, the least valuable first. Status 77: no GPU here.
# usage: gpu.sh BUILD [RESULTS] [--seconds 240] [--sizes "64 128 256 512"] [--lag 16] [--evaluations 25] [--tests "cuda_move net_ops ..."] [--layer "8192 784-1024-256"] [--commit NAME]
set -euo pipefail
read -ra tests <<<"cuda_move cuda_field cuda_flux cuda_optim cuda_labels cuda_segment cuda_single cuda_corr cuda_lines cuda_together cuda_packed cuda_vgg cuda_patch cuda_space net_ops net_optim kernels_meanfield"
read -ra sizes <<<"64 128 256 512"
read -ra layer <<<"8192 784-1024-256"
seconds=240 lag=16 evaluations=25 results="" build="" commit=""
while [ $# -gt 0 ]; do
    case $1 in
        --sizes | --tests | --layer) read -ra "${1#--}" <<<"$2" && shift ;;
        --seconds | --lag | --evaluations | --commit) printf -v "${1#--}" %s "$2" && shift ;;
        -*) echo "gpu: no option $1" >&2 && exit 2 ;;
        *) if [ -z "$build" ]; then build=$1; else results=$1; fi ;;
    esac
    shift
done
[ -n "$build" ] || { sed -n 's/^# usage/usage/p' "$0" >&2 && exit 2; }
[ -d "$build" ] || { echo "gpu: there is no folder '$build'; the first argument is a build folder, as build/release" >&2 && exit 2; }
build=$(cd "$build" && pwd)
export MF_CUDA_LIBRARY=${MF_CUDA_LIBRARY:-$build/libmesoforge_cuda.so}
[ -f "$MF_CUDA_LIBRARY" ] || { echo "gpu: no $MF_CUDA_LIBRARY; configure with -DMF_CUDA=ON" && exit 77; }
root=$(cd "$(dirname "$0")/.." && pwd)
[ -n "$commit" ] || commit=$(git -C "$root" describe --always --dirty --abbrev=12 2>/dev/null) || commit="not known"
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) || gpu=""
results=$(realpath -m "${results:-gpu-$(tr -cs 'A-Za-z0-9\n' - <<<"${gpu,,}" | sed 's/-*$//')-$(date -u +%F).md}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
left_out=()

say() { printf '%s\n' "$@" | tee -a "$results"; }
left() { echo $((seconds - SECONDS)); }

# A step's limit; never 0, by which timeout(1) means none.
within() { timeout "$(($1 > 1 ? $1 : 1))" "${@:2}"; }

# Is there time for a step that takes so many seconds? Else it is among those left out.
time_for() {
    [ "$(left)" -gt "$1" ] || { left_out+=("$2") && return 1; }
}

# begin NAME COMMAND ...: in the background, within the seconds of $limit and the time that is left; a row says what became of it.
begin() {
    local name=$1 start=$SECONDS most=$((limit < $(left) ? limit : $(left))) status=0
    shift
    {
        within "$most" "$@" >"$name.log" 2>&1 || status=$?
        case $status in
            0) echo "| $name | passed | $((SECONDS - start)) |" ;;
            77) echo "| $name | skipped | |" ;;
            124) echo "| $name | did not end within $most s | |" ;;
            *) echo "| $name | FAILED ($status) | $((SECONDS - start)) |" && tail -n 20 "$name.log" >&2 ;;
        esac >"$name.row"
    } &
}

# Rows of all that began, in their order.
finish() {
    wait
    for name; do say "$(cat "$name.row")"; done
}

match() { within "$(left)" "$build/mesoforge" match "$@" --descriptor_types FFTCorrelations Variation --limit_to "$lag" --json --output out.h5 2>step.log; }
number() { grep -oE "\"$1\":\[?[-+.0-9e]+" "$2" | head -n 1 | sed 's/.*[:[]//'; }
mega() { awk -v bytes="$1" 'BEGIN { if (bytes == "") printf "-"; else printf "%.1f", bytes / 1e6 }'; }
short() { awk -v x="${1:-0}" 'BEGIN { printf "%.3e", x }'; }
milli() { awk -v s="${1:-0}" 'BEGIN { printf "%.2f", 1e3 * s }'; }

# row EXTENT LABEL OPTIONS: a run beside its plan. Images have the levels that volumes of this extent use.
row() {
    local n=$1 label=$2 start took image=64.npy
    shift 2
    [ "$n" -lt 256 ] || image=256.npy
    time_for 3 "$n^3, $label" || return 0
    start=$(date +%s.%N)
    if ! match "$image" --size "$n" "$n" "$n" "$@" >out.json || ! match "$image" --size "$n" "$n" "$n" "$@" --dry-run >dry.json; then
        [ "$(left)" -gt 0 ] || { left_out+=("$n^3, $label (began)") && return 0; }
        tail -n 5 step.log >&2
        say "| $n^3 | $label | FAILED | | | | | | | | | |"
        return 0
    fi
    took=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    say "| $n^3 | $label | $(number evaluations out.json) | $(milli "$(number seconds_per_evaluation out.json)") | $took | $(short "$(number loss_final out.json)") | $(mega "$(number device dry.json)") | $(mega "$(grep -o '"device":\[.*' out.json | number device /dev/stdin)") | $(mega "$(number device_used out.json)") | $(mega "$(number arena dry.json)") | $(mega "$(number arena out.json)") | $(mega "$(number rss out.json)") |"
}

# experts NUMBER TYPE: a step of the layer of so many experts, forward and backward; 0: dense layers of the same operations.
experts() {
    local took rate
    time_for 5 "a layer of $1 experts, $2" || return 0
    if ! printf '5\n20\n' | time_layer "$@" >ms.txt 2>step.log; then
        tail -n 5 step.log >&2
        say "| $1 | $2 | FAILED | |"
        return 0
    fi
    took=$(tail -n 1 ms.txt)
    rate=$(awk -v ms="$took" -v rows="${layer[0]}" -v widths="${layer[1]}" 'BEGIN { for (n = split(widths, w, "-"); n > 1; --n) sum += w[n] * w[n - 1]; printf "%.1f", 12e-9 * rows * sum / ms }')
    say "| $1 | $2 | $(awk -v ms="$took" 'BEGIN { printf "%.3f", ms }') | $rate |"
}
time_layer() { within "$(left)" "$build/benchmarks/bench_moe" 2 "$1" "${layer[@]}" "$2" - cuda; }

for n in 64 256; do "$build/mesoforge" synth --size $n $n --correlation-length 3 --output $n.npy >/dev/null; done
status=0
match 64.npy --device cuda --max_iter 1 --no_polish >try.json || status=$?
[ "$status" != 4 ] || { tail -n 1 step.log && exit 77; }
[ "$status" = 0 ] || { cat step.log && exit 1; }

: >"$results"
say "# On a GPU: ${gpu:-not named}, $(date -u +%F)" ""
say "- GPU: $(nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || echo 'not known') (name, compute capability, memory, driver)"
say "- CUDA: $(nvidia-smi 2>/dev/null | grep -oE 'CUDA Version: [0-9.]+' || echo 'version not known'); NCCL: $("$build/mesoforge" probe 2>/dev/null | sed -n 's/^ *NCCL: //p')"
say "- host: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
say "- program: $("$build/mesoforge" --version | sed -n '1p;2s/^ *build */ /p' | paste -sd,); commit: $commit"
say "- S2 and Variation, lag $lag, in at most $seconds s" ""

say "## Tests" "" "All run at once on one GPU, here and under the sanitizers, so their seconds are no measurements." "" "| test | result | s |" "|---|---|---|"
limit=$((seconds / 3))
export OMP_NUM_THREADS=1
for name in "${tests[@]}"; do begin "$name" env MF_TEST_DEVICE=cuda "$build/tests/$name"; done
for name in mpi_redistribute mpi_slab mpi_arrays; do begin "$name by NCCL" env MF_TEST_DEVICE=cuda MF_TEST_EXCHANGE=nccl "$build/tests/$name"; done
finish "${tests[@]}" "mpi_redistribute by NCCL" "mpi_slab by NCCL" "mpi_arrays by NCCL"
unset OMP_NUM_THREADS

say "" "## Times and memory" "" "Times include the optimiser's passes; s is the whole program and its dry run. Memory in MB: planned, then arrays, then what driver or system counted." ""
say "| volume | run | evaluations | ms each | s | loss | device: planned | arrays | driver | host: planned | arrays | resident |" "|---|---|---|---|---|---|---|---|---|---|---|---|"
few=(--max_iter "$evaluations" --no_polish)
for n in "${sizes[@]}"; do row "$n" "cuda, $evaluations evaluations" --device cuda "${few[@]}"; done
for n in "${sizes[@]}"; do [ "$n" -gt 256 ] || row "$n" "cuda, whole" --device cuda; done
row "${sizes[0]}" "cpu, $evaluations evaluations" --device cpu "${few[@]}"
row "${sizes[0]}" "cpu, whole" --device cpu
row "${sizes[0]}" "cuda, fields on the host" --device cuda --residency host "${few[@]}"

say "" "## Layers of experts" "" "${layer[0]} rows, widths ${layer[1]}, two experts a row; 0 experts: dense layers. Forward and backward, with gradients of all inputs; conversions of weights to 16 bits come with them." ""
say "| experts | type | ms a step | TF/s |" "|---|---|---|---|"
for n in 16 0 64; do experts "$n" bf16; done
experts 16 f32
if time_for 5 "nodes of a layer"; then
    say "" "Each node of 16 experts in bf16 by itself, with the wait for its end: node, operation, pass, ms, GF/s." "" '```'
    printf '5\nnodes 5\n' | time_layer 16 bf16 2>step.log | tail -n +2 | tee -a "$results" || tail -n 5 step.log >&2
    say '```'
fi

say "" "## Sanitizers" "" "| test | result | s |" "|---|---|---|"
export OMP_NUM_THREADS=1
read -ra closely <<<"$(printf '%s\n' "${tests[@]}" | grep -v ^net_ | xargs)" # operations of networks would take too long
command -v compute-sanitizer >/dev/null || say "| compute-sanitizer | not on the path | |"
for tool in $(command -v compute-sanitizer >/dev/null && echo memcheck racecheck); do
    time_for 5 "$tool" || continue
    for name in "${closely[@]}"; do begin "$tool of $name" env MF_TEST_DEVICE=cuda compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/tests/$name"; done
    finish "${closely[@]/#/$tool of }"
done
say "" "Left out for want of time: $(printf '%s; ' "${left_out[@]:-nothing}" | sed 's/; $//')." "It took $SECONDS s."
echo "gpu: $results" >&2
! grep -q FAILED "$results"
