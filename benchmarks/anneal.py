#!/usr/bin/python3
"""Steps of annealing per second: every mutation rule on an image, on a larger one, and on a volume with slices of it; what was reached; and how much
of the machine other work had (load: of the last minute, before the run). A step draws two voxels, computes the exact energy of their swap (S2 of
L = 16 and Variation), and makes it or not.

    anneal.py MESOFORGE IMAGE.npy [STEPS [MPIEXEC]]        prints a tab-separated row per case; with MPIEXEC on two threads and on two ranks too
"""
import json
import os
import subprocess
import sys
import tempfile

program, image = sys.argv[1:3]
steps = sys.argv[3] if len(sys.argv) > 3 else "1000000"
SLOW = ["--acceptance_distribution", "exponential", "--initial_temperature", "1e-7", "--final_temperature", "1e-10"]
workers = [(1, 1), (1, 2), (2, 1)] if len(sys.argv) > 4 else [(1, 1)]

print("rule\tacceptance\textent\tranks\tthreads\tload\tsteps\taccepted\tseconds\tsteps/s\tloss before\tloss after")
with tempfile.TemporaryDirectory() as folder:
    for rule in ("random", "relaxed_neighbor", "neighbor", "neighbor_in_phase"):
        for name, more in (("zero_tolerance", []), ("exponential", SLOW)):
            for extent in ([], ["--size", "256", "256"], ["--add_dimension", "64"]):
                for ranks, threads in workers:
                    words = [*([sys.argv[4], "-n", str(ranks)] if ranks > 1 else []), program, "match", image, "--optimizer_type", "SimulatedAnnealing",
                             "--max_iter", steps, "--mutation_rule", rule, "--threads", str(threads), "--tolerance", "0", *more, *extent,
                             "--output", f"{folder}/v.npy", "--json"]
                    load = os.getloadavg()[0]
                    done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
                    seconds = done["polish_seconds"]
                    print(rule, name, "x".join(map(str, done["shape"])), ranks, threads, f"{load:.1f}", done["swaps_tried"], done["swaps"], f"{seconds:.2f}",
                          f"{done['swaps_tried'] / seconds:.3g}", f"{done['loss_cut']:.3e}", f"{done['loss_final']:.3e}", sep="\t", flush=True)
