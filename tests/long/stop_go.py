#!/usr/bin/python3
"""The long form of tests/cli/restart.py: kills at random moments, every kind of damage to a checkpoint, and what
checkpoints cost. Prints one row per campaign: what, trials, how many held, a remark.
usage: stop_go.py [--kills N] [--flips N] [--pairs N] [--device NAME] MESOFORGE MPIEXEC ..."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import runs
from samples import digest

parser = argparse.ArgumentParser()
parser.add_argument("--kills", type=int, default=20)
parser.add_argument("--flips", type=int, default=1000)
parser.add_argument("--pairs", type=int, default=5)
parser.add_argument("--device", default="cpu")
parser.add_argument("program")
parser.add_argument("launcher", nargs=argparse.REMAINDER)
asked = parser.parse_args()
asked.program = os.path.abspath(asked.program)
folder = tempfile.mkdtemp(prefix="stop-go-")
os.chdir(folder)
dice = random.Random(20)
failed = 0


def line(arguments, ranks=1):
    return runs.line(asked.program, *arguments, ranks=ranks, mpiexec=asked.launcher)


def run(arguments, ranks=1, fault=None):
    return runs.run(asked.program, *arguments, ranks=ranks, mpiexec=asked.launcher, timeout=600, fault=fault)


def row(what, trials, held, remark):
    global failed
    failed += held != trials
    print(f"{what}\t{trials}\t{held}\t{remark}", flush=True)


def clear(stem):
    for name in os.listdir("."):
        if name.startswith(stem):
            os.remove(name)


def kills(problem):
    """Killed without warning somewhere in the run, on 1 to 4 ranks; goes on on another number of ranks."""
    options = problem + ["--restart", "auto", "--checkpoint-every", "3ev", "--output", "killed.npy"]
    begin = time.time()
    run(problem + ["--output", "whole.npy"])
    length, want, held, early, gone_on = time.time() - begin, digest("whole.npy"), 0, 0, 0
    for trial in range(asked.kills):
        clear("killed")
        before = 1 + trial % 4
        after = dice.choice([r for r in (1, 2, 3, 4) if r != before])
        with subprocess.Popen(line(options, before), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as job:
            time.sleep(dice.uniform(0.2, 1.0 + 0.4 * before) * length)
            early += job.poll() is not None
            runs.kill(job.pid)
        code, _, text = run(options, after)
        gone_on += "continuing from a checkpoint" in text
        good = code == 0 and digest("killed.npy") == want
        held += good
        if not good:
            print(f"kill {trial}: {before} -> {after} ranks: {code} {text}", file=sys.stderr)
    row("killed, then gone on", asked.kills, held,
        f"{gone_on} from a checkpoint, {early} were over before the kill")


def damage(problem):
    """A checkpoint cut at every 4 KiB, and with one bit flipped: verify must say so each time."""
    run(problem + ["--checkpoint-every", "5ev", "--output", "hurt.npy"], 1, "run.leave:visit=25")
    names = [n for n in os.listdir(".") if n.startswith("hurt.ckpt")]
    sound = open(max(names, key=os.path.getmtime), "rb").read()
    clear("hurt")
    with open("hurt.ckpt-a.h5", "wb") as file:
        file.write(sound)
    if run(["verify", "hurt.ckpt-a.h5"])[0] != 0:
        sys.exit("the checkpoint is not sound to begin with")

    def seen(damaged):
        with open("hurt.ckpt-a.h5", "wb") as file:
            file.write(damaged)
        return run(["verify", "hurt.ckpt-a.h5"])[0] == 3

    cuts = range(0, len(sound), 4096)
    row("checkpoint cut at each 4 KiB", len(cuts), sum(seen(sound[:n]) for n in cuts), f"{len(sound)} bytes")
    held = 0
    for _ in range(asked.flips):
        bit, copy = dice.randrange(8 * len(sound)), bytearray(sound)
        copy[bit // 8] ^= 1 << bit % 8
        held += seen(bytes(copy))
    row("checkpoint with one bit flipped", asked.flips, held, f"{len(sound)} bytes")


def interval(options):
    """Seconds that a run with checkpoints as it likes waits between two, as it says itself after one that it was asked for."""
    name = "CHECKPOINT"
    line = runs.line(asked.program, *options, "--checkpoint-every", "auto", "--logging_level", "10", ranks=1, mpiexec=asked.launcher)
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        time.sleep(2)
        open(name, "w").close()
        text = job.communicate(timeout=600)[1]
    os.remove(name)
    clear("cost")
    return float(text.split("the next checkpoint after ")[1].split()[0])


def saves(answer):
    """How many checkpoints a run wrote, and the seconds it says they took."""
    for line in answer["log_view"]["rows"]:
        if line["name"] == "checkpoint":
            return line["count"], line["seconds"]["max"]
    return 0, 0.0


def cost():
    """Seconds of a 128^3 run that saves all the time and of one that never does, in turn: what one checkpoint costs, by the
    difference and by the run's own clock. The default interval makes a share of the time of the dearer."""
    options = ("match --microstructure_filename t64.npy --size 128 128 128 --limit_to 16 --max_iter 200 "
               "--no-polish --json --log-view --output cost.h5").split()
    times, counted, clock = {"5ev": [], "off": []}, 0, []
    for _ in range(asked.pairs):
        for every in times:
            code, out, text = run(options + ["--checkpoint-every", every, "--device", asked.device])
            if code != 0:
                sys.exit(text)
            answer = json.loads(out)
            times[every].append(answer["seconds"])
            counted, seconds = saves(answer) if every != "off" else (counted, 0.0)
            clock += [seconds / counted] if every != "off" else []
            clear("cost")
    whole, own = sorted((a - b) / counted for a, b in zip(*times.values())), sorted(clock)
    save, wait = max(whole[len(whole) // 2], own[len(own) // 2]), interval([*options, "--device", asked.device])
    share = 100 * save / wait
    row("cost of checkpoints at 128^3, default interval <= 2 %", 1, int(share <= 2),
        f"{share:.2f} %: one takes {1e3 * own[len(own) // 2]:.0f} ms by the run's clock, {1e3 * whole[len(whole) // 2]:.0f} ms by "
        f"the difference (medians of {asked.pairs}, {counted} a run), the program leaves {wait:.0f} s between two")


run("synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
run("synth --kind gaussian --size 64 64 --volume-fraction 0.4 --correlation-length 4 --output t64.npy".split())
small = ("match --microstructure_filename t.npy --limit_to 6 --deterministic --max_iter 60 --polish-rounds 12 "
         f"--add_dimension 20 --device {asked.device}").split()
if asked.kills:
    kills(small)
if asked.flips:
    damage(small)
if asked.pairs:
    cost()
shutil.rmtree(folder)
sys.exit(failed > 0)
