#!/bin/sh
# The cuda back end on a real GPU: the tests of its kernels against cpu, then one match on both. usage: gpu.sh BUILD
set -eu
build=$(cd "$1" && pwd)
library=$build/libmesoforge_cuda.so
[ -f "$library" ] || { echo "gpu: no $library; configure with -DMF_CUDA=ON"; exit 77; }
MF_CUDA_LIBRARY=$library
OMP_NUM_THREADS=1
export MF_CUDA_LIBRARY OMP_NUM_THREADS

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$build/mesoforge" synth --size 64 64 --correlation-length 3 --output image.npy >/dev/null
status=0
"$build/mesoforge" match image.npy --descriptor_types FFTCorrelations Variation --device cuda --max_iter 1 --no_polish --output try.h5 >try.log 2>&1 || status=$?
if [ "$status" = 4 ]; then
    tail -n 1 try.log
    exit 77
fi
[ "$status" = 0 ] || { cat try.log; exit 1; }

failed=0
for name in move field optim labels segment single corr lines packed vgg patch space; do
    if "$build/tests/cuda_$name"; then echo "cuda_$name passed"; else echo "cuda_$name FAILED"; failed=1; fi
    command -v compute-sanitizer >/dev/null || continue
    for tool in memcheck racecheck; do
        if compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/tests/cuda_$name" >"$tool.log" 2>&1; then
            echo "cuda_$name under $tool: clean"
        else
            tail -n 20 "$tool.log"
            failed=1
        fi
    done
done
# NCCL, on one GPU with itself.
for name in mpi_redistribute mpi_slab; do
    if MF_TEST_DEVICE=cuda MF_TEST_EXCHANGE=nccl "$build/tests/$name"; then echo "$name by NCCL passed"; else
        echo "$name by NCCL FAILED"
        failed=1
    fi
done
# On the cores, on the GPU, and from host memory through the GPU.
for words in "cpu" "cuda" "cuda --residency host"; do
    # shellcheck disable=SC2086
    "$build/mesoforge" match image.npy --descriptor_types FFTCorrelations Variation --device $words --add-dimension 64 --max_iter 50 --no_polish --json \
        --output out.h5 >out.json 2>out.log || { cat out.log; failed=1; }
    echo "$words: $(grep -o '"loss":[^,]*' out.json) $(grep -o '"seconds_per_evaluation":[^,]*' out.json)"
done
exit "$failed"
