"""Quality of what `mesoforge match` makes of S2 and Variation, judged by measures.py. See README.md.

    python3 benchmarks/quality.py [--cases NAME ...] [--seeds N ...] [--out FILE.tsv] [--sheet FILE.png]
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

import numpy as np

import measures

ROOT = os.path.dirname(measures.HERE)
# files: the target, or those normal to z, y, x; n: extent of the new axis, 0 for an image; the limits of a pass
Case = namedtuple("Case", "files n s2 interface", defaults=(None,))
PYMKS = "pymks_ms_64x64_%d"
CASES = {
    "pymks_1": Case([PYMKS % 1], 0, 1e-3),
    "pymks_2": Case([PYMKS % 2], 0, 1e-3),
    "pymks_3": Case([PYMKS % 3], 0, 1e-3),
    "copolymer": Case(["copolymer_resized_s"], 0, 1e-3),
    "alloy": Case(["alloy_resized_s"], 0, 1e-3),
    "composite": Case(["composite_resized_s"], 0, 3e-3),
    "pymks_1_64": Case([PYMKS % 1], 64, 2e-3, 0.05),
    "pymks_221_64": Case([PYMKS % 2, PYMKS % 2, PYMKS % 1], 64, 2e-3, 0.05),
}
COLUMNS = ("case seed evaluations s polish_s s2_rms_z s2_rms_y s2_rms_x s2_limit s2_floor volume_fraction_voxels "
           "interface_error grey differs_from_json pass misses").split()


def options(text, cases, usual, standard=None, more=()):
    """The command line, of textures.py too. cases: {name: ..}, standard: of these; usual: the program's options unless others are given; more: {option: help}."""
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cases", nargs="+", choices=cases, default=standard or list(cases), metavar="NAME", help=" ".join(cases))
    p.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    p.add_argument("--limit-to", type=int, help="lag; the program's own where it is not given, and 16 for the measures")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--options", default=usual, help=f"more options of mesoforge; what counts is '{usual}'")
    p.add_argument("--mesoforge", default=os.path.join(ROOT, "build", "mesoforge"), help="program")
    p.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data", "mcrpy"), help="MCRpy's micrographs")
    p.add_argument("--out", help="table; standard output without it")
    p.add_argument("--sheet", help="picture: targets beside results (.png; needs matplotlib)")
    for name in more:
        p.add_argument(name, help=more[name])
    o = p.parse_args()
    o.lag = o.limit_to or 16
    if o.sheet and not importlib.util.find_spec("matplotlib"):
        sys.exit("--sheet needs matplotlib (python3-matplotlib), which this Python has not")
    return o


def run(o, case, seed, folder):
    """One field: the program's JSON, the field, the seconds from start to end."""
    output = os.path.join(folder, "field.npy")
    command = [o.mesoforge, "match", "--microstructure_filenames",
               *(os.path.join(o.data, name + ".npy") for name in case.files), "--seed", str(seed),
               "--threads", str(o.threads), "--json", "--output", output, *o.options.split()]
    command += ["--add_dimension", str(case.n)] if case.n else []
    command += ["--limit_to", str(o.lag)] if o.limit_to else []
    start = time.perf_counter()
    done = subprocess.run(command, text=True, capture_output=True, check=False, env={
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none", **os.environ})
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout), np.load(output), seconds


def disagreement(said, found, labels):
    """Largest difference between the errors the program printed and ours."""
    here = found["s2"]
    worst = {k: max(said["s2_rms_error"][str(label)][k] for label in labels) for k in here}
    return max(abs(worst[k] - here[k]) for k in here)


def misses(case, found, labelled):
    """Names of the limits that are not kept."""
    failed = [f"s2_{k}" for k, v in found["s2"].items() if v > case.s2]
    failed += ["volume_fraction"] if found["voxels"] >= 1 else []
    failed += ["interface"] if case.interface and found["interface"] > case.interface else []
    failed += ["grey"] if not labelled or found["grey"] else []
    return failed


def judge(o, name, seed, targets, folder):
    """One row of the table, the field, and whether it passed."""
    case = CASES[name]
    said, field, seconds = run(o, case, seed, folder)
    labels = np.unique(np.concatenate([t.ravel() for t in targets]))
    phases = measures.indicators(field, targets)
    found = measures.compare(field, phases, targets, o.lag)
    least = measures.floor(targets, o.lag) if case.n else {"z": 0.0}
    polish = said.get("polish_seconds", 0)
    failed = misses(case, found, np.isin(field, labels).all())
    numbers = [name, seed, said["evaluations"], f"{seconds:.3f}", f"{polish:.3f}",
               *(f"{found['s2'][k]:.3e}" if k in found["s2"] else "-" for k in "zyx"), f"{case.s2:.1e}",
               f"{max(least.values()):.2e}", f"{found['voxels']:.2f}", f"{found['signed']:+.4f}",
               f"{found['grey']:.4f}",
               f"{disagreement(said, found, phases):.1e}", "fail" if failed else "pass", " ".join(failed) or "-"]
    return numbers, field, not failed


def panels(field):
    """Slices of a field to look at, with their titles."""
    if field.ndim == 2:
        return [("", field)]
    return [(f", normal {k}", measures.slices(field, n)[field.shape[n] // 2]) for n, k in enumerate(measures.NORMALS)]


def draw(path, shown):
    """shown: {case: (targets, [(seed, field), ..])}. A row per case: its targets, then its results."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = {}
    for name, (targets, fields) in shown.items():
        one = len(targets) == 1
        rows[name] = [("target" + ("" if one else f" {measures.NORMALS[k]}"), t) for k, t in enumerate(targets)]
        rows[name] += [(f"seed {seed}{side}", cut) for seed, field in fields for side, cut in panels(field)]
        rows[name] = rows[name][:7]
    width = max(map(len, rows.values()))
    figure, axes = pyplot.subplots(len(rows), width, figsize=(2.2 * width, 2.4 * len(rows)), squeeze=False)
    for line, (name, cells) in zip(axes, rows.items()):
        for axis in line:
            axis.axis("off")
        for axis, (title, cut) in zip(line, cells):
            axis.imshow(cut, cmap="gray", interpolation="nearest")
            axis.set_title(f"{name}: {title}" if title.startswith("target") else title, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    o = options(__doc__, CASES, "--descriptor_types FFTCorrelations Variation")
    out = open(o.out, "w") if o.out else sys.stdout
    measures.check()
    measures.header(out, ["quality.py", *sys.argv[1:]])
    out.write(f"# threads {o.threads}, lag {o.lag}, options {o.options or 'all default'}\n")
    out.write("\t".join(COLUMNS) + "\n")
    shown, kept, rows = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in o.cases:
            targets = [np.load(os.path.join(o.data, f + ".npy")) for f in CASES[name].files]
            shown[name] = (targets, [])
            for seed in o.seeds:
                numbers, field, passed = judge(o, name, seed, targets, folder)
                out.write("\t".join(map(str, numbers)) + "\n")
                out.flush()
                shown[name][1].append((seed, field))
                kept, rows = kept + passed, rows + 1
    out.write(f"# {kept} of {rows} rows pass\n")
    if o.sheet:
        draw(o.sheet, shown)
    return 0 if kept == rows else 1


if __name__ == "__main__":
    sys.exit(main())
