"""Refusals of the command line, row by row of refusals.tsv: exit status, exactly one sentence with this part, nothing on standard output, nothing left behind.

    refusals.py MESOFORGE MPIEXEC TABLE HARDWARE [SECTION ...]     sections: all; --one: each row on its first number of ranks alone
"""
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from runs import LONG, check, finish, run, said

PROGRAM, MPIEXEC, TABLE, HARDWARE = os.path.abspath(sys.argv[1]), sys.argv[2], *map(os.path.abspath, sys.argv[3:5])
WANTED, ONE = [word for word in sys.argv[5:] if word != "--one"], "--one" in sys.argv


def sections():
    """(name, shell lines that make its files, rows) of each."""
    found = []
    for line in open(TABLE).read().splitlines():
        if line.startswith("["):
            found.append((line.strip("[]"), [], []))
        elif line.startswith("$ "):
            found[-1][1].append(line[2:])
        elif line and not line.startswith("#"):
            found[-1][2].append(line.split("\t"))
    return [one for one in found if not WANTED or one[0] in WANTED]


def refuse(folder, ranks, status, words, parts):
    done = run(PROGRAM, *shlex.split(words.replace("HARDWARE", HARDWARE)), ranks=ranks, mpiexec=MPIEXEC, cwd=folder)
    lines = said(done.err)
    check(done.status == int(status) and len(lines) == 1 and all(part in lines[0] for part in parts.split(" ... ")) and not done.out,
          f"{words} on {ranks} ranks: {done.status}, want {status} '{parts}': {done.err[-600:]}{done.out[:200]}")


def all_of(name, files, rows):
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(["sh", "-eu", "-c", "\n".join(files)], cwd=folder, capture_output=True, text=True, env={**os.environ, "mesoforge": PROGRAM})
        check(made.returncode == 0, f"files of {name}: {made.stderr}")
        before = sorted(os.listdir(folder))
        jobs = []
        for i, (ranks, *row) in enumerate(rows):
            several = [int(n) for n in ranks.split(",")]
            jobs += [(folder, n, *row) for n in (several[:1] if ONE else several if LONG or i == 0 else [several[i % len(several)]])]
        with ThreadPoolExecutor(2) as pool:  # launches wait more than they work
            list(pool.map(lambda job: refuse(*job), jobs))
        check(sorted(os.listdir(folder)) == before, f"{name}: left behind {set(os.listdir(folder)) ^ set(before)}")


for section in sections():
    all_of(*section)
finish("refusals")
