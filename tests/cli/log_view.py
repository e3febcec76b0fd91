"""--log-view: stages and the rest make up the run, work is counted exactly, on 1 to 4 ranks, as table and as JSON.

    log_view.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import S2, check, finish
from samples import blobs, np

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*words, ranks=1):
    done = runs.run(MESOFORGE, *words, "--threads", 1, "--logging_level", 30, "--memory-limit", 400, ranks=ranks, mpiexec=MPIEXEC, timeout=240)
    check(done.status == 0, f"{words}: {done.status} {done.err}")
    return done.out


def rows_of(said, what):
    phases = said["log_view"]
    rows = {row["name"]: row for row in phases["rows"]}
    stages = [row for row in phases["rows"] if row["kind"] in ("stage", "rest")]
    total = sum(row["seconds"]["avg"] for row in stages)
    check(0.8 * phases["seconds"] < total < 1.001 * phases["seconds"], "%s: stages last %g of %g s" %
          (what, total, phases["seconds"]))  # ranks begin one after the other
    check(abs(sum(row["share"] for row in stages) - 1) < 1e-6, what + ": shares")
    check(phases["memory_rate"] > 0 and phases["fp32_rate"] > 0, what + ": ceilings")
    for row in phases["rows"]:
        s = row["seconds"]
        check(0 <= s["min"] <= s["avg"] * (1 + 1e-9) and s["avg"] <= s["max"] * (1 + 1e-9), what + ": min, avg, max")
    return rows


def steps(rows, voxels, what):
    """Passes over vectors: 16 bytes and 5 operations a voxel."""
    check(rows["step"]["bytes"] == 16 * voxels * rows["step"]["count"], what + ": bytes of steps")
    check(rows["step"]["operations"] == 5 * voxels * rows["step"]["count"], what + ": operations of steps")


def volumes():
    for ranks in runs.some((2, 1, 3, 4), 4):
        what = "match on %d ranks" % ranks
        said = json.loads(run("match", "a.npy", "--add-dimension", 16, "--limit-to", 6, "--max-iter", 30, "--log-view",
                              "--json", "--checkpoint-every", "10ev", "--output", "v.h5", ranks=ranks))
        rows = rows_of(said, what)
        want = {"start", "read", "characterise", "prepare", "descent", "continuation", "cut", "polish", "describe",
                "write", "S2", "Variation", "counts", "messages", "direction", "step", "pair", "field terms",
                "polish: rank", "polish: gather", "polish: swaps", "checkpoint", "rest"}
        want |= {"exchange", "waiting", "reduction"} if ranks > 1 else set()
        check(want <= set(rows), "%s: no %s" % (what, want - set(rows)))
        steps(rows, 16 * 24 * 24, what)
        sent = rows["exchange"]["bytes_sent"] if "exchange" in rows else 0
        check(sent > 0 if ranks > 1 else sent == 0, what + ": sent")
        inside = [rows[name]["seconds"]["avg"] for name in rows if rows[name]["kind"] == "work"]
        check(sum(inside) < said["log_view"]["seconds"], what + ": work lasts longer than the run")
        check(all(row["kind"] == "rest" or row["seconds_of_cores"] >= 0 for row in rows.values()), what + ": cores")
        check(0 < sum(rows[n]["seconds_of_cores"] for n in ("S2", "Variation")) < said["log_view"]["seconds"] * os.cpu_count(),
              what + ": cores of S2 and Variation")
        view = said["log_view"]
        check(0 <= view["share_of_cores_with_others"] < 1 and (view["share_with_others"] > 0 or ranks == 1), what + ": with others")
        if ranks == 2:  # an evaluation sends half of the floats of y and x slices, and as many gradients back
            check(sent >= said["evaluations"] * 2 * 2 * (16 * 24 * 24 // 2) * 4, what + ": too little is sent")
            check(rows["polish"]["bytes_sent"] > 0 and rows["descent"]["bytes_sent"] < sent, what + ": sent in stages")
    rows = rows_of(json.loads(run("match", "a.npy", *S2, "--limit-to", 6, "--max-iter", 10, "--optimizer-type", "Adam",
                                  "--no-polish", "--log-view", "--json", "--output", "b.h5")), "Adam")
    check(rows["adapt"]["bytes"] == 28 * 24 * 24 * rows["adapt"]["count"] and "step" not in rows, "Adam")


def tables():
    for words in (("match", "a.npy", "--limit-to", 6, "--max-iter", 10, "--output", "c.h5"),
                  ("characterize", "v.h5", "--limit_to", 5, "--output", "d.h5"),
                  ("reconstruct", "--descriptor-filename", "d.h5", "--size", 16, 16, 16, "--max-iter", 6, "--limit_to",
                   5, "--output", "e.h5")):
        for ranks in runs.some((3, 1) if "v.h5" in words else (1, 3)):
            out = run(*words, "--log-view", ranks=ranks)
            at = out.find("where the time went")
            lines = out[at:].splitlines()
            check(at >= 0 and len(lines) > 8, "%s: no table" % (words,))
            check(max(map(len, lines)) <= 105, "%s: %d columns" % (words, max(map(len, lines))))
            check(any(line.split()[:1] == ["S2"] for line in lines), "%s: no S2" % (words,))
        check("where the time went" not in run(*words), "%s: a table that nobody asked for" % (words,))


def several():
    said = json.loads(run("match", "a.npy", "--limit-to", 6, "--max-iter", 6, "--realisations", 2, "--log-view",
                          "--json", "--output", "r.h5"))
    check("log_view" not in said[0] and "log_view" in said[1], "realisations: the last has the phases")
    said = json.loads(run("characterize", "v.h5", "a.npy", "--limit_to", 5, "--log-view", "--json", ranks=2))
    check("log_view" not in said[0] and "log_view" in said[1], "files: the last has the phases")
    said = json.loads(run("characterize", "v.h5", "--limit_to", 5, "--json"))
    check("log_view" not in said, "phases that nobody asked for")
    said = json.loads(run("match", "a.npy", "--limit-to", 6, "--log-view", "--dry-run", "--json"))
    check("log_view" not in said, "a dry run has no phases")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("a.npy", blobs((24, 24), [0.6, 0.4], 3))
    volumes()
    tables()
    several()
finish("log_view")
