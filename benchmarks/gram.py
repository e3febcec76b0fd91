#!/usr/bin/python3
"""Gram matrices and Variation, per evaluation with gradient: time, rate beside the machine's SGEMM on the same threads, and with --mcrpy real MCRpy on
the same image and cores, all in turn in one run. Correlations (three-point, L = 16), or with --weights GramMatrices (of VGG-19).

    gram.py MESOFORGE IMAGE.npy [--weights FILE] [--python PYTHON] [--mcrpy ITERATIONS] [--sizes N ...] [--threads T ...] [--pairs N] [--evaluations N]
            [--priority P]

operations  per pixel and level 3 C^2, C = 481: the upper half of F^T F and one product for the gradient, 2 C^2 of them. GramMatrices: what the convolutions
            are by definition, both ways, 36 c k per pixel from c channels to k, and of the five matrices 3 k^2; a way with fewer multiplications counts
            as many. Making the channels, Variation and the optimiser are not counted, their time is.
sgemm       the best of several products [C][N] [N][C] in float32 by the NumPy of PYTHON (with a fast BLAS; its rate is what it is)
MCRpy       its own lines tell the time of the evaluations (peers/mcrpy_run.py), of 20 or more; its start does not count
load        of the last minute, before the row: above the threads in use the row says little, unless with
priority    P of chrt -f, which needs its right: what is measured runs before other programs; MCRpy from its 10th iteration on
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
from mcrpy_run import mcrpy_match

CHANNELS = 16**2 + 15**2
LAYERS = [((3, 64), (64, 64)), ((64, 128), (128, 128)), ((128, 256), *((256, 256),) * 3), ((256, 512), *((512, 512),) * 3), ((512, 512),) * 4]
LEVELS = 1.25  # two: the second has a quarter of the pixels
SGEMM = """
import sys, time
import numpy as np
c, n = map(int, sys.argv[1:])
a, best = np.random.default_rng(0).random((c, n), np.float32), 0
b = a.T.copy()
for _ in range(8):
    start = time.perf_counter()
    a @ b
    best = max(best, 2 * c * c * n / (time.perf_counter() - start))
print(best)
"""


def operations(o, n):
    """Of an evaluation."""
    each = 3 * CHANNELS**2
    if o.weights:
        each = sum((sum(36 * i * k for i, k in block) + 3 * block[-1][1] ** 2) / 4**b for b, block in enumerate(LAYERS))
    return each * n * n * LEVELS


def descriptors(o):
    return ["--descriptor_types", "GramMatrices" if o.weights else "Correlations", "Variation", "--limit_to", "16"]


def threads_only(threads):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    return {**{name: str(threads) for name in names}, "TF_NUM_INTEROP_THREADS": "1"}


def first(o):
    return ["chrt", "-f", str(o.priority)] if o.priority else []


def sgemm(o, n, threads):
    command = [*first(o), o.python, "-c", SGEMM, str(CHANNELS), str(n * n)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **threads_only(threads)}).stdout)


def ours(o, n, threads, folder):
    words = [*first(o), o.program, "match", o.image, *descriptors(o), "--size", n, n, "--no_multiphase", "--no_polish", "--tolerance", 0, "--max_iter", o.evaluations,
             "--threads", threads, "--output", f"{folder}/v.npy", "--json", *(["--gram_weights_filename", o.weights] if o.weights else [])]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"gram.py: mesoforge: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)["seconds_per_evaluation"]


def mcrpy(o, threads, folder):
    weights = [] if o.weights else ["--descriptor_weights", "1", "100"]
    return mcrpy_match(o.python, os.path.abspath(o.image), [*descriptors(o), *weights], o.mcrpy, o.cores[:threads], folder, o.priority,
                       **threads_only(threads))["each"]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("image")
    parser.add_argument("--weights")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mcrpy", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--priority", type=int, default=0)
    o = parser.parse_args()
    o.cores = sorted(os.sched_getaffinity(0))
    print("extent\tthreads\tload\tms_evaluation\tGFLOP/s\tsgemm_GFLOP/s\tof_sgemm\tmcrpy_ms\tratio")
    with tempfile.TemporaryDirectory() as folder:
        for threads in o.threads:
            for n in o.sizes:
                for _ in range(o.pairs):
                    theirs = mcrpy(o, threads, folder) if o.mcrpy and n == 64 else None
                    load = os.getloadavg()[0]
                    peak, seconds = sgemm(o, n, threads), ours(o, n, threads, folder)
                    rate = operations(o, n) / seconds
                    print(f"{n}x{n}", threads, f"{load:.1f}", f"{1e3 * seconds:.2f}", f"{rate / 1e9:.1f}", f"{peak / 1e9:.1f}", f"{rate / peak:.2f}",
                          f"{1e3 * theirs:.1f}" if theirs else "-", f"{theirs / seconds:.1f}" if theirs else "-", sep="\t", flush=True)


main()
