#!/usr/bin/python3
"""The long form of docs/FAULTS.md: every test that its table names, again and again, the shortest first, and campaigns with random moments. Prints
one row per test or campaign: rows of the table, what, trials, how many held, a remark. Tests that choose calls and moments choose others each
time: FAULTS_SEED, which is printed, is theirs.
usage: faults.py [--repeat N] [--trials N] [--steps N] [--names N] [--calls N] [--minutes N] [--only NAME,..] BUILD_FOLDER MPIEXEC ..."""
import argparse
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "cli"))
import runs
from samples import digest

parser = argparse.ArgumentParser()
parser.add_argument("--repeat", type=int, default=20, help="times for each test of the table")
parser.add_argument("--trials", type=int, default=20, help="of each campaign")
parser.add_argument("--steps", type=int, default=100000, help="of the long run")
parser.add_argument("--only", type=lambda names: names.split(","), default=[], help="tests of the table, with commas; none: all")
parser.add_argument("--names", type=int, default=100, help="thousands of fuzzed names through scripts and lines of launch")
parser.add_argument("--calls", type=int, default=1, help="times that every call which changes or reads a file fails, not some")
parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no repetition of a test after so many")
parser.add_argument("build")
parser.add_argument("launcher", nargs=argparse.REMAINDER)
asked = parser.parse_args()
build = os.path.abspath(asked.build)
program = f"{build}/mesoforge"
seed = os.environ.get("FAULTS_SEED", str(time.time_ns() // 1000 % 1000000))
dice = random.Random(seed)
failed, began = 0, time.time()
PROBLEM = "match t.npy --limit_to 4 --add_dimension 12 --max_iter 60 --polish-rounds 2 --deterministic --threads 1".split()


def row(faults, what, trials, held, remark):
    global failed
    failed += held != trials
    print(f"{faults}\t{what}\t{trials}\t{held}\t{remark}", flush=True)


def tests_of_the_table():
    """{test: [row of the table]}"""
    found = collections.defaultdict(list)
    for line in open(f"{here}/../../docs/FAULTS.md"):
        cells = line.strip().strip("|").split("|")
        if re.match(r"\| F\d+ \|", line):
            for name in re.findall(r"`(\w+)`", cells[-1]):
                found[name].append(cells[0].strip())
    return found


def seconds_of_tests():
    """{test: seconds}, of those that ctest has run here."""
    try:
        lines = [line.split() for line in open(f"{build}/Testing/Temporary/CTestCostData.txt")]
    except FileNotFoundError:
        return {}
    return {words[0]: float(words[2]) for words in lines if len(words) == 3}


def again(name, faults):
    """What the test itself began again, for what was not ours, is said beside."""
    trials, held, longest, begun = 0, 0, 0.0, collections.Counter()
    while trials < asked.repeat and time.time() < began + 60 * asked.minutes:
        begin = time.time()
        done = subprocess.run(["ctest", "--test-dir", build, "-R", f"^{name}$", "--verbose"], capture_output=True, text=True,
                              env=runs.around(FAULTS_SEED=f"{seed}.{trials}"))
        if "***Skipped" in done.stdout:
            row(",".join(faults), name, trials, held, "skipped here")
            return
        trials += 1
        held += done.returncode == 0
        longest = max(longest, time.time() - begin)
        begun.update(re.findall(r": ([^:]*); once more$", done.stdout, re.MULTILINE))
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)
    if trials:
        more = "".join(f"; parts begun again as {why}: {times}" for why, times in sorted(begun.items()))
        row(",".join(faults), name, trials, held, f"longest {longest:.1f} s{more}")


def every_call():
    """Not some calls: all, of those that change files and of those that read them."""
    for test, faults, what in (("faults", "F2,F3,F10,F11", "every call that changes a file"), ("read_faults", "F11", "every call that reads a file")):
        every_call_of(test, faults, what)


def every_call_of(test, faults, what):
    held, longest = 0, 0.0
    for trial in range(asked.calls):
        begin = time.time()
        done = subprocess.run([sys.executable, f"{here}/../cli/{test}.py", program, f"{build}/tests/faulty_io.so", "--all"], capture_output=True, text=True)
        held += done.returncode == 0
        longest = max(longest, time.time() - begin)
        if done.returncode != 0:
            print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
    said = "; ".join(line for line in done.stdout.splitlines() if line.startswith("calls "))
    row(faults, what, asked.calls, held, f"{said}; longest {longest:.1f} s")


def match(*words, ranks=1, fault=None):
    return runs.run(program, *PROBLEM, *words, ranks=ranks, mpiexec=asked.launcher, fault=fault)


def not_a_number():
    """Somewhere in a run, on one rank: it ends with 6, or that point was not taken and the result has its bits."""
    held = ended = 0
    for trial in range(asked.trials):
        optimiser, visit, ranks = ("LBFGSB", "SPG", "TNC", "Adam")[trial % 4], dice.randint(1, 60), dice.randint(1, 3)
        want = match("--optimizer_type", optimiser, "--output", "want.npy")
        got = match("--optimizer_type", optimiser, "--output", "got.npy", ranks=ranks,
                    fault=f"recon.gradient:visit={visit}:rank={dice.randrange(ranks)}")
        six = got.status == 6 and len(runs.said(got.err)) == 1 and not os.path.exists("got.npy")
        ended += six
        good = want.status == 0 and (six or got.status == 0 and digest("got.npy") == digest("want.npy"))
        held += good
        if not good:
            print(f"{optimiser}, visit {visit}, {ranks} ranks: {got.status} {got.err}", file=sys.stderr)
        if os.path.exists("got.npy"):
            os.remove("got.npy")
    row("F15", "a gradient that is no number, at a random evaluation", asked.trials, held, f"{ended} ended with status 6, others did not take the point")


def stopped():
    """A rank is stopped at a random moment: named in time."""
    limit, held, longest = 3, 0, 0.0
    for trial in range(asked.trials):
        ranks = 2 + trial % 3
        words = f"match t.npy --limit_to 6 --size 32 32 32 --max_iter 1000000 --tolerance 0 --timeout {limit} --output s.npy".split()
        with open("log", "w") as log:
            job = subprocess.Popen(runs.line(program, *words, ranks=ranks, mpiexec=asked.launcher), stderr=log, stdout=log)
        runs.until(lambda: "loss" in open("log").read(), "ranks at work")
        time.sleep(dice.uniform(0, 2))
        victim, begin = dice.randrange(ranks), time.time()
        os.kill(runs.ranks_of(program, job.pid)[victim], signal.SIGSTOP)
        status, took = job.wait(timeout=60), time.time() - begin
        lines = runs.said(open("log").read())
        good = status == 4 and took <= limit + 5 and len(lines) == 1 and f"rank {victim} on " in lines[0]
        held, longest = held + good, max(longest, took)
        if not good:
            print(f"{ranks} ranks, {victim} stopped: {status} after {took:.1f} s: {lines}", file=sys.stderr)
    row("F8", "a rank is stopped at a random moment", asked.trials, held, f"--timeout {limit}, longest {longest:.1f} s")


def long_run():
    """What it holds does not grow from the tenth part of its steps to the last."""
    words = (f"match t.npy --limit_to 4 --size 16 16 --max_iter {asked.steps} --tolerance 0 --no_polish --checkpoint-every 100ev "
             "--convergence_data_steps 1000000 --threads 1 --optimizer_type Adam --output long.npy").split()
    with open("log", "w") as log:
        job = subprocess.Popen(runs.line(program, *words, ranks=2, mpiexec=asked.launcher), stderr=log, stdout=log)
    first = last = {}
    while job.poll() is None:
        made = re.findall(r"evaluations (\d+)/", open("log").read())
        try:
            if made and int(made[-1]) >= asked.steps / 10:
                last = runs.held(runs.ranks_of(program, job.pid)) or last
                first = first or last
        except (FileNotFoundError, ProcessLookupError, IndexError):
            pass  # it has just ended
        time.sleep(0.2)
    grown = [last[r][0] - first[r][0] for r in first]
    good = job.returncode == 0 and len(grown) == 2 and max(grown) <= 1 << 18 and all(last[r][1] <= first[r][1] for r in first)
    row("F28", f"{asked.steps} steps, a checkpoint each 100", 1, int(good), f"memory grew by {grown} bytes, files open {[last[r][1] for r in last]}")


def fuzzed_names():
    """A thousand at once, of another seed each time: none arrives otherwise than it was given, none starts a process."""
    hardware = f"{here}/../../examples/hardware/h100x8.json"
    done = subprocess.run([sys.executable, f"{here}/../cli/launch.py", program, hardware, str(asked.names)], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout[-3000:], done.stderr[-1000:], file=sys.stderr)
    row("F26", f"{1000 * asked.names} fuzzed names through scripts and lines of launch", 1, int(done.returncode == 0), done.stdout.strip()[-100:])


folder = tempfile.mkdtemp(prefix="faults-long-")
os.chdir(folder)
runs.run(program, *"synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
print(f"# FAULTS_SEED {seed}\nrows\twhat\ttrials\theld\tremark", flush=True)
if asked.trials:
    not_a_number()
    stopped()
if asked.steps:
    long_run()
if asked.names:
    fuzzed_names()
if asked.calls:
    every_call()
lasts = seconds_of_tests()
for name, faults in sorted(tests_of_the_table().items(), key=lambda test: lasts.get(test[0], 60)):
    if asked.repeat and (not asked.only or name in asked.only):
        again(name, faults)
shutil.rmtree(folder)
sys.exit(failed > 0)
