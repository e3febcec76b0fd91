"""A small problem takes few threads, unless the user says how many; on a busy machine waiting threads spin for a short
time only.

    threads.py PROGRAM HARDWARE-FOLDER
"""
import os
import subprocess
import sys
import tempfile
import time

import runs
import samples
from runs import check, measure
from samples import np

program, hardware = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
QUIET = ("--logging_level", 40)
FREE = runs.around("OMP_NUM_THREADS", "OMP_STACKSIZE", "GOMP_STACKSIZE", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def threads(*words, env=FREE):
    said = measure(program, *words, *QUIET, env=env)
    return said and said["threads"]


def a_run_leaves_cores_alone():
    words = ("match", "two.npy", "--limit_to", 4, "--max_iter", 2, "--no_polish", "--output", "a.npy")
    check(threads(*words) == 1, "a small image takes one thread")
    check(threads(*words, "--device", "shadow") == 1, "on shadow too")
    check(threads(*words, "--dry-run") == 1, "and so says a dry run")
    check(threads(*words, "--threads", 2) == 2, "--threads is what it takes")
    check(threads(*words, env={**FREE, "OMP_NUM_THREADS": "2"}) == 2, "OMP_NUM_THREADS too")


def no_team_is_larger():
    """Reading too is for so many threads: all cores for each of a node's ranks would be in each other's way."""
    env = {**FREE, "OMP_DISPLAY_AFFINITY": "TRUE", "OMP_AFFINITY_FORMAT": "a team of %N"}
    for words in (("characterize", "two.npy", "--limit_to", 4), ("compare", "two.npy", "two.npy"), ("match", "two.npy", "--limit_to", 4, "--max_iter", 2)):
        done = runs.run(program, *words, "--threads", 1, "--output", "team.png" if words[0] == "compare" else "team.h5", env=env)
        check(done.status == 0 and "a team of" not in done.err + done.out, f"{words}: more than one thread: {done}")


def too_many():
    """More than libraries can start."""
    for ranks in (1, 2):
        done = runs.run(program, "info", "two.npy", ranks=ranks, env={**FREE, "OMP_NUM_THREADS": "100000"})
        check(done.status == 2 and done.err.count("OMP_NUM_THREADS is '100000'") == 1, f"{ranks} ranks: {done}")


def stacks():
    """Too small a stack is left without a word, too large a one ends OpenMP: both are refused at the start."""
    words = ("match", "two.npy", "--add_dimension", 24, "--limit_to", 4, "--max_iter", 2, "--no_polish", "--threads", 2, "--output", "stack.npy")
    for text, says in (("64", "at least 256 KiB"), ("16 k", "at least 256 KiB"), ("262143B", "at least 256 KiB"), ("100000G", "can be started"),
                       ("256", ""), ("256K", ""), ("4m", ""), ("1 G", ""), ("much", ""), ("", "")):
        for ranks in (1, 2):
            done = runs.run(program, *words, ranks=ranks, timeout=60, env={**FREE, "OMP_STACKSIZE": text})
            right = done.status == 2 and done.err.count(says) == 1 and done.err.count("try: unset OMP_STACKSIZE") == 1 if says else done.status == 0
            check(right, f"OMP_STACKSIZE={text!r}, {ranks} ranks: {done}")
    for given, name in (("GOMP_STACKSIZE=64", "GOMP_STACKSIZE"), ("GOMP_STACKSIZE=100000G", "GOMP_STACKSIZE"), ("GOMP_STACKSIZE=256", ""),
                        ("OMP_STACKSIZE=4m GOMP_STACKSIZE=64", ""), ("OMP_STACKSIZE=much GOMP_STACKSIZE=64\tk", "GOMP_STACKSIZE"),
                        ("OMP_STACKSIZE_ALL=64", "OMP_STACKSIZE_ALL"), ("GOMP_STACKSIZE=4m OMP_STACKSIZE_ALL=64", "")):
        done = runs.run(program, *words, timeout=60, env={**FREE, **dict(one.split("=") for one in given.split(" "))})
        right = done.status == 2 and f"{name} is '" in done.err and f"try: unset {name}" in done.err if name else done.status == 0
        check(right, f"{given}: {done}")
    for limit, status in (("192", 2), ("256", 0), ("8192", 0)):
        done = runs.run("sh", "-c", f'ulimit -s {limit}; exec "$@"', "sh", program, *words, timeout=60, env=FREE)
        check(done.status == status and ("try: ulimit -s 8192" in done.err) == (status == 2), f"ulimit -s {limit}: {done}")


def more_than_cores():
    """They take turns, and a run says so once."""
    cores, words = len(os.sched_getaffinity(0)), ("characterize", "two.npy", "--limit_to", 4, "--output", "c.h5")
    for ranks in (1, 2):
        each = max(cores // ranks, 1)
        said = f"{each + 1} threads for each rank share {each} core"
        done = runs.run(program, *words, "--threads", each + 1, ranks=ranks, timeout=60, env=FREE)
        check(done.status == 0 and done.err.count(said) == 1, f"{ranks} ranks, {each + 1} threads: {done}")
        done = runs.run(program, *words, "--threads", each, ranks=ranks, timeout=60, env=FREE)
        check(done.status == 0 and "threads for each rank" not in done.err, f"{ranks} ranks, {each} threads: {done}")


def a_plan_counts_alike():
    words = ("plan", "reconstruct", "two.npy", "--limit_to", 8, "--hardware", f"{hardware}/h100x8.json", "--device", "cpu", "--ranks", 1)
    some = [threads(*words, "--size", n, n, n) for n in (16, 32, 128)]
    check(some[0] == 1 and 1 < some[1] < some[2], f"more threads for more voxels: {some}")
    check(threads(*words, "--size", 16, 16, 16, "--threads", 5) == 5, "a plan for 5 threads")


def the_program_begins_again_under_its_name():
    """On a busy machine, unless the environment says how long threads spin: it is that of the last start."""
    words = ["match", "two.npy", "--limit_to", 4, "--size", 48, 48, 48, "--max_iter", 100000, "--output", "long.npy", *QUIET]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() + 1)]
    for given, want in ((None, "3000"), ("7", "7")):
        env = {**FREE, **({"GOMP_SPINCOUNT": given} if given else {})}
        with subprocess.Popen([program, *map(str, words)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            until, seen = time.time() + 60, ""
            while want not in seen and time.time() < until and job.poll() is None:
                got = dict(e.split("=", 1) for e in open(f"/proc/{job.pid}/environ").read().split("\0") if "=" in e)
                seen = got.get("GOMP_SPINCOUNT", "")
                time.sleep(0.02)
            name = open(f"/proc/{job.pid}/comm").read().strip()
            runs.kill(job.pid)
        check(seen == want, f"GOMP_SPINCOUNT is {seen!r}, wanted {want}")
        check(name == os.path.basename(program)[:15], f"the process is called {name}")
    for other in others:
        other.kill()
        other.wait()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("two.npy", samples.blobs((24, 24), (0.6, 0.4), 3))
    a_run_leaves_cores_alone()
    no_team_is_larger()
    too_many()
    stacks()
    more_than_cores()
    a_plan_counts_alike()
    the_program_begins_again_under_its_name()
runs.finish("threads")
