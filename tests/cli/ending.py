"""A signal ends what has nothing to save, by that signal, and nothing half done stays.

    ending.py PROGRAM MPIEXEC
"""
import os
import signal
import subprocess
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
LONG = ["--extent", "64", "--turns", "99"]


def begin(*words, ranks=1, **more):
    line = [str(w) for w in runs.line(program, *words, ranks=ranks, mpiexec=mpiexec)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, **more)


def matching(job):
    """The processes of a run that bench measures."""
    found = []
    for process in runs.below(job.pid):
        try:
            if open(f"/proc/{process}/cmdline").read().split("\0")[:2] == [program, "match"]:
                found.append(process)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def measuring(scaling, number, group):
    """bench ends its runs, says that it was stopped, and ends by the signal: told by itself or, as a terminal does, with all it has started."""
    name = f"bench of {scaling} ranks, {number.name} to {'all' if group else 'it'}"
    with begin("bench", "reconstruct", *LONG, "--scaling", scaling) as job:
        runs.until(lambda: matching(job), name)
        (os.killpg if group else os.kill)(job.pid, number)
        err = runs.words_of(job)
    check(job.returncode == -number and f"stopped by '{signal.strsignal(number)}'" in err, f"{name}: {job.returncode} {err}")
    check(os.listdir(".") == [], f"{name}: {os.listdir('.')}")


def other():
    """A run that somebody else has ended is not what was to be measured."""
    with begin("bench", "reconstruct", *LONG) as job:
        runs.until(lambda: matching(job), "a run")
        for process in matching(job):
            os.kill(process, signal.SIGTERM)
        err = runs.words_of(job)
    check(job.returncode == 4 and "the run to be measured was stopped before its end (status " in err, f"ended by another: {job.returncode} {err}")
    check(os.listdir(".") == [], f"ended by another: {os.listdir('.')}")


def writing(name, number, ranks, *words):
    """Told as soon as a file of its own is there, and a little later."""
    for visit in range(6):
        with begin(*words, ranks=ranks) as job:
            runs.until(lambda: os.listdir(".") or job.poll() is not None, f"{name}: a file")
            signal.sigtimedwait([], 0.004 * visit)
            os.killpg(job.pid, number)
            runs.words_of(job)
        left = [f for f in os.listdir(".") if f.startswith(".")]
        check(left == [] and (ranks > 1 or job.returncode in (0, -number)), f"{name} on {ranks} ranks, {number.name}: {job.returncode}, {left} stay")
        for file in os.listdir("."):
            os.remove(file)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for number, group in ((signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGHUP, False)):
        for scaling in ("1", "2"):
            measuring(scaling, number, group)
    other()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        writing("bench io", number, 1, "bench", "io", "--extent", 96, "--seconds", 5)
        writing("synth", number, 1, "synth", "--size", 160, 160, 160, "--output", "volume.h5")
    writing("bench io", signal.SIGTERM, 2, "bench", "io", "--extent", 96, "--seconds", 5)
finish("ending")
