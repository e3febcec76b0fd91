#!/usr/bin/env python3
"""Trains a mixture of experts over 784 numbers on one rank and on several that share the experts, of one thread each, turn by turn.

expert_ranks.py MESOFORGE MPIEXEC [ranks = 2] [rounds = 3] [experts = 64]      prints TSV
Medians over the rounds. ms: of a step of 8192 samples, wall clock, without start and scores. MiB: parameters, gradients, moments and activations of rank 0.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

STEPS, BATCH, WIDTH = 12, 8192, 256


def run(words, ranks, folder):
    words += ["train", "classify", "--data", "data.h5", "--arch", "moe", "--features", "none", "--width", str(WIDTH), "--parallel-strategy", "expert_parallel"]
    words += ["--experts", sys.argv[5] if len(sys.argv) > 5 else "64", "--effective-batch", str(BATCH), "--batch-size", str(BATCH // ranks), "--max-steps", str(STEPS), "--epochs", "100"]
    words += ["--threads", "1", "--no-plots", "--plan", "off", "--results-dir", "run", "--restart", "no", "--json"]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    return 1e3 * result["seconds_per_step"], result["peak_memory"] / 2**20


def main():
    program, mpi = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    ranks, rounds = (int((sys.argv[3:5] + ["2", "3"][len(sys.argv[3:5]) :])[k]) for k in range(2))
    os.environ.update(OMP_WAIT_POLICY="passive", OMPI_MCA_mpi_yield_when_idle="0")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "synth", "--num-samples", "10400", "--size", "28", "28", "--output", "data.h5"], cwd=folder, check=True, capture_output=True)
        turns = [[run([mpi, "-n", str(n), "--oversubscribe", program], n, folder) for n in (1, ranks)] for _ in range(rounds)]
    print(f"# load {os.getloadavg()[0]:.1f}")
    print("ranks\tms\tMiB\ttimes_as_fast\tleast\tmost")
    for k, n in enumerate((1, ranks)):
        times = [turn[0][0] / turn[k][0] for turn in turns]
        ms, memory = (statistics.median(turn[k][i] for turn in turns) for i in range(2))
        print(f"{n}\t{ms:.1f}\t{memory:.1f}\t{statistics.median(times):.2f}\t{min(times):.2f}\t{max(times):.2f}")


main()
