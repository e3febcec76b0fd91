#!/usr/bin/python3
"""A rank that is stuck or lost ends the job in time, with one line that says which one, where, in what.
usage: watch.py MESOFORGE MPIEXEC ..."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from runs import around, check, finish, kill, ranks_of, said

program, launcher = os.path.abspath(sys.argv[1]), sys.argv[2:]
folder = tempfile.mkdtemp(prefix="watch-")
os.chdir(folder)
host = socket.gethostname()
LIMIT = 3  # --timeout [s]


def start(ranks, words, fault=None, wrap=(), log="log", without=()):
    environment = around(*without, **({"MF_FAULT": fault} if fault else {}))
    line = launcher + ["-n", str(ranks)] + list(wrap) + [program] + words
    with open(log, "w") as file:
        return subprocess.Popen(line, stdout=file, stderr=file, env=environment, start_new_session=True)


def computes(job, ranks):
    """Waits until the run is at its work: all ranks are there and the first evaluation was reported."""
    for _ in range(600):
        if len(ranks_of(program, job.pid)) == ranks and "loss" in open("log").read():
            return True
        if job.poll() is not None:
            return False
        time.sleep(0.05)
    return False


def end_of(job, begin, most):
    """(status, seconds since begin, the program's own lines); what does not end is killed."""
    try:
        status = job.wait(timeout=most + 30)
    except subprocess.TimeoutExpired:
        status = None
    took = time.time() - begin
    if status is None:
        kill(job.pid)
    return status, took, said(open("log").read())


def record_of(line, ranks):
    """What the file that the line names says each rank did last: {rank: [(number, collective, entered, left)]}."""
    path = re.search("; what each rank did last: (mesoforge-flight-.*tsv); try: ", line)
    check(path and [path[1]] == glob.glob("mesoforge-flight-*"), f"a flight record: {line} {os.listdir('.')}")
    found = {rank: [] for rank in range(ranks)}
    head, *rows = [row.split("\t") for row in open(path[1]).read().splitlines() if row[0] != "#"]
    check(head == ["rank", "host", "number", "group", "group_number", "collective", "entered", "left"], f"columns of {path[1]}: {head}")
    for rank, _, number, group, _, *rest in rows:
        check(group == "world", f"a run without groups: {group}")
        found[int(rank)].append((int(number), *rest))
    os.remove(path[1])
    return found


def recorded(name, line, ranks, inside=None):
    """Its last collectives are there of every rank, without gaps, and the waiting one is in the collective that the line names, as is rank @inside."""
    did = record_of(line, ranks)
    waits_in = re.findall(r"(?:come to|out of|is in) ([a-z ]+?)(?: for|,| \d|;)", line)[-1]
    for rank, rows in did.items():
        numbers = [row[0] for row in rows]
        check(len(rows) > 9 and numbers == list(range(numbers[0], numbers[0] + len(rows))), f"{name}: rank {rank}: {rows}")
        times = [float(row[2]) for row in rows]
        check(times == sorted(times, reverse=True), f"{name}: rank {rank}: {times}")
    there = [rank for rank, rows in did.items() if rows[-1][3] == "-" and waits_in in rows[-1][1]]
    check(there if inside is None else inside in there, f"{name}: in {waits_in} are {there}: {did}")


GO_ON = "the same command with --restart auto, which continues from out.ckpt-*.h5 if that exists"
AGAIN = "mesoforge doctor on these hosts, then the same command again"  # before there is anything to go on from


def verdict(name, ended, most, ranks, *parts, inside=None, step=GO_ON):
    status, took, lines = ended
    print(f"{name}: status {status} after {took:.1f} s: {lines}", flush=True)
    check(status == 4, f"{name}: status {status}")
    check(took <= most, f"{name}: {took:.1f} s, want {most}")
    check(len(lines) == 1 and all(re.search(p, lines[0]) for p in parts), f"{name}: {lines}, want {parts}")
    check(lines[0].endswith(f"; try: {step}"), f"{name}: {lines}, want {step}")
    recorded(name, lines[0], ranks, inside)
    check(not any(re.search(r"\.c:\d|collective \d", l) for l in lines), f"{name}: {lines} is for people")


made = subprocess.run([program] + "synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
check(made.returncode == 0, "synth")
long = ("match --microstructure_filename t.npy --limit_to 6 --size 32 32 32 --max_iter 100000 --tolerance 0 "
        f"--timeout {LIMIT} --output out.npy --logging_level 10").split()

# Stopped by a signal.
for ranks, victim in ((2, 1), (3, 0), (4, 2)):
    job = start(ranks, long)
    check(computes(job, ranks), f"stop {ranks}: it never computed: {open('log').read()}")
    begin = time.time()
    os.kill(ranks_of(program, job.pid)[victim], signal.SIGSTOP)
    verdict(f"stop {ranks}", end_of(job, begin, LIMIT), LIMIT + 5, ranks, rf"rank {victim} on {host} has not come (to|out of) ",
            "is stopped", f"--timeout {LIMIT}")

# A rank that never comes to a collective, and one that never comes out of it.
begin = time.time()
job = start(3, long, "comm.late:rank=1:visit=40")
verdict("late", end_of(job, begin, LIMIT), LIMIT + 15, 3, rf"rank 1 on {host} has not come to ", "rank [02] on .* has waited", step=AGAIN)
begin = time.time()
job = start(3, long, "comm.inside:rank=2:visit=40")
verdict("inside", end_of(job, begin, LIMIT), LIMIT + 15, 3, rf"(no rank has|(rank [01] on {host} and )?rank 2 on {host} ha(s|ve) not) come out of [a-z]+", inside=2, step=AGAIN)

# Killed, and the launcher does not notice: its own child lives.
job = start(3, long, None, ["sh", "-c", '"$@"; sleep 60', "sh"])
check(computes(job, 3), f"kill: it never computed: {open('log').read()}")
begin = time.time()
os.kill(ranks_of(program, job.pid)[1], signal.SIGKILL)
verdict("kill", end_of(job, begin, 0), 5, 3, f"rank 1 on {host} is lost: its process is gone")

# A whole job that is suspended goes on, and is no one's fault; a signal ends it as ever.
job = start(2, long)
check(computes(job, 2), f"suspend: it never computed: {open('log').read()}")
processes = ranks_of(program, job.pid).values()
for process in processes:
    os.kill(process, signal.SIGSTOP)
time.sleep(2 * LIMIT)
for process in processes:
    os.kill(process, signal.SIGCONT)
time.sleep(1)
check(job.poll() is None and "broken" not in open("log").read(), "suspend: " + open("log").read()[-300:])
for process in processes:
    os.kill(process, signal.SIGUSR1)
status, took, lines = end_of(job, time.time(), 30)
check(status == 75, f"suspend: status {status} {lines}")

# A second signal ends now what the first one cannot, as the other rank stands still.
job = start(2, [*(w if w != str(LIMIT) else "60" for w in long), "--restart", "no"])
check(computes(job, 2), f"second signal: it never computed: {open('log').read()}")
processes = ranks_of(program, job.pid)
os.kill(processes[1], signal.SIGSTOP)
os.kill(processes[0], signal.SIGTERM)
time.sleep(3)
check(job.poll() is None, f"second signal: the first ended it: {open('log').read()}")
begin = time.time()
os.kill(processes[0], signal.SIGTERM)
status, took, lines = end_of(job, begin, 2)
print(f"second signal: status {status} after {took:.1f} s: {lines}", flush=True)
check(status in (4, 128 + signal.SIGTERM) and took <= 2, f"second signal: status {status} after {took:.1f} s: {lines}")  # 4: rank 1 saw it first
for left in glob.glob("out.*") + glob.glob(".out.*") + glob.glob("mesoforge-flight-*"):
    os.remove(left)

# 0: nobody looks.
job = start(2, [w if w != str(LIMIT) else "0" for w in long])
check(computes(job, 2), f"off: it never computed: {open('log').read()}")
process = ranks_of(program, job.pid)[1]
os.kill(process, signal.SIGSTOP)
time.sleep(2 * LIMIT)
check(job.poll() is None, "off: it ended")
os.kill(process, signal.SIGCONT)
for process in ranks_of(program, job.pid).values():
    os.kill(process, signal.SIGUSR1)
status, took, lines = end_of(job, time.time(), 30)
check(status == 75, f"off: status {status} {lines}")



def saves_itself(name):
    """SIGTERM or its like to mpirun, which gives ranks the second that it gives where nobody asks for another: a short one if others use the cores."""
    for attempt in range(4):
        for left in glob.glob("out.*") + glob.glob(".out.*") + glob.glob("mesoforge-flight-*"):
            os.remove(left)
        job = start(2, long, without=("OMPI_MCA_odls_base_sigkill_timeout",))
        check(computes(job, 2), f"{name}: it never computed: {open('log').read()}")
        os.kill(job.pid, getattr(signal, name))
        status, took, lines = end_of(job, time.time(), 30)
        left = sorted(n for n in os.listdir(".") if n.startswith(("out.", ".out.")))
        print(f"{name}, attempt {attempt}: status {status} after {took:.1f} s: {lines} {left}", flush=True)
        if any("stopped early" in line and "and saved" in line for line in lines):
            break
    check(status not in (0, None) and len(lines) == 1 and "stopped early (" in lines[0], f"{name}: status {status} {lines}")
    check(len(left) == 1 and re.fullmatch(r"out\.ckpt-[ab]\.h5", left[0]), f"{name}: files {left}")


for name in ("SIGTERM", "SIGHUP"):
    saves_itself(name)

shutil.rmtree(folder)
finish("watch")
