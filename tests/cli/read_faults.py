"""What a program reads fails under it: every kind of file, every verb that reads, and the checkpoints that a run goes on from. What ends well has said what
it says undisturbed; what does not, says which file it was; no checkpoint is lost by it.

    read_faults.py PROGRAM LIBRARY [--all]     LIBRARY: tests/tool/faulty_io.c; --all: at every call, not at some; which ones those are, FAULTS_SEED says
"""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile

import h5py

import runs
import weights
from runs import check, finish

program, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
every = "--all" in sys.argv
dice = random.Random(os.environ.get("FAULTS_SEED", "0"))
BROKEN, LAWFUL = ("EIO", "once", "EACCES"), ("short", "EINTR")
STREAMS = (".nrrd", ".vti", ".tiff", ".png", ".jsonl")  # read through a library that ends by it, if only the C library
FORMATS = ("npy", "h5", "dream3d", "nrrd", "vti", "vtkhdf", "png", "tiff")
VERBS = {"info": ["info"], "verify": ["verify"], "measure": ["characterize", "--output", "got.h5"], "draw": ["view", "--output", "got.png"],
         "smooth": ["smooth", "--output", "got.npy"]}
OTHERS = [["merge", "in/descriptors.h5", "in/descriptors.h5", "got.h5"],
          ["interpolate", "in/descriptors.h5", "in/descriptors.h5", "--n_steps", 2], ["compare", "in/m.npy", "in/m.h5"],
          ["reconstruct", "--descriptor_filename", "in/descriptors.h5", "--size", 16, 16, "--max_iter", 3, "--no_polish", "--deterministic", "--threads", 1, "--output", "got.npy"],
          ["match", "--config", "in/run.yaml", "--output", "got.npy"], ["plan", "match", "--config", "in/run.yaml"],
          ["characterize", "in/m.npy", "--limit_to", 6, "--descriptor_types", "GramMatrices", "--no_multigrid_descriptor", "--gram_weights_filename", "in/net.safetensors", "--output", "got.h5"],
          ["view", "in/metrics.jsonl", "--output", "got.png"],
          ["report", "in/descriptors.h5", "in/run.json", "in", "--output", "got.html"]]
RUN = ["match", "m.npy", "--limit_to", 4, "--add_dimension", 12, "--deterministic", "--max_iter", 24, "--polish_rounds", 3,
       "--checkpoint-every", "6ev", "--threads", 1, "--restart", "auto", "--output", "out.h5"]


def content(path):
    """Of what a verb writes: the numbers of an HDF5 file, but for times, and the bytes of another."""
    found = hashlib.sha256()
    if path.endswith(".h5"):
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.update(name.encode() + item[()].tobytes())
                            if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf" and name not in ("convergence", "results") else None)
    else:
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def outputs():
    """Of the files that a verb left here; they are gone then."""
    found = {}
    for name in sorted(os.listdir(".")):
        if os.path.isfile(name) and not name.startswith(("calls", "caller")):
            found[name] = content(name) if name.endswith((".h5", ".npy", ".png", ".html")) else ""
            os.remove(name)
    return found


def said(words, done):
    """What was printed, but for times; of a plan not what was measured of the machine, or is free on it."""
    return re.sub(r"\d[\d.e+-]* ?(ms|s|us)\b" if words[0] != "plan" else r"(plan|time|memory|node:) .*", "", done.out)


def run(words, folder, where=".", ranks=1, **faults):
    env = runs.around("FAULTY_", "MF_", **({"LD_PRELOAD": library, "FAULTY_READS": 1, "FAULTY_DIR": os.path.abspath(folder), **faults} if faults else {}))
    return runs.run(program, *words, ranks=ranks, env=env, cwd=where, timeout=60)


def calls_of(words, folder, where=".", ranks=1):
    """How often an undisturbed run reads (of processes that one starts, the one that does so most; of ranks the one that does so least), and what comes of it."""
    if os.path.exists("calls"):
        os.remove("calls")
    done = run(words, folder, where, ranks, FAULTY_COUNT=os.path.abspath("calls"))
    check(done.status == 0 and os.path.exists("calls"), f"undisturbed: {words}: {done.status} {done.err[-300:]}")
    return (max if ranks == 1 else min)(map(int, open("calls").read().split())), done


def some(calls, count):
    if every or calls <= count:
        return range(1, calls + 1)
    chosen = sorted({1, calls} | set(dice.sample(range(2, calls), count - 2)))
    return chosen if runs.LONG else dice.sample(chosen, count - 1)


def verbs(tally):
    """Those that read and write something else."""
    cases = [[words[0], f"in/m.{form}", *words[1:], *(["--labels", "0,255"] if name == "measure" and form == "png" else [])] for form in FORMATS for name, words in VERBS.items()
             if (name != "verify" or form == "h5") and (name != "smooth" or form not in ("png", "tiff"))]
    for words in runs.some(cases + OTHERS, 1 if every else 3):
        calls, whole = calls_of(words, "in")
        want = outputs()
        names = {w for w in map(str, words) if w.startswith("in/")} | ({"in/m.npy"} if "--config" in words else {"in/metrics.jsonl"} if "in" in words else set())
        for how in (*BROKEN, *LAWFUL):
            for call in some(calls, 3):
                done = run(words, "in", FAULTY_HOW=how, FAULTY_CALL=call, FAULTY_CALLER=os.path.abspath("caller"))
                got, what = outputs(), f"{' '.join(map(str, words))}: {how} at {call} of {calls} calls"
                by = {os.path.basename(line) for line in open("caller").read().split()}  # of each process
                os.remove("caller")
                lines = [line for line in runs.said(done.err) if not re.match(r"(mesoforge: )?warning: ", line)]
                tally["calls"] += 1
                tally["ended"] += done.status != 0
                if done.status == 0:
                    good = said(words, done) == said(words, whole) and got == want
                    tally["silent"] += not good
                    check(good, f"{what}: in silence: {got} {want} {done.out[-500:]}")
                    continue
                check(how in BROKEN or how == "EINTR" and (by != {"mesoforge"} or words[0] == "report" or words[1].endswith(STREAMS)), f"{what} of {by}: refused: {done.err[-300:]}")
                check(done.status == 3 and (len(lines) == 1 or words[0] == "verify") and any(name in done.err + done.out for name in names), f"{what}: {done.status} {done.err[-500:]}")
                check(not got, f"{what}: it left {got}")


def inputs():
    """One of each kind of file that a verb reads."""
    os.mkdir("in")
    for form in FORMATS:
        done = runs.run(program, *f"synth --kind gaussian --size 24 24 --volume-fraction 0.4 --correlation-length 2 --output in/m.{form}".split())
        check(done.status == 0, f"{form}: {done.err}")
    runs.run(program, *"characterize in/m.npy --limit_to 6 --output in/descriptors.h5".split())
    line = [program, *"match in/m.npy --limit_to 4 --max_iter 3 --no_polish --deterministic --threads 1".split()]
    done = runs.run(*line, "--output", "in/run.npy")  # and metrics.jsonl
    check(done.status == 0 and os.path.exists("in/metrics.jsonl"), f"a run: {done.err}")
    with open("in/run.yaml", "w") as file:
        file.write(runs.run(*line, "--print-config").out)
    weights.write("in/net.safetensors", weights.network())
    points = [{"ranks": r, "shape": [64, 64, 64], "seconds": 0.04 / r} for r in (1, 2)]
    with open("in/run.json", "w") as file:
        json.dump({"ranks": 1, "measured": [{"what": "reconstruct", "unit": "an evaluation", "scaling": "strong", "rows": points}]}, file)


def checkpoints(folder):
    return {n: content(f"{folder}/{n}") for n in os.listdir(folder) if re.fullmatch(r"out\.ckpt-[ab]\.h5", n)}


def half_way(name):
    """A folder as a run leaves it that was killed."""
    shutil.rmtree(name, ignore_errors=True)
    shutil.copytree("half", name)
    return name


def going_on(tally):
    """From checkpoints that cannot be read, once or for good: to the bits of a run that nothing happened to, or not at all, and then by the next command."""
    os.mkdir("whole")
    shutil.copy("in/m.npy", "whole/m.npy")
    check(run(RUN, "whole", "whole").status == 0, "a whole run")
    want = content("whole/out.h5")
    os.mkdir("half")
    shutil.copy("in/m.npy", "half/m.npy")
    env = runs.around("MF_", LD_PRELOAD=library, FAULTY_DIR=os.path.abspath("half"), FAULTY_HOW="kill")
    done = None
    while done is None or done.status == -signal.SIGKILL and len(checkpoints("half")) < 2:  # each goes on from where the last was killed
        done = runs.run(program, *RUN, env={**env, "FAULTY_CALL": "45"}, cwd="half")
    check(done.status == -signal.SIGKILL, f"half a run: {done.status} {os.listdir('half')}")
    for ranks in (1, 2):
        calls, done = calls_of(RUN, half_way("on"), "on", ranks)
        check(content("on/out.h5") == want and "continuing from a checkpoint" in done.err, f"on {ranks} ranks: {done.err[-300:]}")
        for how in (*BROKEN, *LAWFUL):
            for who in ("0",) if ranks == 1 else ("0", "1"):
                for call in some(calls, 4 if ranks == 1 else 2):
                    what = f"checkpoints on {ranks} ranks, of rank {who}: {how} at {call} of {calls} calls"
                    faults = {"FAULTY_RANK": who} if ranks > 1 else {}
                    done = run(RUN, half_way("on"), "on", ranks, FAULTY_HOW=how, FAULTY_CALL=call, **faults)
                    tally["calls"] += 1
                    tally["ended"] += done.status != 0
                    if done.status == 0:
                        good = content("on/out.h5") == want
                        tally["silent"] += not good
                        check(good, f"{what}: other bits: {done.err[-300:]}")
                        continue
                    lines = [line for line in runs.said(done.err) if not re.match(r"(mesoforge: )?warning: ", line)]
                    check(done.status in (3, 7) and len(lines) == 1 and re.search(r"'(out|m\.npy)", lines[0]), f"{what}: {done.status} {done.err[-500:]}")
                    whole = os.path.exists("on/out.h5") and content("on/out.h5") == want and "is complete" in done.err
                    check((whole or not os.path.exists("on/out.h5")) and checkpoints("on"), f"{what}: {os.listdir('on')}")
                    done = run(RUN, "on", "on")
                    check(done.status == 0 and content("on/out.h5") == want and "continuing from a checkpoint" in done.err, f"{what}, then: {done.status} {done.err[-300:]}")


print("FAULTS_SEED:", os.environ.get("FAULTS_SEED", "0"), "- every call" if every else "")
with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    inputs()
    tally = {"calls": 0, "ended": 0, "silent": 0}
    verbs(tally)
    going_on(tally)
    print("calls that read and failed, were short or interrupted: {calls}, runs that ended by them: {ended}, in silence: {silent}".format(**tally))
finish("read_faults")
