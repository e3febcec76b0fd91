"""A signal ends what has nothing to save, by that signal, and nothing half done stays.

    ending.py PROGRAM MPIEXEC
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import runs
from runs import check, finish

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]
LONG = ["--extent", "64", "--turns", "99"]
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# mpirun lets its ranks heed a signal, which the other tests do not wait for.
PATIENT = {**os.environ, "OMPI_MCA_odls_base_sigkill_timeout": "1"}


def heed():
    """What started this test may ignore signals, and the program leaves such as they are."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def begin(*words, ranks=1):
    line = [str(w) for w in runs.line(program, *words, ranks=ranks, mpiexec=mpiexec)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, env=PATIENT, preexec_fn=heed)


def at_once(holds):
    """Looks without a pause."""
    end = time.time() + 30
    while not holds() and time.time() < end:
        pass


def there():
    """Files of the program's: MPI-IO leaves one of its own where it is ended."""
    return [file for file in os.listdir(".") if not file.endswith(".locktest.0")]


def nothing(name, but=()):
    """Nothing stays; what does, does not disturb the next."""
    left = sorted(set(there()) - set(but))
    check(left == [], f"{name}: {left}")
    for file in left:
        shutil.rmtree(file) if os.path.isdir(file) else os.remove(file)


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
    nothing(name)


def other():
    """A run that somebody else has ended is not what was to be measured."""
    with begin("bench", "reconstruct", *LONG) as job:
        runs.until(lambda: matching(job), "a run")
        for process in matching(job):
            os.kill(process, signal.SIGTERM)
        err = runs.words_of(job)
    check(job.returncode == 4 and "the measured run was stopped before its end (status " in err, f"ended by another: {job.returncode} {err}")
    nothing("ended by another")


def unread():
    """A run goes on when nobody reads its lines any more, and is saved as ever. (Of several ranks mpirun reads them, and may itself break down.)"""
    words = "match volume.npy --limit_to 8 --no_polish --tolerance 0 --max_iter".split()
    with begin(*words, 30, "--output", "done.npy") as job:
        job.stderr.readline()
        job.stderr.close()
        check(job.wait(60) == 0 and os.path.exists("done.npy"), f"unread: {job.returncode}")
    with begin(*words, 100000000, "--output", "saved.npy") as job:
        runs.until(lambda: os.path.exists(".saved.lock"), "a run")
        job.stderr.readline()
        job.stderr.close()
        time.sleep(1)
        os.kill(job.pid, signal.SIGUSR1)
        check(job.wait(60) == 75, f"unread and asked to leave: {job.returncode}")


def reporting(number):
    """report, in whichever of its children it is told."""
    ended = 0
    for visit in runs.some(range(8)):
        with begin("report", "volume.npy", "volume.npy", "volume.npy", "--output", "page.html") as job:
            at_once(lambda: runs.below(job.pid) or job.poll() is not None)
            signal.sigtimedwait([], 0.02 * visit)
            job.send_signal(number)
            err = runs.words_of(job)
        if job.returncode == 0:
            os.remove("page.html")
        ended += job.returncode == -number
        check(job.returncode in (0, -number) and "cannot be reported" not in err, f"report, {number.name}: {job.returncode} {err}")
        nothing(f"report, {number.name}", but=["volume.npy"])
    check(ended > 0, f"report was never ended by {number.name}")


def writing(name, number, ranks, *words):
    """Told as soon as a file of its own is there, and a little later."""
    ended = 0
    for k, visit in enumerate([*runs.some(range(6)), *[0] * 20]):  # on a busy core the program may end first, so some more
        if ended and k >= len(runs.some(range(6))):
            break
        with begin(*words, ranks=ranks) as job:
            at_once(lambda: there() or job.poll() is not None)
            signal.sigtimedwait([], 0.002 * visit)
            if job.poll() is None:
                os.killpg(job.pid, number)
            runs.words_of(job)
        check(job.returncode in (0, -number, 1)[:2 if ranks == 1 else 3], f"{name} on {ranks} ranks, {number.name}: {job.returncode}")
        ended += job.returncode != 0
        whole = [file for file in os.listdir(".") if not file.startswith(".")]
        for file in whole:
            os.remove(file)
        nothing(f"{name} on {ranks} ranks, {number.name}")
    check(ended > 0, f"{name} was never ended by {number.name}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for number, group in ((signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGHUP, False)):
        for scaling in runs.some(("2", "1")):
            measuring(scaling, number, group)
    other()
    for number in SIGNALS:
        writing("bench io", number, 1, "bench", "io", "--extent", 96, "--seconds", 5)
        writing("synth", number, 1, "synth", "--size", 160, 160, 160, "--output", "volume.h5")
    writing("bench io", signal.SIGTERM, 2, "bench", "io", "--extent", 96, "--seconds", 5)
    runs.run(program, "synth", "--size", 64, 64, 64, "--volume-fraction", 0.4, "--output", "volume.npy")
    for number in SIGNALS:
        reporting(number)
    unread()
finish("ending")
