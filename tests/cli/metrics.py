"""metrics.jsonl after a kill: rows that the run will write again go, those of other seeds stay. And the initial field
of reconstruct may be grey or labelled.

    metrics.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

MESOFORGE, MPIEXEC = sys.argv[1:3]
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what, file=sys.stderr)


def run(*words, status=0, ranks=1, **more):
    start = [MPIEXEC, "-q", "-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run(start + [MESOFORGE, *map(str, words), "--threads", "1"], capture_output=True, text=True,
                          timeout=240, env={**os.environ, **more})
    check(done.returncode == status, "%s: %d %s" % (words, done.returncode, done.stderr[-400:]))
    return done


def rows():
    with open("metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def killed():
    match = ("match", "a.npy", "--limit-to", 6, "--max-iter", 40, "--convergence-data-steps", 3, "--deterministic",
             "--seed", 5, "--no-polish", "--output", "v.h5")
    run(*match)
    whole = [(row["step"], row["loss"], row["stage"]) for row in rows()]
    os.remove("v.h5")
    for ranks in (1, 2):
        run(*match, status=75, ranks=ranks, MF_FAULT="run.leave:visit=20")
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


def initial():
    run("characterize", "a.npy", "--limit_to", 6, "--output", "d.h5")
    words = ("reconstruct", "--descriptor-filename", "d.h5", "--size", 24, 24, "--limit_to", 6, "--max-iter", 4,
             "--output", "r.npy")
    binary = np.load("a.npy")
    np.save("grey.npy", (40 + 100 * binary).astype(np.uint8))
    start = ("--initial-microstructure-file", "grey.npy")
    done = run(*words, *start, "--labels", 40, 140, "--json")
    same = run(*words, "--initial-microstructure-file", "a.npy", "--json")
    check(json.loads(done.stdout)["loss"] == json.loads(same.stdout)["loss"], "labels")
    done = run(*words, *start, "--threshold", 100, "--json")
    check(json.loads(done.stdout)["loss"] == json.loads(same.stdout)["loss"], "threshold")
    run(*words, *start, "--threshold", 100, "--labels", 40, 140, status=2)
    check("there is none" in run(*words, "--threshold", 100, status=2).stderr, "threshold of nothing")
    check("there is none" in run(*words, "--labels", 1, 2, status=2).stderr, "labels of nothing")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    x = np.random.default_rng(3).normal(size=(24, 24))
    for axis in (0, 1):
        x = sum(np.roll(x, k, axis) for k in range(-2, 3))
    np.save("a.npy", (x > np.quantile(x, 0.6)).astype(np.uint8))
    killed()
    initial()
sys.exit(failures != 0)
