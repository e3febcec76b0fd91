"""mpirun over two virtual hosts. A run that loses a host goes on from its checkpoint on the host that is left. It ends in the bits of an
undisturbed run. In a long run it has lost its link before, and a rank that stands still on either host is named in time.
usage: hosts.py MESOFORGE MPIEXEC"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import virtual_hosts

virtual_hosts.enter()

import runs
from runs import check, finish
from samples import digest
from virtual_hosts import do, until

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
LIMIT = 6  # --timeout [s]; below the five that make a host unheard, nobody could say which was lost
RUN = ("match --microstructure_filename t.npy --limit_to 8 --deterministic --max_iter 120 --polish-rounds 4 --add_dimension 32 "
       f"--checkpoint-every 5ev --timeout {LIMIT} --output v.npy --restart auto --logging_level 10").split()
# mpirun's daemons hear of a cut link by themselves, but after the ranks, whose word this is about.
KEEPALIVE = "--mca oob_tcp_keepalive_time 13 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 2".split()
folder = tempfile.mkdtemp(prefix="hosts-run-")
os.chdir(folder)
os.environ["OMP_NUM_THREADS"] = "1"


def start(hosts, *names, words=RUN, mpirun=()):
    """A run, two ranks on each of these hosts; mpirun itself is on the first."""
    agent = hosts.write("agent", f'#!/bin/sh\nread -r holder <"{hosts.folder}/$1.up"\nshift\n'  # as ssh: HOST COMMAND ...
                        f'nsenter -t "$holder" --net --uts --mount --wd="{folder}" -- sh -c "$*"\n'
                        '[ $? -ne 137 ] || sleep 18 # nobody tells it that a host is lost\n')
    os.chmod(agent, 0o755)
    line = [*hosts.inside(names[0]), mpiexec, "-q", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "self,vader,tcp", *KEEPALIVE, *mpirun,
            "--host", ",".join(f"{n}:2" for n in names), "-n", 2 * len(names), program, *words]
    return subprocess.Popen(list(map(str, line)), stdout=open("log", "w"), stderr=subprocess.STDOUT)


def saves(job, since, output="v"):
    until("a checkpoint: " + open("log").read()[-600:], 40,
          lambda: any(os.stat(n).st_mtime > since for n in glob.glob(f"{output}.ckpt-*")) or job.poll() is not None)
    check(job.poll() is None, f"it saves itself: {job.poll()} {open('log').read()[-600:]}")


def lines():
    return runs.said(open("log", errors="replace").read())


def said_within(seconds, since, *parts):
    """The first line is there in time, and one says all these parts."""
    until("a line", 60, lines)
    took = time.time() - since
    print(f"after {took:.1f} s: {lines()}")
    check(took <= seconds, f"a line after {took:.1f} s, want {seconds}")
    check(any(all(re.search(part, line) for part in parts) for line in lines()), f"{lines()} say nothing of {parts}")


def stuck(hosts):
    """A rank on either host stands still, in two runs on one output: the others say who, where and in what, the job ends in time, nobody is left,
    and the second goes on from the first's checkpoint. Without an end of its own: it must not be over before."""
    endless = [{"120": "100000", "v.npy": "s.npy"}.get(w, w) for w in RUN] + ["--tolerance", "0"]
    at_once = ["--mca", "odls_base_sigkill_timeout", 0]  # else mpirun's daemons take two or three seconds from its SIGTERM to its SIGKILL
    for number, (rank, host) in enumerate(((0, "n1"), (3, "n2"))):
        begin = time.time()
        job = start(hosts, "n1", "n2", words=endless, mpirun=at_once)
        saves(job, begin, "s")
        check(("continuing from a checkpoint" in open("log").read()) == (number > 0), f"run {number}: {open('log').read()[-600:]}")
        begin = time.time()
        os.kill(runs.ranks_of(program, os.getpid())[rank], signal.SIGSTOP)
        status, took = job.wait(timeout=60), time.time() - begin
        print(f"rank {rank} stands still: status {status} after {took:.1f} s: {lines()}")
        check(status == 4 and took <= LIMIT + 5, f"rank {rank} stands still: status {status} after {took:.1f} s")
        named = [re.search(rf"rank {rank} on {host} has not come (?:to|out of) [a-z].* is stopped.*--timeout {LIMIT}; .*: (\S+); try: .*--restart auto", line) for line in lines()]
        check(len(named) == 1 and named[0] and os.path.exists(named[0][1]), f"rank {rank} stands still: {lines()} {os.listdir('.')}")
        until("nobody is left", 5, lambda: not any(hosts.processes(n) for n in ("n1", "n2")))
    for name in glob.glob("s.*") + glob.glob(".s.*") + glob.glob("mesoforge-flight-*"):
        os.remove(name)


def strips(hosts):
    """S2 and Variation between hosts, planes beside slabs alone on their way: the first loss of one rank, memory as planned."""
    words = "match --microstructure_filename t.npy --limit_to 4 --descriptor_types S2 Variation --max_iter 12 --no-polish --seed 2 --add_dimension 48 --output b.npy --logging_level 10".split()
    job = start(hosts, "n1", "n2", words=words)
    check(job.wait(timeout=60) == 0 and "sums of strips" in open("log").read(), f"by strips: {open('log').read()[-600:]}")
    said = open("log").read()
    alone = runs.run(program, *words)[2]
    losses = [float(re.search(r"first loss (\S+):", text)[1]) for text in (said, alone)]
    memory = re.search(r"predicted (\S+ \S+), booked (\S+ \S+), measured", said)
    check(abs(losses[0] - losses[1]) <= 1e-4 * losses[1], f"by strips: first losses {losses}")
    check(memory and memory[1] == memory[2], f"by strips: {memory and memory[0]}")


def train(hosts):
    """A network between hosts: the same weights to the bit as on one rank."""
    words = "train classify --data s.h5 --arch cnn --width 8 --depth 2 --max-steps 6 --effective-batch 32 --deterministic --no-plots --logging_level 40".split()
    job = start(hosts, "n1", "n2", words=(*words, "--results-dir", "two"))
    check(job.wait(timeout=60) == 0, f"a training: {open('log').read()[-600:]}")
    do(program, *words, "--results-dir", "one", timeout=60)
    check(runs.weights("two/model.safetensors") == runs.weights("one/model.safetensors"), "a training between hosts: other bits")
    for zero in runs.some(("2", "0")):
        job = start(hosts, "n1", "n2", words=(*[w for w in words if w != "--deterministic"], "--zero", zero, "--results-dir", f"zero{zero}"))
        check(job.wait(timeout=60) == 0, f"--zero {zero}: {open('log').read()[-600:]}")


def cut_link(hosts):
    """Heard of on both sides; within a second that it is healed again nothing happens."""
    job = start(hosts, "n1", "n2")
    saves(job, 0)
    hosts.link("n2", "down")
    time.sleep(1)
    hosts.link("n2", "up")
    saves(job, time.time())
    check(not lines(), f"after a link that was healed: {lines()}")
    begin = time.time()
    hosts.link("n2", "down")
    said_within(LIMIT + 5, begin, "rank [01] on n1|rank [23] on n2", "not heard|nothing was heard|is stopped", "(come out of|has waited in) [a-z]+",
                f"--timeout {LIMIT}")
    status = job.wait(timeout=60)
    check(status != 0, f"a cut link: status {status}")
    until("nobody is left", 60, lambda: not any(hosts.processes(n) for n in ("n1", "n2")))
    print(f"all gone after {time.time() - begin:.1f} s, status {status}")
    for host in ("n1", "n2"):
        check(len(glob.glob(f"mesoforge-flight-{host}-*.tsv")) == 1, f"a flight record of {host}: {os.listdir('.')}")
    hosts.link("n2", "up")
    hosts.reaches("n1", "n2")


def lost_host(hosts):
    begin = time.time()
    job = start(hosts, "n1", "n2")
    saves(job, begin)
    check(("continuing from a checkpoint" in open("log").read()) == runs.LONG, "after a cut link it goes on")
    begin = time.time()
    hosts.lose("n2")
    said_within(LIMIT + 5, begin, "rank [23] on n2", f"--timeout {LIMIT}")
    status = job.wait(timeout=60)  # mpirun's own daemons: by when they hear of it
    print(f"a lost host: status {status} after {time.time() - begin:.1f} s")
    check(status != 0, f"a lost host: status {status}")
    until("nobody is left", 60, lambda: not hosts.processes("n1"))


hosts = virtual_hosts.Hosts()
try:
    do(program, *"synth --kind gaussian --size 32 32 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
    do(program, *[w if w != "v.npy" else "whole.npy" for w in RUN], timeout=120)
    do(program, *"synth --num-samples 96 --size 16 16 --output s.h5".split())
    train(hosts)
    strips(hosts)
    if runs.LONG:
        stuck(hosts)
        cut_link(hosts)
    lost_host(hosts)
    job = start(hosts, "n1")
    check(job.wait(timeout=100) == 0 and "continuing from a checkpoint" in open("log").read(), f"on one host: {open('log').read()[-600:]}")
    check(digest("v.npy") == digest("whole.npy"), "cut, lost and gone on: other bits")
    left = [n for n in os.listdir(".") if (".ckpt-" in n or n.endswith((".lock", ".tmp")))
            and not re.search(r"\.tmp-\d+-\d+\.lock$", n)]  # of Open MPI's own, where a file was being written
    check(not left, f"left behind: {left}")
finally:
    if sys.exc_info()[0]:
        print("what it said last:", open("log", errors="replace").read()[-3000:] if os.path.exists("log") else None)
    os.chdir("/")
    hosts.close()
finish("hosts")
