"""Volumes from volumes: S2 in space and what spans, of results of `mesoforge match` aimed at Gaussian fields. See README.md.

    python3 benchmarks/tomogram.py [--sizes N ...] [--fractions F ...] [--seeds N ...] [--without] [--out FILE.tsv] [--picture FILE.png]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import measures

ROOT = os.path.dirname(measures.HERE)
RECIPE = "--descriptor_types S2_3D Variation FFTCorrelations --descriptor_weights 2 5 1 --use_multigrid_reconstruction --limit_to 16"
RMS, OFF = 1e-3, 0.05  # what a row must keep
COLUMNS = ("size fraction seed connected s polish_s s2_3d_rms voxels_off spans_z spans_y spans_x target_z target_y target_x off pass").split()


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--sizes", type=int, nargs="+", default=[64, 128])
    p.add_argument("--fractions", type=float, nargs="+", default=[0.2, 0.3])
    p.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    p.add_argument("--without", action="store_true", help="the same with --no_connect beside it")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--mesoforge", default=os.path.join(ROOT, "build", "release", "mesoforge"), help="program")
    p.add_argument("--out", help="table; standard output without it")
    p.add_argument("--picture", help="target beside result, of the first row (.png)")
    return p.parse_args()


def call(*words):
    done = subprocess.run([*map(str, words)], text=True, capture_output=True, check=False, env={
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", **os.environ})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def row(o, target, result, key, without):
    """What one run came to, in the order of COLUMNS."""
    size, fraction, seed = key
    start = time.perf_counter()
    said = json.loads(call(o.mesoforge, "match", target, *RECIPE.split(), "--seed", seed, "--threads", o.threads, "--json", "--output", result,
                           *(["--no_connect"] if without else [])))
    seconds = time.perf_counter() - start
    spans, rms = said["spanning_fraction"]["1"], said["s2_3d_rms_error"]["1"]
    off = max(abs(a - b) for a, b in zip(spans["is"], spans["target"]))
    voxels = int((np.load(result) == 1).sum()) - int((np.load(target) == 1).sum())
    kept = rms <= RMS and off <= OFF and voxels == 0
    return [size, fraction, seed, "no" if without else "yes", f"{seconds:.1f}", f"{said['polish_seconds']:.1f}", f"{rms:.2e}", voxels,
            *(f"{v:.4f}" for v in spans["is"] + spans["target"]), f"{off:.4f}", "pass" if kept else "fail"]


def main():
    o = options()
    out, drawn = open(o.out, "w") if o.out else sys.stdout, False
    measures.header(out, ["tomogram.py", *sys.argv[1:]])
    out.write(f"# load {os.getloadavg()[0]:.1f}, threads {o.threads}, targets: synth --kind gaussian --correlation-length 4; match {RECIPE}\n")
    out.write("\t".join(COLUMNS) + "\n")
    with tempfile.TemporaryDirectory() as folder:
        target, result = f"{folder}/target.npy", f"{folder}/result.npy"
        for key in ((n, f, s) for n in o.sizes for f in o.fractions for s in o.seeds):
            size, fraction, seed = key
            call(o.mesoforge, "synth", "--kind", "gaussian", "--correlation-length", 4, "--size", size, size, size, "--volume-fraction",
                 1 - fraction, fraction, "--seed", seed, "--output", target)
            for without in ([True] if o.without else []) + [False]:
                out.write("\t".join(map(str, row(o, target, result, key, without))) + "\n")
                out.flush()
            if o.picture and not drawn:
                call(o.mesoforge, "compare", target, result, "--periodic", "--output", o.picture)
                drawn = True


main()
