"""Do results of `mesoforge match` look like their targets? Scores of measures.py, see README.md.

    python3 benchmarks/textures.py [--cases NAME ...] [--seeds N ...] [--out FILE.tsv] [--sheet FILE.png] [--mcrpy PYTHON]
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

import numpy as np

import measures
import quality

# limits of the means over seeds
Case = namedtuple("Case", "files n score copied", defaults=(0, 0.16, 0.05))
CASES = {
    "copolymer": Case(["copolymer_resized_s"], score=0.18),
    "alloy": Case(["alloy_resized_s"], score=0.42, copied=0.4),
    "composite": Case(["composite_resized_s"], score=0.18, copied=0.4),
    **{f"pymks_{k}": Case([quality.PYMKS % k]) for k in (1, 2, 3)},
}
IMAGES = list(CASES)
# the originals of 256^2: minutes each
CASES |= {"alloy_256": Case(["alloy_resized"], score=0.42), "pymks_1_256": Case(["pymks_ms_256x256_1"])}
# volumes of 64^3 from one image; minutes each, so they are named (--cases)
CASES |= {"copolymer_64": Case(["copolymer_resized_s"], 64, 0.42), "composite_64": Case(["composite_resized_s"], 64, 0.25, 0.4),
          "pymks_1_64": Case([quality.PYMKS % 1], 64, 0.25)}
SLICES = 16  # of a volume, in each direction
COLUMNS = ("case seed normal evaluations cpu_s score copied window s2_rms chords lineal_path_5 lineal_path_10 lineal_path_15 euler "
           "components cluster_10 specks").split()


def used():
    """CPU seconds of the programs that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def theirs(o, name, folder):
    """Seconds that MCRpy takes for the 500 iterations of its default on the image of a case, of the processor and by the clock: from two short runs,
    its start left out."""
    image, spent = os.path.abspath(os.path.join(o.data, CASES[name].files[0] + ".npy")), []
    few, many, words = (5, 35, []) if np.load(image).max() < 2 else (3, 13, ["--use_multiphase"])
    for iterations in (few, many):
        before, start = used(), time.perf_counter()
        subprocess.run([o.mcrpy, "-m", "mcrpy.match", "--microstructure_filenames", image, "--max_iter", str(iterations), "--data_folder", folder, *words],
                       check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": str(o.threads)})
        spent.append((used() - before, time.perf_counter() - start))
    return [500 * (b - a) / (many - few) for a, b in zip(*spent)]


def beside(ours, times):
    return "; ".join(f"{b:.0f} s of MCRpy's against {a:.2f} {by}: {b / a:.0f} times" for a, b, by in zip(ours, times, ("of the processor", "by the clock")))


def cuts(field, normal):
    """Those that are judged: the middles of equal shares."""
    whole = measures.slices(field, normal)
    count = min(SLICES, len(whole))
    return whole[[(2 * k + 1) * len(whole) // (2 * count) for k in range(count)]]


def judge(o, name, seed, target, edge, folder):
    """A row of the table for every direction, its numbers; the field; seconds of the processor and by the clock."""
    before = used()
    said, field, clock = quality.run(o, CASES[name], seed, folder)
    seconds = used() - before
    found, rows = measures.compare(field, measures.indicators(field, [target]), [target], o.lag), []
    for normal in measures.directions(field):
        some, axis = cuts(field, normal), measures.NORMALS[normal]
        total, error = measures.score(some, target)
        middle = some[len(some) // 2]
        numbers = [total, measures.copied(middle, target, edge), edge, found["s2"][axis], *(error[k] for k in COLUMNS[9:])]
        rows.append(([name, seed, axis, said["evaluations"], f"{seconds:.2f}", *(f"{v:.4g}" for v in numbers)], numbers))
    return rows, field, (seconds, clock)


def halves(target, edge):
    """What halves of the target have of each other, by the smallest windows and those that counted."""
    shares = (f"{measures.halves_share(target, e):.3f} of {e} x {e}" for e in sorted({16, edge}))
    return f"halves of the target have {', '.join(shares)} of each other"


def verdict(case, scores):
    """Means over seeds, [seeds][normals][score, copied]: is every direction's score kept, and the mean of what is copied?"""
    score, copied = np.mean(scores, 0)[:, 0], np.mean(scores, (0, 1))[1]
    kept = bool((score <= case.score).all() and copied <= case.copied)
    return kept, (f"mean score {' '.join(f'{v:.3f}' for v in score)} (at most {case.score}), copied {copied:.3f} (at most {case.copied}): "
                  f"{'pass' if kept else 'fail'}")


def main():
    o = quality.options(__doc__, CASES, "", IMAGES, {"--mcrpy": "Python that has it: how long its default takes on the same image, in turn"})
    out = open(o.out, "w") if o.out else sys.stdout
    measures.check()
    measures.header(out, ["textures.py", *sys.argv[1:]])
    out.write(f"# threads {o.threads}, options {o.options}; times are of the CPU\n")
    out.write("\t".join(COLUMNS) + "\n")
    shown, kept = {}, True
    with tempfile.TemporaryDirectory() as folder:
        for name in o.cases:
            case, scores, spent = CASES[name], [], []
            target = np.load(os.path.join(o.data, case.files[0] + ".npy"))
            edge, shown[name] = measures.window(target, target), ([target], [])
            for seed in o.seeds:
                rows, field, seconds = judge(o, name, seed, target, edge, folder)
                spent.append(seconds)
                for row, _ in rows:
                    out.write("\t".join(map(str, row)) + "\n")
                out.flush()
                scores.append([numbers[:2] for _, numbers in rows])
                shown[name][1].append((seed, field))
            passed, said = verdict(case, scores)
            kept = kept and passed
            out.write(f"# {name}: {said}; {halves(target, edge)}\n")
            if o.mcrpy:
                out.write(f"# {name}: {beside(np.mean(spent, 0), theirs(o, name, folder))}\n")
    if o.sheet:
        quality.draw(o.sheet, shown)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
