"""bench: every exchange on several ranks gives what it should, in rows that add up; bad input.

    bench.py PROGRAM MPIEXEC
"""
import itertools
import json
import math
import os
import re
import shutil
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
# What a link carries per byte of the buffer, on n ranks.
SHARE = {"allreduce": lambda n: 2 * (n - 1) / n, "reduce-scatter": lambda n: (n - 1) / n, "all-gather": lambda n: (n - 1) / n,
         "alltoall": lambda n: (n - 1) / n, "evaluation": lambda n: 4 * (n - 1) / n, "halo": lambda n: 1, "p2p": lambda n: 1}
OWN = {"allreduce", "alltoall", "evaluation", "halo"}
QUICK = ["--seconds", 0.01, "--precision", 50]


def measured(*words, ranks):
    return runs.measure(program, "bench", *words, *QUICK, ranks=ranks, mpiexec=mpiexec)


def check_row(what, row, ranks):
    time = row["seconds"]
    check(0 < time["min"] <= time["median"] <= time["max"] and time["samples"] >= 7, f"{what}: {time}")
    check(row["bytes"] == 4 * row["count"] and row["wrong"] == 0, f"{what}: {row}")
    check(math.isclose(row["algorithm_bandwidth"], row["bytes"] / time["median"], rel_tol=1e-12), f"{what}: algbw")
    check(math.isclose(row["bus_bandwidth"], row["algorithm_bandwidth"] * SHARE[what](ranks), rel_tol=1e-12), f"{what}: busbw")
    check(("bare_seconds" in row) == (what in OWN), f"{what}: bare {row.keys()}")


def exchanges(ranks, *more, kinds=None):
    kinds = kinds or list(SHARE)
    said = measured(*kinds, "--min_bytes", 8, "--max_bytes", "128K", "--factor", 128, *more, ranks=ranks)
    if not said:
        return
    check(said["ranks"] == ranks == len(said["hosts"]), f"{ranks} ranks: {said['ranks']} {said['hosts']}")
    check([m["what"] for m in said["measured"]] == kinds, f"{[m['what'] for m in said['measured']]}")
    for one in said["measured"]:
        check(len(one["rows"]) == 3, f"{one['what']}: {len(one['rows'])} rows")
        check(one["rows"][-1]["bytes"] >= 100e3, f"{one['what']}: {one['rows'][-1]['bytes']} bytes")
        for row in one["rows"]:
            check_row(one["what"], row, ranks)


def files(ranks):
    said = measured("io", "--extent", 48, ranks=ranks)
    if not said:
        return
    one = said["measured"][0]
    check(one["what"] == "io" and one["bytes"] == 48**3 and one["wrong"] == 0, f"{ranks} ranks: {one}")
    for way in ("write", "read"):
        fourth = {"write": "hdf5_unflushed_seconds", "read": "sha256_seconds"}[way]
        check(all(one[way][k]["median"] > 0 for k in ("seconds", "hdf5_seconds", "raw_seconds", fourth)), f"{one[way]}")
    check(os.listdir(".") == [], f"files stay: {os.listdir('.')}")


def no_memory():
    """A rank that has none, at whichever reading, ends all of them."""
    for visit in runs.some(range(2, 16, 2), 4):
        done = runs.run(program, "bench", "io", "--extent", 64, *QUICK, "--timeout", 5, ranks=3, mpiexec=mpiexec, fault=f"memory:visit={visit}:rank=1")
        check(done.status == 5 and "no memory (injected) (rank 1; 1 of 3 ranks failed)" in done.err, f"visit {visit}: {done.status} {done.err}")
        check(os.listdir(".") == [], f"files stay: {os.listdir('.')}")


def scaling():
    """Speedups by hand, and what kernels say adds up."""
    verbs, weak = ["reconstruct", *["characterize", "generate"] * runs.LONG], ["--weak"] * runs.LONG
    said = measured(*verbs, "kernels", "--scaling", "1,2", *weak, "--extent", 32, "--turns", 1, "--threads", 1, "--memory-limit", 100,
                    "--launcher", " ".join([mpiexec] if isinstance(mpiexec, str) else mpiexec), ranks=1)
    if not said:
        return
    kinds = [(m["what"], m.get("scaling")) for m in said["measured"]]
    check(kinds == [*((verb, way) for verb in verbs for way in ("strong", *["weak"] * runs.LONG)), ("kernels", None)], f"{kinds}")
    for one in said["measured"][:-1]:
        first, last = one["rows"]
        gain = first["seconds"] / last["seconds"]
        weak = one["scaling"] == "weak"
        check(last["shape"] == [64 if weak else 32, 32, 32], f"{last['shape']}")
        check(math.isclose(last["speedup"], gain * (2 if weak else 1), rel_tol=1e-9), f"{one}")
        check(math.isclose(last["efficiency"], last["speedup"] / 2, rel_tol=1e-9), f"{one}")
        check(weak or math.isclose(last["serial_share"], (1 / gain - 0.5) / 0.5, rel_tol=1e-6, abs_tol=1e-9), f"{one}")
    kernels = {k["kernel"]: k for k in said["measured"][-1]["rows"]}
    check(kernels["S2"]["calls"] > 0 and kernels["S2"]["bandwidth"] > 0 and kernels["S2"]["rate"] > 0, f"{kernels}")
    check(os.listdir(".") == [], f"files stay: {os.listdir('.')}")


def step_cores(nodes):
    """Cores of a rank of four that bench asks srun for, in a job of as many nodes."""
    with open("srun", "w") as fake:
        fake.write('#!/bin/sh\necho "$@" >> words\nexit 1\n')
    os.chmod("srun", 0o755)
    job = {**os.environ, "PATH": f"{os.getcwd()}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": str(nodes)}
    job.pop("OMP_NUM_THREADS", None)
    done = runs.run(program, "bench", "reconstruct", "--scaling", 4, "--extent", 32, "--turns", 1, env=job)
    said = open("words").read() if os.path.exists("words") else ""
    os.remove("srun")
    if said:
        os.remove("words")
    found = re.search(r"--cpus-per-task=(\d+)", said)
    check(found and "--ntasks=4" in said and "--mpi=pmix" in said, f"srun {said}: {done.status} {done.err}")
    return int(found.group(1)) if found else 0


def job_cores():
    """Ranks of a job on several nodes are dealt to all of them, and fill their cores."""
    cores = runs.measure(program, "probe", ranks=1, mpiexec=mpiexec)["ranks"][0]["cores"]
    check(step_cores(4) == cores and step_cores(1) == max(cores // 4, 1), f"cores {cores}")


def in_a_step():
    """Below srun another srun would wait for the tasks of this one; other launchers go on. What started it is what the refusal names."""
    step = runs.around("SLURM_", "OMPI_COMM", SLURM_JOB_ID=7, SLURM_STEP_ID=0, SLURM_PROCID=0)
    short = ["--extent", 32, "--turns", 1, "--scaling", 1]
    for kind, more in runs.some(itertools.product(("reconstruct", "characterize", "kernels"), ([], ["--launcher", "srun"], ["--launcher", " /usr/bin/srun --mpi=pmix"])), 4):
        done = runs.run(program, "bench", kind, *short, *more, env=step)
        check(done.status == 2 and "start it without srun and give --scaling" in done.err, f"{kind} {more}: {done}")
    done = runs.run(program, "bench", "kernels", *short, "--launcher", "false srun", env=step)
    check(done.status == 4 and "ended with status 1" in done.err, f"another launcher in a step: {done}")


def language_model():
    """Rows add up; a folder without weights does, too."""
    os.mkdir("shape")
    shutil.copy(os.path.join(fixtures, "language", "gpt2", "config.json"), "shape")
    done = runs.run(program, "bench", "infer", "shape", "--requests", "3,1", "--prompt-tokens", 20, "--new-tokens", 9, "--threads", 1, "--json", "--output", "tokens.json")
    check(done.status == 0 and "random numbers" in done.err, f"{done}")
    with open("tokens.json") as file:
        said = json.load(file)
    one = said["measured"][0]
    check(said == json.loads(done.out) and one["what"] == "infer" and one["random_weights"] and one["prompt_tokens"] == 20 and one["new_tokens"] == 9, f"{one}")
    check([row["requests"] for row in one["rows"]] == [3, 1] and one["parameters"] == 38080, f"{one}")
    for row in one["rows"]:
        check(0 < row["step_seconds"] <= row["step_seconds_95"] and row["first_token_seconds"] > 0 and row["prompt_tokens_per_second"] > 0, f"{row}")
        check(math.isclose(row["tokens_per_second"], row["requests"] / row["step_seconds"], rel_tol=1e-9), f"{row}")
        step = row["bytes_per_token"] * row["requests"]
        check(math.isclose(row["share_of_read_rate"], step / row["step_seconds"] / row["read_rate"], rel_tol=1e-9), f"{row}")
        # all weights but the table of positions, and keys and values of two layers, heads of 32 numbers together, at 24.5 positions
        caches = row["requests"] * 2 * 2 * 24.5 * 32 * 4
        check(step - caches == 4 * (one["parameters"] - 64 * 32), f"{row}: {step - caches}")
    os.remove("tokens.json")
    for words in (("--tp", 2), ("--pp", 2)):  # two ranks: a stage reads its weights for every share of the requests
        said = runs.measure(program, "bench", "infer", "shape", "--requests", "1,2", "--prompt-tokens", 20, "--new-tokens", 9, *words, ranks=2, mpiexec=mpiexec)
        two = said["measured"][0] if said else {"rows": []}
        check(len(two["rows"]) == 2 and two["peak_bytes"]["predicted"] == two["peak_bytes"]["arena"], f"{words}: {two}")
        for row in two["rows"]:
            times, caches = row["requests"] if words[0] == "--pp" else 1, 2 * 2 * 24.5 * 32 * 4
            check(row["bytes_per_token"] == caches + times * 4 * (one["parameters"] - 64 * 32) / row["requests"], f"{words}: {row}")
            check(row["step_seconds"] > 0 and row["read_rate"] > 0, f"{words}: {row}")
    with open(os.path.join(fixtures, "language", "mixtral", "config.json")) as file:  # factors of a table that the other stage has
        wide = json.load(file) | {"vocab_size": 1 << 19}
    with open(os.path.join("shape", "config.json"), "w") as file:
        json.dump(wide, file)
    runs.measure(program, "bench", "infer", "shape", "--requests", "1", "--prompt-tokens", 5, "--new-tokens", 3, "--pp", 2, "--dtype", "int8", ranks=2, mpiexec=mpiexec)
    shutil.rmtree("shape")


def table():
    """Rows for people have the columns of nccl-tests; a file gets what --json prints."""
    status, out, err = runs.run(program, "bench", "allreduce", "--max_bytes", 1024, *QUICK, "--output", "net.json", ranks=2,
                                mpiexec=mpiexec)
    rows = [line.split() for line in out.splitlines() if not line.startswith("#")]
    check(status == 0 and "algbw" in out and "#wrong" in out, f"{status} {out} {err}")
    check([int(r[0]) for r in rows] == [16, 64, 512] and all(r[7] == "0" for r in rows), f"{out}")
    with open("net.json") as file:
        check(json.load(file)["measured"][0]["what"] == "allreduce", "net.json")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for n in runs.some((3, 4)):
        exchanges(n)
    files(1)
    files(3)
    no_memory()
    scaling()
    job_cores()
    in_a_step()
    language_model()
    exchanges(2, "--device", "shadow", kinds=None if runs.LONG else ["allreduce", "halo"])
    table()
    runs.refuses(program, [
        (2, ["bench", "alreduce"], "bench cannot measure 'alreduce'"),
        (2, ["bench", "halo", "--output", "net.csv"], "net.csv"),
        (2, ["bench", "reconstruct"], "start it without mpirun"),
    ], ranks=(2,), mpiexec=mpiexec)
    runs.refuses(program, [
        (2, ["bench"], "name what to measure"),
        (2, ["bench", "halo", "--min_bytes", "8x"], "--min_bytes must be bytes"),
        (2, ["bench", "halo", "--max_bytes", "5G"], "at most 4G"),
        (2, ["bench", "halo", "--min_bytes", "1M", "--max_bytes", "1K"], "is more than --max_bytes"),
        (2, ["bench", "halo", "--factor", 1], "it must be from 2"),
        (2, ["bench", "halo", "--precision", 0], "it must be above 0"),
        (2, ["bench", "p2p"], "needs at least two ranks"),
        (2, ["bench", "reconstruct", "--scaling", "2,1"], "increasing numbers of ranks"),
        (2, ["bench", "reconstruct", "--scaling", "1,99999"], "would compete for the"),
        (2, ["bench", "reconstruct", "--extent", 8], "it must be from 32"),
        (2, ["bench", "reconstruct", "--turns", 0], "--turns is 0"),
        (2, ["bench", "reconstruct", "--launcher", "env " + "A=1 " * 32], "--launcher must have 1 to 32 words"),
        (2, ["bench", "reconstruct", "--launcher", "env A=" + "1" * 5000], "--launcher must have 1 to 32 words"),
        (2, ["bench", "kernels", "--launcher", " "], "--launcher must have 1 to 32 words"),
        (4, ["bench", "reconstruct", "--launcher", "false " + "A=1 " * 31, "--extent", 32], "ended with status 1"),
        (2, ["bench", "io", "--extent", 1], "it must be from 2"),
        (4, ["bench", "reconstruct", "--launcher", "no-such-launcher", "--extent", 32], "cannot start 'no-such-launcher'"),
        (4, ["bench", "reconstruct", "--launcher", "false", "--extent", 32], "ended with status 1"),
        (3, ["bench", "reconstruct", "--image", "gone.npy", "--extent", 32], "ended with status 3"),
        (2, ["bench", "kernels", "--dry-run"], "bench has no --dry-run"),
        (7, ["bench", "kernels", "--extent", 32, "--data_folder", "nowhere/at/all"], "nowhere/at/all"),
    ], ranks=(1,), mpiexec=mpiexec)
for words in (["bench", "nosuch"], ["match", "t.npy", "--max-hours", "nan"]):  # said before a device is looked for
    status, _, err = runs.run(program, *words)
    check(status == 2 and len(err.splitlines()) == 1, f"{words}: {status} {err}")
finish("bench")
