#!/usr/bin/python3
"""Does a run of `match` take as long as its plan says? Images of synth, one thread: seconds by the plan, and processor seconds
of the run (so other programs beside it matter little). Of evaluations also the part of patches. Its quotient says by how much
to multiply TREES and PULL of src/recon/search_cost.c; those of cut and polish are about ANEW, that of describe about COPIES
(src/recon/workload_run.c)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

WORK = ("S2", "Variation", "lineal paths", "field terms", "direction", "step", "pair")


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mesoforge", default=os.path.join(here, "../build/release/mesoforge"))
    p.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256])
    p.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="of match; they come last")
    a = p.parse_args()
    a.mesoforge = os.path.abspath(a.mesoforge)
    return a


def run(a, *words):
    done = subprocess.run([a.mesoforge, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"status {done.returncode}: {words}: {done.stderr[-400:]}")
    return done.stdout


def measured(run):
    rows = {row["name"]: row for row in run["log_view"]["rows"]}
    cores = {name: rows[name]["seconds_of_cores"] if name in rows else 0 for name in ("descent", "continuation", "cut", "polish", "describe")}
    stages = cores.pop("descent") + cores.pop("continuation")
    wall = sum(rows[name]["seconds"]["max"] for name in ("descent", "continuation") if name in rows)
    other = sum(rows[name]["seconds"]["max"] / rows[name]["count"] * run["evaluations"] for name in WORK if name in rows)
    return {"evaluations": stages, "patches": stages * (1 - other / wall), **cores}


def predicted(run):
    """Of one grid: of the evaluations that the run took."""
    plan, parts = run["plan"], {name: run["plan"]["seconds_of_run"][name] for name in ("evaluations", "cut", "polish", "describe")}
    step = plan["seconds_per_evaluation"]
    if "coarse to fine: no" in plan["problem"]:
        parts["evaluations"] = step["total"] * run["evaluations"]
    return {**parts, "patches": parts["evaluations"] * step.get("patches", 0) / step["total"]}


def main(a):
    print("| pixels | part | plan, s | run, s | run / plan |\n|---|---|---|---|---|")
    for size in a.sizes:
        run(a, "synth", "--kind", "gaussian", "--volume-fraction", 0.4, "--correlation-length", 3, "--exact", "--seed", 1, "--size", size, size,
            "--output", "image.npy")
        one = json.loads(run(a, "match", "image.npy", "--seed", 1, "--threads", 1, "--candidates", 1, "--log-view", "--json", "--output", "o.h5", *a.options))
        said, took = predicted(one), measured(one)
        for total in (said, took):
            total["all"] = sum(seconds for name, seconds in total.items() if name != "patches")
        for name, seconds in said.items():
            print(f"| {size} x {size} | {name} | {seconds:.3f} | {took[name]:.3f} | {took[name] / seconds if seconds else float('nan'):.2f} |", flush=True)


if __name__ == "__main__":
    asked, here = arguments(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main(asked)
        os.chdir(here)
