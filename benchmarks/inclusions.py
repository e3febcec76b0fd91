"""Is what `mesoforge match` chooses for sparse inclusions no worse than S2 and Variation? A row per case, see README.md.

    python3 benchmarks/inclusions.py [--before PROGRAM] [--kinds NAME ...] [--sizes N ...] [--fractions F ...] [--seeds N ...] [--out FILE.tsv]

A run is judged as match judges its candidates: by the score of `compare` and, with Patches, twice the square of what is copied beyond chance. Exit status 1: a case where S2 and Variation are better.
"""
import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

import measures

RADIUS = {64: 2, 128: 3, 168: 5, 256: 4}  # of discs [pixels]; other lengths follow it
KINDS = {
    "spheres": lambda r: ["--kind", "spheres", "--radius", r],
    "hard-spheres": lambda r: ["--kind", "hard-spheres", "--radius", r],
    "gaussian": lambda r: ["--kind", "gaussian", "--correlation-length", r, "--exact"],
    "voronoi": lambda r: ["--kind", "voronoi", "--grain-size", 2 * r],
    "needles": lambda r: ["--kind", "fibres", "--orientation", "random", "--radius", r / 2],
}
RUNS = {"before": [], "after": [], "s2v": ["--descriptor_types", "FFTCorrelations", "Variation"]}
COLUMNS = ["kind", "size", "fraction", "seed", *(f"{what}_{run}" for what in ("score", "copied", "cpu_s") for run in RUNS), "chosen"]


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(measures.HERE, "..", "build", "release", "mesoforge"), help="program")
    p.add_argument("--before", help="another program, whose choice is put beside it")
    p.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    p.add_argument("--sizes", nargs="+", type=int, choices=RADIUS, default=list(RADIUS))
    p.add_argument("--fractions", nargs="+", type=float, default=[0.005, 0.01, 0.02, 0.05])
    p.add_argument("--seeds", nargs="+", type=int, default=[0])
    p.add_argument("--out", help="table; standard output without it")
    return p.parse_args()


def call(*words):
    """Standard output and error of a program."""
    done = subprocess.run([*map(str, words), "--threads", "1"], text=True, capture_output=True, check=False, env={
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", **os.environ})
    if done.returncode:
        sys.exit(f"{words}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


def seconds():
    """CPU seconds of the programs that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def reconstruct(program, judge, image, seed, words, folder):
    """Score, copied, CPU seconds and what was chosen."""
    start, output = seconds(), os.path.join(folder, "result.npy")
    said = call(program, "match", image, "--seed", seed, "--output", output, *words)[1]
    spent = seconds() - start
    plain, periodic = (json.loads(call(judge, "compare", image, output, "--json", *more)[0])["results"][0]["directions"]["z"] for more in ([], ["--periodic"]))
    chance = periodic["copied_by_chance"]
    beyond = max(0, periodic["copied"] - chance) / (1 - chance) if chance < 1 else 0
    chosen = [line for line in said.splitlines() if line.startswith("auto: ")]
    return plain["score"], beyond, spent, chosen[0][6:].split(";")[0] if chosen else ""


def row(o, kind, size, fraction, seed, folder):
    """Numbers of a case: [score, copied, seconds] by run; what was chosen."""
    image = os.path.join(folder, "image.npy")
    call(o.mesoforge, "synth", *KINDS[kind](RADIUS[size]), "--size", size, size, "--volume-fraction", fraction, "--seed", seed, "--output", image)
    got = {run: reconstruct(o.before if run == "before" else o.mesoforge, o.mesoforge, image, seed, words, folder)
           for run, words in RUNS.items() if run != "before" or o.before}
    none = (np.nan, np.nan, np.nan, "")
    return np.array([got.get(run, none)[:3] for run in RUNS]).T, got["after"][3]


def main():
    o = options()
    out = open(o.out, "w", encoding="ascii") if o.out else sys.stdout
    measures.header(out, ["inclusions.py", *sys.argv[1:]])
    out.write("\t".join(COLUMNS) + "\n")
    all_rows, worse = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for case in itertools.product(o.kinds, o.sizes, o.fractions, o.seeds):
            numbers, chosen = row(o, *case, folder)
            score, copied, _ = numbers
            bad = score + [2 * copied[0]**2, 2 * copied[1]**2 * ("S2 and Variation" not in chosen), 0]
            worse += bad[1] > bad[2] + 1e-9
            all_rows.append(numbers)
            out.write("\t".join([*map(str, case), *(f"{v:.3f}" for v in numbers.ravel()), chosen]) + "\n")
            out.flush()
    out.write(f"# means of before, after, s2v: {'; '.join(' '.join(f'{v:.3f}' for v in line) for line in np.mean(all_rows, 0))}; "
              f"worse than S2 and Variation: {worse} of {len(all_rows)}\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
