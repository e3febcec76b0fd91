#!/usr/bin/python3
"""Correlations (three-point Gram, L = 16) and Variation, per evaluation with gradient: time, rate of the Gram beside the machine's SGEMM on the same
threads, and with --mcrpy real MCRpy on the same image and cores, all in turn in one run.

    gram.py MESOFORGE IMAGE.npy [--python PYTHON] [--mcrpy ITERATIONS] [--sizes N ...] [--threads T ...] [--pairs N] [--evaluations N]

operations  3 C^2 per pixel and level: the upper half of F^T F and one product for the gradient, 2 C^2 of them; C = 481. Making the channels, Variation
            and the optimiser are not counted, their time is.
sgemm       the best of several products [C][N] [N][C] in float32 by the NumPy of PYTHON (with a fast BLAS; its rate is what it is)
MCRpy       (seconds of 2 I iterations - seconds of I) / I, so that its start does not count
load        of the last minute, before the row: above the threads in use the row says little
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

CHANNELS = 16**2 + 15**2
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


def threads_only(threads):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    return {**os.environ, **{name: str(threads) for name in names}, "TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def sgemm(python, n, threads):
    done = subprocess.run([python, "-c", SGEMM, str(CHANNELS), str(n * n)], capture_output=True, text=True, check=True, env=threads_only(threads))
    return float(done.stdout)


def ours(o, n, threads, folder):
    words = [o.program, "match", o.image, "--descriptor_types", "Correlations", "Variation", "--limit_to", 16, "--size", n, n, "--no_multiphase", "--no_polish",
             "--tolerance", 0, "--max_iter", o.evaluations, "--threads", threads, "--output", f"{folder}/v.npy", "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"gram.py: mesoforge: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)["seconds_per_evaluation"]


def mcrpy(o, threads, folder):
    seconds = []
    for iterations in (o.mcrpy, 2 * o.mcrpy):
        words = [o.python, "-m", "mcrpy.match", "--microstructure_filenames", os.path.abspath(o.image), "--descriptor_types", "Correlations", "Variation",
                 "--descriptor_weights", "1", "100", "--limit_to", "16", "--max_iter", str(iterations), "--data_folder", folder]
        start = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=threads_only(threads))
        seconds.append(time.perf_counter() - start)
        if done.returncode:
            sys.exit(f"gram.py: MCRpy: {done.stderr.strip().splitlines()[-1]}")
    return (seconds[1] - seconds[0]) / o.mcrpy


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("image")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mcrpy", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=40)
    o = parser.parse_args()
    print("extent\tthreads\tload\tms_evaluation\tGFLOP/s\tsgemm_GFLOP/s\tof_sgemm\tmcrpy_ms\tratio")
    with tempfile.TemporaryDirectory() as folder:
        for threads in o.threads:
            for n in o.sizes:
                operations = 3 * CHANNELS**2 * n * n * 1.25  # two levels
                for _ in range(o.pairs):
                    load = os.getloadavg()[0]
                    peak, seconds = sgemm(o.python, n, threads), ours(o, n, threads, folder)
                    theirs = mcrpy(o, threads, folder) if o.mcrpy and n == 64 else None
                    print(f"{n}x{n}", threads, f"{load:.1f}", f"{1e3 * seconds:.2f}", f"{operations / seconds / 1e9:.1f}", f"{peak / 1e9:.1f}",
                          f"{operations / seconds / peak:.2f}", f"{1e3 * theirs:.1f}" if theirs else "-", f"{theirs / seconds:.1f}" if theirs else "-",
                          sep="\t", flush=True)


main()
