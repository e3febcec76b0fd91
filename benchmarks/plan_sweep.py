#!/usr/bin/python3
"""Are planned bytes the bytes that are taken? Random problems are run for a few evaluations; rows of a table.

    plan_sweep.py [--mesoforge PROGRAM] [--mpiexec PROGRAM] [--cases 100] [--large 6] [--seed 1] [--devices cpu shadow]

Small cases: every rank's high-water mark of its arena(s) against the plan's, which must be equal. Large ones (from 256 MiB on a
rank): also the growth of the process, its resident peak since the session was opened, within 3 %. Exit status 1 when
one is not."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(here, "../build/release/mesoforge"))
    p.add_argument("--mpiexec", default="mpirun")
    p.add_argument("--cases", type=int, default=100)
    p.add_argument("--large", type=int, default=6)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--devices", nargs="+", default=["cpu"])
    return p.parse_args()


def target(folder, phases):
    """A micrograph with so many phases, large enough for every lag below."""
    noise = np.random.default_rng(phases).standard_normal((96, 96))
    for axis in (0, 1):
        for _ in range(3):
            noise = noise + np.roll(noise, 1, axis)
    labels = np.searchsorted(np.quantile(noise, np.linspace(0, 1, phases + 1)[1:-1]), noise).astype(np.uint8)
    name = os.path.join(folder, f"{phases}.npy")
    np.save(name, labels)
    return name


def draw(rng, folder, devices):
    lag = rng.choice([2, 5, 8, 11])
    least = 2 * lag
    size = [rng.randint(least, 72) for _ in range(rng.choice([2, 3, 3, 3]))]
    words = [target(folder, rng.choice([2, 2, 3, 4])), "--limit_to", lag, "--size", *size]
    words += ["--descriptor_types", "S2", *rng.sample(["Variation", "VolumeFractions"], rng.randint(0, 2))]
    words += ["--threads", rng.choice([1, 1, 2, 3]), "--loss_type", rng.choice(["MSE", "RMS", "L1", "L2"])]
    words += ["--device", rng.choice(devices), "--history", rng.randint(1, 6)]
    for option in ("--non_periodic", "--deterministic", "--use_multigrid_reconstruction", "--no_polish", "--no_multiphase",
                   "--no_multigrid_descriptor"):
        if rng.random() < 0.25:
            words.append(option)
    if rng.random() < 0.25:
        words += ["--optimizer_type", "Adam"]
    if rng.random() < 0.4:
        words += ["--batch_size", rng.randint(1, 20)]
    return words, rng.choice([1, 1, 2, 3, 4]), []


def draw_large(rng, folder, devices):
    """More than 256 MiB on every rank."""
    ranks = rng.choice([1, 1, 2])
    n = [round(ranks ** (1 / 3) * rng.randint(205, 235)) for _ in range(3)]
    words = [target(folder, 2), "--limit_to", 16, "--size", *n, "--descriptor_types", "S2", "Variation", "--threads", 1, "--no_polish", "--device", devices[0]]
    return words, ranks, ["--max_iter", 20]


def run(a, words, ranks, more, folder):
    line = [a.mpiexec, "-q", "-n", str(ranks)] if ranks > 1 else []
    line += [a.mesoforge, "match", *map(str, words), "--max_iter", "3", "--polish_rounds", "1"]
    if more:
        line = line[:-4] + list(map(str, more))
    line += ["--json", "--logging_level", "40", "--output", os.path.join(folder, "out.h5")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"status {done.returncode}: {' '.join(line)}\n{done.stderr[-500:]}")
    return json.loads(done.stdout)["peak_bytes"]


def main():
    a = arguments()
    rng = random.Random(a.seed)
    bad = 0
    print("case\tranks\tplanned_bytes\ttaken_bytes\tequal\tgrowth_bytes\tgrowth/planned\toptions", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(a.cases + a.large):
            large = i >= a.cases
            words, ranks, more = (draw_large if large else draw)(rng, folder, a.devices)
            peak = run(a, words, ranks, more, folder)
            is_same = peak["predicted"] == peak["arena"] and peak.get("predicted_device") == peak.get("device")
            planned, taken = max(peak["predicted"]), max(peak["arena"])
            growth, ratio = "-", "-"
            if large:
                growth = max(peak["rss"])
                ratio = growth / planned
                is_same &= planned < 2**28 or abs(ratio - 1) <= 0.03
                growth, ratio = f"{growth:.0f}", f"{ratio:.4f}"
            bad += not is_same
            shown = " ".join(map(str, words[1:]))
            print(f"{i}\t{ranks}\t{planned:.0f}\t{taken:.0f}\t{'yes' if is_same else 'NO'}\t{growth}\t{ratio}\t{shown}", flush=True)
    print(f"# {a.cases + a.large} cases, {bad} not as planned", flush=True)
    sys.exit(1 if bad else 0)


main()
