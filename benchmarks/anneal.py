#!/usr/bin/python3
"""Steps of annealing per second on one core: every mutation rule on an image, and on a volume with slices of it; and what was reached.
A step draws two voxels, computes the exact energy of their swap (S2 of L = 16 and Variation), and makes it or not.

    anneal.py MESOFORGE IMAGE.npy [STEPS]        prints a tab-separated row per case
"""
import json
import subprocess
import sys
import tempfile

program, image = sys.argv[1:3]
steps = sys.argv[3] if len(sys.argv) > 3 else "1000000"
SLOW = ["--acceptance_distribution", "exponential", "--initial_temperature", "1e-7", "--final_temperature", "1e-10"]

print("rule\tacceptance\textent\tsteps\taccepted\tseconds\tsteps/s\tloss before\tloss after")
with tempfile.TemporaryDirectory() as folder:
    for rule in ("random", "relaxed_neighbor", "neighbor", "neighbor_in_phase"):
        for name, more in (("zero_tolerance", []), ("exponential", SLOW)):
            for depth in ([], ["--add_dimension", "64"]):
                words = [program, "match", image, "--optimizer_type", "SimulatedAnnealing", "--max_iter", steps, "--mutation_rule", rule, "--threads", "1",
                         "--tolerance", "0", *more, *depth, "--output", f"{folder}/v.npy", "--json"]
                done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
                seconds = done["polish_seconds"]
                print(rule, name, "x".join(map(str, done["shape"])), done["swaps_tried"], done["swaps"], f"{seconds:.2f}", f"{done['swaps_tried'] / seconds:.3g}",
                      f"{done['loss_cut']:.3e}", f"{done['loss_final']:.3e}", sep="\t", flush=True)
