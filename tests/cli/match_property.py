"""match --property: the conductivity of the result is the one that was asked for, as properties says it. The file is the same on any number of
ranks and after a stop, and memory is as planned. What no structure has is refused.

    match_property.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import resource
import sys
import tempfile

import runs
from runs import check, finish
from samples import blobs, np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
COMMON = ("--isotropic", "--limit_to", 6, "--descriptor_types", "S2", "Variation", "--deterministic", "--conductivity", 0.01, 1)


def match(output, *words, ranks=1, status=0, **more):
    done = runs.run(PROGRAM, "match", "sample.npy", *COMMON, *words, "--output", output, "--json", ranks=ranks, mpiexec=MPIEXEC, **more)
    check(done.status == status, f"match {words}: {done}")
    return (json.loads(done.out) if done.out else {}), done.err


def conductivity(file, *words):
    return json.loads(runs.run(PROGRAM, "properties", file, "--conductivity", 0.01, 1, *words, "--json").out)["conductivity"]


def reached():
    """Two properties at once, and a period."""
    match("free.npy")
    free = conductivity("free.npy")
    for factor, boundary in ((1.1, "plates"), (0.9, "periodic")):
        want = {a: factor * free[a] for a in "zx"}
        got, _ = match("got.npy", "--property", *(f"conductivity_{a}={k:.6g}" for a, k in want.items()), "--property_boundary", boundary)
        now = conductivity("got.npy", "--boundary", boundary)
        for a in "zx":
            said = got["properties"][f"conductivity_{a}"]
            check(abs(now[a] / want[a] - 1) < 0.011, f"{boundary}, {a}: {now[a]}, not {want[a]}")
            check(abs(said["is"] / now[a] - 1) < 3e-4 and abs(said["target"] / want[a] - 1) < 1e-5, f"{boundary}, {a}: {said}, but {now[a]}")
        check(got["s2_rms_error"]["1"]["z"] < 6e-3, f"S2: {got['s2_rms_error']}")


def out_of_reach():
    """Within Wiener's bounds, and no such structure has this S2: the nearest value is said, and the exit status is 0."""
    got, said = match("got.npy", "--property", "conductivity_z=0.49", "--max_iter", 60)
    k = conductivity("got.npy")["z"]
    check(k < 0.45 and abs(got["properties"]["conductivity_z"]["is"] / k - 1) < 1e-3 and f"conductivity_z=0.49 is out of reach of this run, {k:.4g}"[:-1] in said, f"{k}: {said}")


def several():
    """Results of several seeds end with their mean and its interval, by Student's t of one degree of freedom."""
    all_of, said = match("got.npy", "--property", "conductivity_z=0.2", "--max_iter", 60, "--realisations", 2)
    k = [one["properties"]["conductivity_z"]["is"] for one in all_of]
    line = f"conductivity_z of 2 results: {np.mean(k):.6g} +- {12.706 * np.std(k, ddof=1) / 2 ** 0.5:.2g} (95 % interval of the mean)"
    check(line in said, f"{line}: {said}")


def same_anywhere():
    words = ("--property", "conductivity_y=0.2", "--max_iter", 70)
    one, _ = match("1.npy", *words)
    file = open("1.npy", "rb").read()
    for ranks in (2, 3):
        many, _ = match(f"{ranks}.npy", *words, ranks=ranks)
        check(open(f"{ranks}.npy", "rb").read() == file and many["properties"] == one["properties"], f"{ranks} ranks: another result")
        planned = json.loads(runs.run(PROGRAM, "plan", "match", "sample.npy", *COMMON, *words, "--ranks", ranks, "--json").out)
        free = json.loads(runs.run(PROGRAM, "plan", "match", "sample.npy", *COMMON, "--max_iter", 70, "--ranks", ranks, "--json").out)
        time = planned["seconds_per_evaluation"]
        check(time["conduction"] > 0 and "conduction" not in free["seconds_per_evaluation"] and np.isclose(2 * time["total"], sum(time.values()), rtol=1e-2), f"time of solves: {time}")
        check(planned["bytes"]["per_rank"] == many["peak_bytes"]["arena"], f"bytes: {planned['bytes']}, used {many['peak_bytes']}")
    runs.run(PROGRAM, "plan", "match", "sample.npy", *COMMON, *words, "--size", 256, 256, 256)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(most < 300000, f"a plan touches what it plans: {most} KiB")
    match("stopped.npy", *words, status=75, env={**os.environ, "MF_FAULT": "run.leave:visit=40"})
    match("stopped.npy", *words, "--restart", "auto", ranks=2)
    check(open("stopped.npy", "rb").read() == file, "a run that was stopped ends in another result")
    match("stopped.npy", *words, status=75, env={**os.environ, "MF_FAULT": "run.leave:visit=5"})
    _, said = match("stopped.npy", "--property", "conductivity_y=0.21", "--max_iter", 70, "--restart", "auto", status=3)
    check("conductivity_y=0.2" in said, f"another property: {said}")


def swapped():
    """Swaps after the cut meet what the field missed: of an image, of three phases, and beside an insulator. A stop among them changes nothing."""
    np.save("sample.npy", blobs((40, 40), (0.5, 0.5), 3, 3))
    image = ("--conductivity", 0.1, 1, "--property", "conductivity_x=0.28", "--max_iter", 60)
    common = ("--limit_to", 6, "--descriptor_types", "S2", "Variation", "--deterministic", "--json")
    files = []
    for ranks, env in ((1, {}), (3, {}), (1, {"MF_FAULT": "run.leave:visit=50"})):
        done = runs.run(PROGRAM, "match", "sample.npy", *common, *image, "--output", "like.npy", ranks=ranks, mpiexec=MPIEXEC, env={**os.environ, **env})
        if env:
            check(done.status == 75, f"a stop among swaps: {done}")
            done = runs.run(PROGRAM, "match", "sample.npy", *common, *image, "--output", "like.npy", "--restart", "auto")
            check("continuing from a checkpoint: polish" in done.err, f"not among swaps: {done.err}")
        got = json.loads(done.out)
        check(abs(got["properties"]["conductivity_x"]["relative_error"]) < 0.01 and got["swaps"] > 0, f"an image: {got}")
        files.append(open("like.npy", "rb").read())
        os.remove("like.npy")
    several = json.loads(runs.run(PROGRAM, "match", "sample.npy", *common, *image, "--property-tolerance", 0.001, "--candidates", 3, "--output", "like.npy").out)
    bad = [(one["missed"], one["score"]) for one in several["candidates"]]
    off = abs(several["properties"]["conductivity_x"]["relative_error"])
    check(several["kept"] == bad.index(min(bad)) and np.isclose(several["candidates"][several["kept"]]["missed"], max(0, off - 0.001)), f"candidates: {several}")
    check(files[0] == files[1] == files[2], "swaps differ on three ranks, or after a stop")
    np.save("sample.npy", blobs((16, 16, 16), (0.4, 0.3, 0.3), 5, 2))
    for words in (("--conductivity", 0, 0.2, 1, "--property", "conductivity_z=0.17"), ("--conductivity", 0, 1, 0.3, "--property", "conductivity_z=0.2", "--non_periodic")):
        done = runs.run(PROGRAM, "match", "sample.npy", "--isotropic", *common, *words, "--max_iter", 80, "--output", "like.npy")
        check(done.status == 0 and abs(json.loads(done.out)["properties"]["conductivity_z"]["relative_error"]) < 0.01, f"three phases: {done}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("sample.npy", blobs((20, 20, 20), (0.5, 0.5), 5, 2))
    reached()
    out_of_reach()
    several()
    same_anywhere()
    swapped()
    os.chdir("/")
finish("match --property")
