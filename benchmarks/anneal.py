#!/usr/bin/python3
"""Steps of annealing per second: every mutation rule on an image, on a larger one, and on a volume with slices of it; what was reached; and how much
of the machine other work had (load: of the last minute, before the run). A step draws two voxels, computes the exact energy of their swap (S2 of
L = 16 and Variation), and makes it or not.

    anneal.py MESOFORGE IMAGE.npy [--steps N] [--mpiexec MPIEXEC] [--mcrpy PYTHON] [--image-only]

--mpiexec: on two threads and on two ranks too. --mcrpy: on the image itself MCRpy in turn, one thread, 1050 steps; and how many times as many
steps we make.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
from mcrpy_run import mcrpy_match

SLOW = ["--acceptance_distribution", "exponential", "--initial_temperature", "1e-7", "--final_temperature", "1e-10"]
MCRPY = ["--descriptor_types", "FFTCorrelations", "Variation", "VolumeFractions", "--limit_to", "16", "--optimizer_type", "SimulatedAnnealing"]
COLUMNS = ("rule acceptance extent ranks threads load steps accepted seconds steps/s loss_before loss_after mcrpy_steps/s ratio").split()


def options():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("program")
    p.add_argument("image")
    p.add_argument("--steps", default="1000000")
    p.add_argument("--mpiexec")
    p.add_argument("--mcrpy")
    p.add_argument("--image-only", action="store_true")
    return p.parse_args()


def theirs(o, rule, more, folder):
    """Steps a second of MCRpy, by its own lines."""
    words = [*MCRPY, "--mutation_rule", rule, *more]
    one = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    return 1 / mcrpy_match(o.mcrpy, os.path.abspath(o.image), words, 1050, os.sched_getaffinity(0), folder, **one)["each"]


def ours(o, rule, more, extent, ranks, threads, folder):
    words = [*([o.mpiexec, "-n", str(ranks)] if ranks > 1 else []), o.program, "match", o.image, "--optimizer_type", "SimulatedAnnealing", "--max_iter", o.steps,
             "--mutation_rule", rule, "--threads", str(threads), "--tolerance", "0", *more, *extent, "--output", f"{folder}/v.npy", "--json"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main():
    o = options()
    workers = [(1, 1), (1, 2), (2, 1)] if o.mpiexec else [(1, 1)]
    print(*COLUMNS, sep="\t")
    with tempfile.TemporaryDirectory() as folder:
        for rule in ("random", "relaxed_neighbor", "neighbor", "neighbor_in_phase"):
            for name, more in (("zero_tolerance", []), ("exponential", SLOW)):
                for extent in ([], ["--size", "256", "256"], ["--add_dimension", "64"])[:1 if o.image_only else 3]:
                    for ranks, threads in workers:
                        load = os.getloadavg()[0]
                        done = ours(o, rule, more, extent, ranks, threads, folder)
                        rate = done["swaps_tried"] / done["polish_seconds"]
                        beside = theirs(o, rule, more, folder) if o.mcrpy and not extent and ranks * threads == 1 else None
                        print(rule, name, "x".join(map(str, done["shape"])), ranks, threads, f"{load:.1f}", done["swaps_tried"], done["swaps"],
                              f"{done['polish_seconds']:.2f}", f"{rate:.3g}", f"{done['loss_cut']:.3e}", f"{done['loss_final']:.3e}",
                              f"{beside:.3g}" if beside else "-", f"{rate / beside:.0f}" if beside else "-", sep="\t", flush=True)


main()
