#!/usr/bin/env python3
"""--exchange: from GPU to GPU or through the host, in one line and the same bits; the calls of NCCL, and what becomes of a
run when one of them fails. On the emulator (MF_CUDA_LIBRARY) and a stand-in for NCCL (MF_NCCL_LIBRARY).
usage: nccl.py MESOFORGE MPIEXEC"""
import collections
import glob
import hashlib
import json
import os
import re
import sys
import tempfile
import time

import runs
from runs import around, check, finish

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
LIMIT = 3  # --timeout [s]
ENDS = ("abort", "destroy", "moved")  # what may follow an error


def run(*words, ranks=1, wrap=(), **env):
    begin = time.time()
    got = runs.run(*wrap, MESOFORGE, *words, ranks=ranks, mpiexec=MPIEXEC, env=around(**env))
    return *got, time.time() - begin


def match(*words, device="cuda", **more):
    """(result, digest of the volume, lines of the program, seconds)"""
    for old in glob.glob("calls.*"):
        os.remove(old)
    status, out, err, took = run("match", "--device", device, "--microstructure_filename", "image.npy", "--limit-to", 4, "--size", 16, 12, 10,
                                 "--max_iter", 3, "--seed", 3, "--no_polish", "--json", "--timeout", LIMIT, "--output", "out.npy", *words,
                                 FAKE_NCCL_LOG=os.path.abspath("calls"), **more)
    result = json.loads(out) if status == 0 else None
    digest = hashlib.sha256(open("out.npy", "rb").read()).hexdigest() if status == 0 else None
    return result, digest, status, err, took


def calls(ranks):
    """What each rank called; [] where NCCL never came as far."""
    return [open(f"calls.{r}").read().splitlines() if os.path.exists(f"calls.{r}") else [] for r in range(ranks)]


def groups(lines):
    """[[(send or receive, peer, bytes), ...], ...]; what stands outside of groups is a failure."""
    found, inside = [], None
    for line in lines:
        word = line.split()
        if word[0] == "group":
            check(inside is None, "a group in a group")
            inside = []
        elif word[0] == "end":
            found.append(inside)
            inside = None
        elif word[0] in ("send", "receive"):
            check(inside is not None, f"outside of a group: {line}")
            if inside is not None:
                inside.append((word[0], int(word[1]), int(word[2])))
        else:
            check(word[0] in ("init", "moved", "finish", "destroy"), f"unexpected: {line}")
    check(inside is None, "a group that does not end")
    return found


def is_sound(ranks, what):
    """As many groups on every rank; in each, the k-th send from a to b meets the k-th receive of b from a."""
    logs = calls(ranks)
    per_rank = [groups(lines) for lines in logs]
    check(len({len(g) for g in per_rank}) == 1 and len(per_rank[0]) > 0, f"{what}: groups {[len(g) for g in per_rank]}")
    for k in range(min(len(g) for g in per_rank)):
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        for r in range(ranks):
            for kind, peer, size in per_rank[r][k]:
                (sends if kind == "send" else receives)[(r, peer) if kind == "send" else (peer, r)].append(size)
        check(sends == receives, f"{what}: group {k}: {dict(sends)} against {dict(receives)}")
    for r in range(ranks):
        check(logs[r][0] == f"init {r} of {ranks}" and logs[r][-2:] == ["finish", "destroy"], f"{what}: begin and end on rank {r}")
        check(sum(l.startswith("moved") for l in logs[r]) <= len(per_rank[r]), f"{what}: moves on rank {r}")


def line_of(err, begin):
    return [l for l in err.splitlines() if l.startswith(begin)]


scratch = tempfile.TemporaryDirectory()  # gone when the program ends
os.chdir(scratch.name)
check(run("synth", "--size", 32, 32, "--correlation-length", 1.5, "--output", "image.npy")[0] == 0, "synth")

# Same bits by NCCL and through the host, near those of cpu; on one rank with itself, where directions are added in the
# order of several ranks.
for ranks, more in runs.some(((3, []), (1, ["--deterministic"]), (2, ["--loss-type", "RMS", "--batch_size", "2"]), (2, []), (4, ["--use_multigrid_reconstruction"])), 4):
    cpu = match(*more, device="cpu", ranks=ranks)
    host = match("--exchange", "host", *more, ranks=ranks)
    check(not glob.glob("calls.*") and "exchange:" not in host[3], f"{ranks}: host is host")
    wired = match("--exchange", "nccl", *more, ranks=ranks)
    check(host[2] == 0 and wired[2] == 0 and cpu[2] == 0, f"{ranks} {more}: {host[3]} {wired[3]}")
    if wired[2] or host[2]:
        continue
    check(len(line_of(wired[3], "exchange: NCCL 2.28.9 (--exchange nccl)")) == 1, f"{ranks}: {wired[3]}")
    check(wired[0]["loss"] == host[0]["loss"] and wired[1] == host[1], f"{ranks} {more}: other bits by NCCL")
    check(abs(wired[0]["loss"] - cpu[0]["loss"]) < 1e-3 * cpu[0]["loss"], f"{ranks} {more}: {wired[0]['loss']} {cpu[0]['loss']}")
    is_sound(ranks, f"{ranks} {more}")

# auto takes it where it can, and says why where it cannot.
auto = match(ranks=2)
check(auto[2] == 0 and "exchange: NCCL 2.28.9 (auto: every rank has a GPU of its own)" in auto[3], f"auto: {auto[3]}")
auto = match(ranks=1)
check(auto[2] == 0 and "exchange:" not in auto[3] and not glob.glob("calls.*"), f"auto on one rank: {auto[3]}")
for turn, (words, env, want) in enumerate((
    ((), dict(MF_NCCL_LIBRARY="/nowhere/libnccl.so.2"), "NCCL does not load: "),
    (("--share-gpu",), dict(MF_EMU_DEVICES=1), "NCCL needs one GPU per rank, but ranks 0 and 1 are both on 0000:01:00.0"),
    ((), dict(MF_EMU_MIG=1), "NCCL does not connect parts of GPUs (MIG), rank 0 has one"),
    ((), dict(FAKE_NCCL_VERSION=2604), "is NCCL 2.6.4; this program needs version 2, from 2.14 on"),
    ((), dict(FAKE_NCCL_VERSION=30000), "is NCCL 3.0.0; this program needs version 2, from 2.14 on"),
    ((), dict(FAKE_NCCL_FAIL="1:0"), "NCCL gives no id: asked to fail (rank 0; 1 of 2 ranks failed)"),
    ((), dict(FAKE_NCCL_FAIL="1:1"), "NCCL 2.28.9 does not start: asked to fail (rank 1; 1 of 2 ranks failed)"),
    ((), dict(FAKE_NCCL_LATE="0:0"), "NCCL 2.28.9 does not start: asked to fail (rank 0; 1 of 2 ranks failed)"),
)):
    got = match(*words, ranks=2, **env)
    tried = "warning: " if "FAKE_NCCL_FAIL" in env or "FAKE_NCCL_LATE" in env else ""  # it should have worked
    lines = line_of(got[3], f"{tried}exchange: through the host's memory (auto: ")
    check(got[2] == 0 and len(lines) == 1 and want in lines[0], f"auto {words} {env}: {got[2]} {got[3]}")
    check(got[2] or got[0]["loss"] == auto[0]["loss"] or got[0]["loss"] > 0, "a loss")
    if turn % 2 and not runs.LONG:
        continue
    got = match("--exchange", "nccl", *words, ranks=2, **env)
    lines = line_of(got[3], "mesoforge: match: --exchange nccl: ")
    check(got[2] == 4 and len(lines) == 1 and want in lines[0], f"nccl {words} {env}: {got[2]} {got[3]}")
got = match("--exchange", "nccl", ranks=2, device="cpu")
check(got[2] == 4 and "this run is on the cpu back end" in got[3], f"nccl on cpu: {got[3]}")
got = match("--exchange", "fast")
check(got[2] == 2, f"--exchange fast: {got[3]}")

# Any call that fails ends the run: status 4, one line, the others aborted, nothing called any more.
for fault in runs.some(("1:1", "2:1", "4:1", "8:0", "11:2"), 4):
    got = match("--exchange", "nccl", ranks=3, FAKE_NCCL_FAIL=fault)
    lines = line_of(got[3], "mesoforge: ")
    check(got[2] == 4 and len(lines) == 1 and "NCCL" in lines[0] and got[4] < 30, f"fail {fault}: {got[2]} {got[4]:.1f} s {got[3]}")
    log = calls(3)[int(fault[-1])]
    at = [i for i, l in enumerate(log) if l.startswith("fails")]
    check(len(at) == 1 and all(l.split()[0] in ENDS for l in log[at[0] + 1:]), f"fail {fault}: {log[-6:]}")
    check("abort" in log or not any(l.startswith("init") for l in log), f"fail {fault}: no abort: {log[-6:]}")
for fault in ("1:1", "3:0"):
    got = match("--exchange", "nccl", ranks=3, FAKE_NCCL_LATE=fault)
    lines = line_of(got[3], "mesoforge: ")
    check(got[2] == 4 and len(lines) == 1 and f"NCCL: an exchange fails on rank {fault[-1]}" in lines[0], f"late {fault}: {got[2]} {got[3]}")

# A rank that does not come out of a call is named.
for fault, part in runs.some((("6:1", "rank 1 on .* has not come out of fetch of slices, round 1"), ("1:1", "rank 1 on .* has not come out of start of NCCL"))):
    got = match("--exchange", "nccl", ranks=3, FAKE_NCCL_STUCK=fault)
    lines = line_of(got[3], "mesoforge: ")
    check(got[2] == 4 and len(lines) == 1 and re.search(part, lines[0]), f"stuck {fault}: {got[2]} {got[3]}")
    check(got[4] < LIMIT + 20, f"stuck {fault}: {got[4]:.1f} s")

# One rank of several without the library of the back end.
lame = ["sh", "-c", '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export MF_CUDA_LIBRARY=/nowhere/libmesoforge_cuda.so; exec "$@"', "sh"]
got = match(ranks=3, wrap=lame)
lines = line_of(got[3], "mesoforge: ")
check(got[2] == 4 and len(lines) == 1 and "does not load" in lines[0] and "(rank 1; 1 of 3 ranks failed)" in lines[0],
      f"no library on rank 1: {got[2]} {got[3]}")
finish("nccl")
