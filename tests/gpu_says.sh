#!/usr/bin/env bash
# tests/gpu.sh on the emulator: its results file, what it leaves out, its refusals. usage: gpu_says.sh BUILD (MF_CUDA_LIBRARY, MF_NCCL_LIBRARY)
set -uo pipefail
script=$(cd "$(dirname "$0")" && pwd)/gpu.sh build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0
wants() { grep -qE "$1" "$2" || { echo "gpu_says: '$1' is not in $2:" && cat "$2" && failed=1; }; }
small=(--seconds 900 --sizes 6 --lag 3 --evaluations 3 --tests "cuda_move cuda_field net_optim" --layer "12 16-8-8" --commit 0123abcd)

# A sanitizer that finds something where it looks for races.
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$2" = memcheck ] || exit 9\nshift 4\nexec "$@"\n' >compute-sanitizer && chmod +x compute-sanitizer
PATH=$folder:$PATH "$script" "$build" whole.md "${small[@]}" >out 2>err && echo "gpu_says: what failed is not in its status" && failed=1
for row in '^- program: mesoforge .*commit: 0123abcd$' '^\| cuda_move \| passed' '^\| net_optim \| passed' '^\| mpi_slab by NCCL \| passed' '^\| mpi_arrays by NCCL \| passed' \
    '^\| 6\^3 \| cuda, 3 evaluations \| 3 \| [0-9.]+ \| [0-9.]+ \| [0-9.e-]+ \| ([0-9.]+) \| \1 \| [0-9.]+ \| ([0-9.]+) \| \2 \| [0-9.]+ \|$' \
    '^\| 6\^3 \| cuda, whole \| 240 ' '^\| 6\^3 \| cpu, whole \| 240 .* - \| - \| - ' '^\| 6\^3 \| cuda, fields on the host \| 3 ' \
    '^\| 0 \| bf16 \| [0-9.]+ \| [0-9.]+ \|$' '^\| 16 \| f32 \| [0-9.]+ ' '^linear.grouped_linear.backward.[0-9.]+.[0-9.]+$' \
    '^\| memcheck of cuda_field \| passed' 'their seconds are no measurements' '^\| racecheck of cuda_move \| FAILED \(9\)' 'want of time: nothing'; do
    wants "$row" whole.md
done
! grep -q "$folder" whole.md || { echo "gpu_says: a path of this machine is in the results" && failed=1; }

! grep -q 'check of net_' whole.md || { echo "gpu_says: operations of networks under a sanitizer" && failed=1; }
read -ra usual <<<"$(sed -n 's/^read -ra tests <<<"\(.*\)"$/\1/p' "$script")"
[ "${#usual[@]}" -gt 9 ] || { echo "gpu_says: few usual tests: ${usual[*]}" && failed=1; }
for name in "${usual[@]}"; do [ -x "$build/tests/$name" ] || { echo "gpu_says: there is no test $name" && failed=1; }; done

"$script" "$build" short.md "${small[@]}" --tests cuda_move --seconds 3 >out 2>err
wants 'want of time: .*6\^3, cuda, whole; 6\^3, cpu' short.md
MF_EMU_DEVICES=0 "$script" "$build" none.md >out 2>err
[ "$?$(cat none.md 2>/dev/null)" = 77 ] || { echo "gpu_says: without a device: $(cat out err)" && failed=1; }
wants 'no CUDA device' out
MF_CUDA_LIBRARY='' "$script" "$folder" >out 2>err
[ $? = 77 ] || { echo "gpu_says: without a library: $(cat out err)" && failed=1; }
wants 'no .*libmesoforge_cuda.so; configure with -DMF_CUDA=ON' out
for wrong in nosuch --nosuch; do
    "$script" $wrong >out 2>err
    [ "$?$(wc -l <err)" = 21 ] || { echo "gpu_says: $wrong: $(cat out err)" && failed=1; }
done
exit "$failed"
