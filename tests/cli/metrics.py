"""metrics.jsonl after a kill: rows that the run will write again go, those of other seeds stay; each output of a folder
has a file of its own. And the initial field of reconstruct may be grey or labelled.

    metrics.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import fcntl
import json
import os
import sys
import tempfile

import runs
from runs import S2, check, finish
from samples import blobs, np

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*words, status=0, ranks=1, fault=None):
    done = runs.run(MESOFORGE, *words, "--threads", 1, ranks=ranks, mpiexec=MPIEXEC, timeout=240, fault=fault)
    check(done.status == status, f"{words}: {done.status} {done.err[-400:]}")
    return done


def rows():
    with open("metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def killed():
    match = ("match", "a.npy", *S2, "--limit-to", 6, "--max-iter", 40, "--convergence-data-steps", 3, "--deterministic",
             "--seed", 5, "--no-polish", "--output", "v.h5")
    run(*match)
    whole = [(row["step"], row["loss"], row["stage"]) for row in rows()]
    os.remove("v.h5")
    for ranks in (1, 2):
        run(*match, status=75, ranks=ranks, fault="run.leave:visit=20")
        saved = rows()
        check(0 < len(saved) < len(whole), "%d rows before the kill" % len(saved))
        with open("metrics.jsonl", "a") as file:  # what a run that goes on after its checkpoint writes until it is killed
            file.write(json.dumps({**saved[-1], "loss": 9}) + "\n")
            file.write(json.dumps({**saved[-1], "seed": 6}) + "\n")
            for step in (30, 33):
                file.write(json.dumps({**saved[-1], "step": step}) + "\n")
            file.write(json.dumps({**saved[-1], "seed": 7}) + "\n" + '{"seed": 5, "st')
        run(*match, "--restart", "auto", ranks=ranks)
        got = [(row["step"], row["loss"], row["stage"]) for row in rows() if row["seed"] == 5]
        check(got == whole, "rows on %d ranks: %s\nwant %s" % (ranks, got, whole))
        check([row["seed"] for row in rows() if row["seed"] != 5] == [6, 7], "rows of other seeds")
        os.remove("v.h5")


def several():
    """Two outputs of one folder: each has its metrics, also while another run writes."""
    words = ("match", "a.npy", "--limit-to", 6, "--max-iter", 4, "--no-polish", "--candidates", 1)
    os.mkdir("both")
    run(*words, "--output", "both/one.h5")
    first = open("both/metrics.jsonl").read()
    done = run(*words, "--realisations", 2, "--output", "both/two.h5", ranks=2)
    check(open("both/metrics.jsonl").read() == first, "metrics of another output are gone")
    theirs = [json.loads(line) for line in open("both/two.metrics.jsonl")]
    check({(row["output"], row["seed"]) for row in theirs} == {("two.h5", 0), ("two.h5", 1)}, f"rows: {theirs}")
    check("two.metrics.jsonl" in done.err, f"said: {done.err}")
    done = run(*words[:-1], 3, "--realisations", 2, "--output", "both/many.h5")
    check(done.err.count("has the metrics of another output; those of this run go to") == 1, f"said once for six runs: {done.err}")
    run(*words, "--output", "both/one.h5", "--seed", 3)
    own = [json.loads(line) for line in open("both/metrics.jsonl")]
    check({row["seed"] for row in own} == {3} and own[0]["output"] == "one.h5", f"the same output again: {own}")
    with open("both/metrics.jsonl") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = file.read()
        run(*words, "--output", "both/one.h5")
    for name, output in (("metrics", "one.h5"), ("two.metrics", "two.h5")):
        done = runs.run(MESOFORGE, "view", f"both/{name}.jsonl", "--output", "both/m.png")
        check(done.status == 0 and f"is of the run of '{output}'" in done.err, f"view says not whose {name} is: {done.err}")
    check(open("both/metrics.jsonl").read() == before and os.path.exists("both/one.metrics.jsonl"), "a run under way")


def initial():
    run("characterize", "a.npy", "--limit_to", 6, "--output", "d.h5")
    words = ("reconstruct", "--descriptor-filename", "d.h5", "--size", 24, 24, "--limit_to", 6, "--max-iter", 4,
             "--output", "r.npy")
    binary = np.load("a.npy")
    np.save("grey.npy", (40 + 100 * binary).astype(np.uint8))
    start = ("--initial-microstructure-file", "grey.npy")
    done = run(*words, *start, "--labels", 40, 140, "--json")
    same = run(*words, "--initial-microstructure-file", "a.npy", "--json")
    check(json.loads(done.out)["loss"] == json.loads(same.out)["loss"], "labels")
    done = run(*words, *start, "--threshold", 100, "--json")
    check(json.loads(done.out)["loss"] == json.loads(same.out)["loss"], "threshold")
    run(*words, *start, "--threshold", 100, "--labels", 40, 140, status=2)
    check("needs --initial_microstructure_file" in run(*words, "--threshold", 100, status=2).err, "threshold of nothing")
    check("needs --initial_microstructure_file" in run(*words, "--labels", 1, 2, status=2).err, "labels of nothing")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("a.npy", blobs((24, 24), [0.6, 0.4], 3))
    killed()
    several()
    initial()
finish("metrics")
