"""Do results of `mesoforge match --descriptor_types auto` look like their targets? Scores of measures.py, see README.md.

    python3 benchmarks/textures.py [--cases NAME ...] [--seeds N ...] [--out FILE.tsv] [--sheet FILE.png]
"""
import os
import resource
import sys
import tempfile
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
COLUMNS = ("case seed evaluations cpu_s score copied s2_rms chords lineal_path_5 lineal_path_10 lineal_path_15 euler "
           "components cluster_10 specks").split()


def used():
    """CPU seconds of the programs that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def judge(o, name, seed, target, folder):
    """One row of the table, and the field."""
    before = used()
    said, field, _ = quality.run(o, CASES[name], seed, folder)
    seconds = used() - before
    total, error = measures.score(field, target)
    found = measures.compare(field, measures.indicators(field, [target]), [target], o.lag)
    numbers = [total, measures.copied(field, target), found["s2"]["z"], *(error[k] for k in COLUMNS[7:])]
    return [name, seed, said["evaluations"], f"{seconds:.2f}", *(f"{v:.4g}" for v in numbers)], numbers, field


def main():
    o = quality.options(__doc__, CASES, "--descriptor_types auto")
    out = open(o.out, "w") if o.out else sys.stdout
    measures.check()
    measures.header(out, ["textures.py", *sys.argv[1:]])
    out.write(f"# threads {o.threads}, options {o.options}; times are of the CPU\n")
    out.write("\t".join(COLUMNS) + "\n")
    shown, kept = {}, True
    with tempfile.TemporaryDirectory() as folder:
        for name in o.cases:
            case, rows = CASES[name], []
            target = np.load(os.path.join(o.data, case.files[0] + ".npy"))
            shown[name] = ([target], [])
            for seed in o.seeds:
                row, numbers, field = judge(o, name, seed, target, folder)
                out.write("\t".join(map(str, row)) + "\n")
                out.flush()
                rows.append(numbers)
                shown[name][1].append((seed, field))
            score, copied = np.mean(rows, 0)[:2]
            passed = score <= case.score and copied <= case.copied
            kept = kept and passed
            out.write(f"# {name}: mean score {score:.3f} (at most {case.score}), copied {copied:.3f} (at most {case.copied}): "
                      f"{'pass' if passed else 'fail'}\n")
    if o.sheet:
        quality.draw(o.sheet, shown)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
