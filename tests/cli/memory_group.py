"""In a real control group with little memory a run plans what fits there, and is refused where nothing does, before the kernel ends it; what fits has the bits
of a run that has all the memory. Needs root and a hierarchy that can be written to.
usage: memory_group.py MESOFORGE MPIEXEC"""
import os
import re
import sys
import tempfile
import time

import runs
from runs import check, finish
from samples import digest

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
MOST, HARDLY = 300_000_000, 90_000_000  # bytes
RUN = "match t.npy --limit_to 16 --history 2 --max_iter 3 --no_polish --tolerance 0 --deterministic --threads 1 --output out.npy".split()


def written(path, text):
    try:
        with open(path, "w") as file:
            file.write(str(text))
        return True
    except OSError:
        return False


class Group:
    """Below the root of the hierarchy that has memory: version 1's, else version 2's."""

    def __init__(self):
        name = f"mesoforge-test-{os.getpid()}"
        for root, limit, self.events in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"), ("/sys/fs/cgroup", "memory.max", "memory.events")):
            self.at, self.lent = f"{root}/{name}", None  # lent: where memory was handed down for this test alone
            try:
                os.mkdir(self.at)
            except OSError:
                continue
            if not os.path.exists(f"{self.at}/{limit}"):
                self.lent = f"{root}/cgroup.subtree_control"
                written(self.lent, "+memory")
            self.limit = f"{self.at}/{limit}"
            if written(self.limit, MOST) and os.path.exists(f"{self.at}/{self.events}"):
                for no_swap in (("memory.memsw.limit_in_bytes", MOST), ("memory.swap.max", 0)):
                    written(f"{self.at}/{no_swap[0]}", no_swap[1])
                return
            self.give_back()
        print("memory_group: no control group of memory can be made here (root alone, where the hierarchy can be written to): skipped")
        sys.exit(77)

    def give_back(self):
        os.rmdir(self.at)
        if self.lent:
            written(self.lent, "-memory")

    def enter(self):
        """In the child, before it becomes the program."""
        written(f"{self.at}/cgroup.procs", os.getpid())

    def killed(self):
        return int(re.search(r"^oom_kill (\d+)", open(f"{self.at}/{self.events}").read(), re.M)[1])

    def remove(self):
        for _ in range(100):  # what has ended may still be counted there
            try:
                self.give_back()
                return
            except OSError:
                time.sleep(0.1)
        check(False, f"{self.at} stays: {open(f'{self.at}/cgroup.procs').read().split()}")


def those_that_run(group, ranks):
    """Of growing volumes the first ones run, the others are refused."""
    fits, ends = [], []
    for extent in (64, 96, 128, 160, 192, 224):
        done = runs.run(program, *RUN, "--size", *[extent] * 3, ranks=ranks, mpiexec=mpiexec, preexec_fn=group.enter)
        ends.append(done.status)
        if done.status == 0:
            fits.append(extent)
            continue
        lines = [line for line in runs.said(done.err) if line.startswith("mesoforge: ")]
        check(done.status == 5 and len(lines) == 1 and re.search(r"needs \d+ bytes for arrays of rank \d, but \d+ are available; try: (more ranks or nodes|fewer ranks|a job or container)", lines[0]),
              f"{extent} on {ranks} ranks: {done.status} {done.err[-400:]}")
    check(fits and ends == sorted(ends) and ends[-1] == 5, f"on {ranks} ranks: {ends}")
    return fits


with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    group = Group()
    try:
        done = runs.run(program, *"synth --size 64 64 --volume-fraction 0.4 --correlation-length 4 --output t.npy".split())
        check(done.status == 0, f"{done.err}")
        for ranks in (1, 2):
            fits = those_that_run(group, ranks)
            print(f"{ranks} ranks in {MOST} bytes: {fits[-1]}^3 runs")
            extent = fits[-2:][0]  # the largest is near the limit, and what is free moves
            line = [*RUN, "--size", *[extent] * 3]
            check(runs.run(program, *line, ranks=ranks, mpiexec=mpiexec, preexec_fn=group.enter).status == 0, "again")
            bits = digest("out.npy")
            check(runs.run(program, *line, ranks=ranks, mpiexec=mpiexec).status == 0 and digest("out.npy") == bits, f"{extent} on {ranks} ranks: other bits than with all memory")
        check(written(group.limit, HARDLY), "a lower limit")
        done = runs.run(program, *RUN, "--size", 64, 64, 64, preexec_fn=group.enter)
        check(done.status == 5 and "0 are available; try: a job or container with more memory, or fewer other programs" in done.err, f"in {HARDLY} bytes: {done.status} {done.err[-400:]}")
        check(group.killed() == 0, f"the kernel ended {group.killed()}")
    finally:
        group.remove()
finish("memory_group")
