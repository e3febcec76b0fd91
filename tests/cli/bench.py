"""bench: every exchange on several ranks gives what it should, in rows that add up; bad input.

    bench.py PROGRAM MPIEXEC
"""
import json
import math
import os
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
# What a link carries per byte of the buffer, on n ranks.
SHARE = {"allreduce": lambda n: 2 * (n - 1) / n, "reduce-scatter": lambda n: (n - 1) / n, "all-gather": lambda n: (n - 1) / n,
         "alltoall": lambda n: (n - 1) / n, "halo": lambda n: 1, "p2p": lambda n: 1}
OWN = {"allreduce", "alltoall", "halo"}
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


def exchanges(ranks, *more):
    said = measured(*SHARE, "--min_bytes", 8, "--max_bytes", "128K", "--factor", 128, *more, ranks=ranks)
    if not said:
        return
    check(said["ranks"] == ranks == len(said["hosts"]), f"{ranks} ranks: {said['ranks']} {said['hosts']}")
    check([m["what"] for m in said["measured"]] == list(SHARE), f"{[m['what'] for m in said['measured']]}")
    for one in said["measured"]:
        check(len(one["rows"]) == 3, f"{one['what']}: {len(one['rows'])} rows")
        check(one["rows"][-1]["bytes"] >= 100e3, f"{one['what']}: {one['rows'][-1]['bytes']} bytes")
        for row in one["rows"]:
            check_row(one["what"], row, ranks)


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
    for n in (2, 3, 4):
        exchanges(n)
    exchanges(2, "--device", "shadow")
    table()
    runs.refuses(program, [
        (2, ["bench"], "wants to know what to measure"),
        (2, ["bench", "alreduce"], "bench has no 'alreduce'"),
        (2, ["bench", "halo", "--min_bytes", "8x"], "--min_bytes wants bytes"),
        (2, ["bench", "halo", "--max_bytes", "5G"], "at most 4G"),
        (2, ["bench", "halo", "--min_bytes", "1M", "--max_bytes", "1K"], "is more than --max_bytes"),
        (2, ["bench", "halo", "--factor", 1], "it must be at least 2"),
        (2, ["bench", "halo", "--precision", 0], "it must be above 0"),
        (2, ["bench", "halo", "--output", "net.csv"], "net.csv"),
    ], ranks=(2,), mpiexec=mpiexec)
    runs.refuses(program, [(2, ["bench", "p2p"], "wants at least two ranks")], ranks=(1,), mpiexec=mpiexec)
finish("bench")
