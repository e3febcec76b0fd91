#!/usr/bin/env python3
"""Trains the cnn (64 x 64, 64 samples a rank, one thread a rank) on one rank and on more, turn by turn.

train_ranks.py MESOFORGE MPIEXEC [ranks = 2] [rounds = 3]      prints TSV
Medians over the rounds. samples/s: of the steps, wall clock. cpu_ms: time of the processor for a sample, from the difference of 40 and 10 steps, so without
start and scores. Shares of the steps' time, of the slowest rank: samples (waits for them), gradients (starts and ends of their sums), reduction (of losses
and norms, where ranks wait for each other).
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

FEW, MANY, BATCH = 10, 40, 64
ROWS = {"samples": ("wait for samples",), "gradients": ("start of an exchange", "end of an exchange"), "reduction": ("reduction",)}


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def milliseconds(lines, name):
    """The slowest rank's, from the table of --log-view."""
    for line in lines:
        if line.startswith(f"  {name} ") and line[len(name) + 2 :].split()[0].isdigit():
            return float(line[len(name) + 2 :].split()[1])
    return 0.0


def train(words, folder, ranks, steps, view):
    words = [*words, "train", "classify", "--data", "x.h5", "--effective-batch", str(BATCH * ranks), "--batch-size", str(BATCH)]
    words += ["--max-steps", str(steps), "--threads", "1", "--no-plots", *view]
    words += ["--results-dir", tempfile.mkdtemp(dir=folder)]
    before = cpu()
    done = subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return cpu() - before, done.stdout.splitlines()


def turn(words, folder, ranks):
    few, many = (train(words, folder, ranks, steps, [])[0] for steps in (FEW, MANY))
    _, lines = train(words, folder, ranks, MANY, ["--log-view"])
    took = milliseconds(lines, "steps")
    shares = [100 * sum(milliseconds(lines, n) for n in names) / took for names in ROWS.values()]
    return [1e3 * MANY * BATCH * ranks / took, 1e3 * (many - few) / ((MANY - FEW) * BATCH * ranks), *shares]


def main():
    words = sys.argv[1:] + ["2", "3"][len(sys.argv) - 3 :]
    program, mpiexec, most, rounds = str(pathlib.Path(words[0]).resolve()), words[1], int(words[2]), int(words[3])
    os.environ["OMP_NUM_THREADS"] = "1"
    print(f"# {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("ranks\tsamples/s\tcpu_ms\t" + "\t".join(f"{k} %" for k in ROWS))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = str(MANY * BATCH * most * 5 // 4)  # 80 % of them are an epoch
        subprocess.run([program, "synth", "--num-samples", made, "--size", "64", "64", "--output", "x.h5"], cwd=folder, check=True, capture_output=True)
        turns = {n: [] for n in (1, most)}
        for _ in range(rounds):
            for n in turns:
                turns[n].append(turn([mpiexec, "-n", str(n), program], folder, n))
        for n, seen in turns.items():
            print(f"{n}\t" + "\t".join(f"{statistics.median(column):.2f}" for column in zip(*seen)))
    ratio = statistics.median(b[0] / a[0] for a, b in zip(*turns.values()))
    print(f"# samples/s of {most} ranks / of one: {ratio:.2f}; load {os.getloadavg()[0]:.1f}")


main()
