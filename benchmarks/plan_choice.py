#!/usr/bin/python3
"""Is what the planner chooses the fastest there is on this machine? Every setting of a sweep (ranks x threads x slices in
flight) and the one that `mesoforge plan` chooses run by turns, in an order that is drawn anew in every turn. One row per
setting and problem: milliseconds of an evaluation, with everything in the loop (median), and the paired ratio chosen / setting.
Exit status 1 where the chosen setting has less than 97 % of the throughput of the fastest (median of the paired ratios)."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import numpy as np

FIGURE = 0.97
PROBLEMS = {"image 64": ((64, 64), 800), "image 512": ((512, 512), 60), "volume 32": ((32, 32, 32), 200),
            "volume 64": ((64, 64, 64), 60), "volume 128": ((128, 128, 128), 16)}
QUICK = {"image 64": ((64, 64), 60), "volume 32": ((32, 32, 32), 20)}


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(here, "../build/release/mesoforge"))
    p.add_argument("--mpiexec", default="mpirun")
    p.add_argument("--turns", type=int, default=9)
    p.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="most ranks times threads")
    p.add_argument("-q", "--quick", action="store_true", help="two small problems, two turns: does it still work?")
    return p.parse_args()


def powers(most):
    return sorted({2**k for k in range(most.bit_length()) if 2**k <= most} | {most})


def run(a, line, ranks):
    start = [a.mpiexec, "-q", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    env = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(start + [a.mesoforge, *map(str, line)], capture_output=True, text=True, timeout=900, env=env)
    if done.returncode:
        sys.exit(f"status {done.returncode}: {' '.join(map(str, line))} on {ranks}: {done.stderr[-400:]}")
    return json.loads(done.stdout)


def common(image, size):
    return [image, "--descriptor_types", "FFTCorrelations", "Variation", "--limit_to", 16, "--size", *size, "--device", "cpu", "--logging_level", 40, "--json"]


def chosen(a, words):
    plan = run(a, ["plan", "reconstruct", *words], 1)
    return plan["ranks"], plan["threads"], plan["settings"]["batch"]


def settings(a, size, first):
    """(ranks, threads, batch); one rank looks at slices where they lie, and an image is one slice."""
    found = [first]
    for ranks in powers(a.cores):
        for threads in powers(a.cores // ranks):
            batches = [0] if ranks == 1 or len(size) == 2 else [0, 8, 4]
            found += [(ranks, threads, b) for b in batches if (ranks, threads, b) not in found and (len(size) == 3 or ranks == 1)]
    return found


def seconds(a, words, evaluations, setting, folder):
    ranks, threads, batch = setting
    more = ["--threads", threads, "--max_iter", evaluations, "--tolerance", 0, "--no_polish", "--output", f"{folder}/out.npy"]
    more += ["--plan", "off", *(["--batch_size", batch] if batch else [])]
    return run(a, ["match", *words, *more], ranks)["seconds_per_evaluation"]


def problem(a, name, size, evaluations, turns, folder):
    image = os.path.join(folder, "two.npy")
    words = common(image, size)
    first = chosen(a, words)
    all_ = settings(a, size, first)
    took = {s: [] for s in all_}
    draw = random.Random(name)
    for _ in range(turns):
        for s in draw.sample(all_, len(all_)):
            took[s].append(seconds(a, words, evaluations, s, folder))
    ratio = {s: statistics.median(mine / other for mine, other in zip(took[first], took[s])) for s in all_}
    fastest = min(all_, key=lambda s: statistics.median(took[s]))
    throughput = 1 / ratio[fastest]
    for s in all_:
        mark = "chosen" if s == first else "fastest" if s == fastest else ""
        print(f"{name}\t{s[0]}\t{s[1]}\t{s[2]}\t{1e3 * statistics.median(took[s]):.4g}\t{ratio[s]:.4f}\t{mark}", flush=True)
    print(f"# {name}: {100 * throughput:.1f} % of the fastest's throughput ({100 * FIGURE:.0f} % wanted)", flush=True)
    return throughput >= FIGURE


def main():
    a = arguments()
    print("problem\tranks\tthreads\tbatch\tms_per_evaluation\tchosen/setting\tmark", flush=True)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        noise = np.random.default_rng(1).standard_normal((64, 64))
        for axis in (0, 1):
            for _ in range(3):
                noise = noise + np.roll(noise, 1, axis)
        np.save(os.path.join(folder, "two.npy"), (noise > np.quantile(noise, 0.6)).astype(np.uint8))
        for name, (size, evaluations) in (QUICK if a.quick else PROBLEMS).items():
            good &= problem(a, name, size, evaluations, 2 if a.quick else a.turns, folder)
    sys.exit(0 if good or a.quick else 1)


main()
