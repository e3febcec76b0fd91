"""What files suffer while a run writes them: every call that changes a file fails, is cut short, is interrupted, or is the last one
before the power goes. Nothing may be lost or wrong in silence, and a run that went down goes on to the bits of one that did not.

    faults.py PROGRAM LIBRARY [--all]     LIBRARY: tests/tool/faulty_io.c; --all: at every call, not at some; which ones those are, FAULTS_SEED says
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py

import runs
from runs import check, finish

program, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
every = "--all" in sys.argv
dice = random.Random(os.environ.get("FAULTS_SEED", "0"))
OPTIONS = ["match", "../t.npy", "--limit_to", 4, "--add_dimension", 12, "--deterministic", "--max_iter", 24, "--polish_rounds", 3,
           "--checkpoint-every", "6ev", "--threads", 1, "--restart", "auto", "--output", "out.h5"]
FAILS = {"EIO": "failed for good", "ENOSPC": "is full", "EROFS": "can only be read", "EACCES": "lets nobody write", "once": "failed once"}
LAWFUL = ("short", "EINTR")


def run(folder, ranks=1, **faults):
    """A run in a folder of its own; with faults from the call on that they say."""
    env = runs.around("FAULTY_", "MF_", **({"LD_PRELOAD": library, "FAULTY_DIR": os.path.abspath(folder), **faults} if faults else {}))
    env["TMPDIR"] = tempfile.gettempdir()
    return runs.run(program, *OPTIONS, ranks=ranks, env=env, cwd=folder, timeout=60)


def phases(folder):
    """The field, None where there is no output, no bytes where it cannot be read."""
    try:
        with h5py.File(f"{folder}/out.h5") as file:
            return file["/microstructure/phase"][()].tobytes()
    except FileNotFoundError:
        return None
    except (OSError, KeyError):
        return b""


def checkpoints(folder):
    """Those that have their name: what begins with a dot was never finished."""
    return sorted(n for n in os.listdir(folder) if re.fullmatch(r"out\.ckpt-[ab]\.h5", n))


def left_behind(folder):
    return [n for n in os.listdir(folder) if n.endswith((".lock", ".tmp")) or ".ckpt-" in n]


def fresh(name):
    shutil.rmtree(name, ignore_errors=True)
    os.mkdir(name)
    return name


def some(calls, count):
    """Calls to try: the first, the last, and some between; all of them if asked."""
    if every:
        return range(1, calls + 1)
    return sorted({1, calls} | set(dice.sample(range(2, calls), count)))


def is_silent(folder, done, want):
    """Is something wrong, and nobody is told?"""
    return phases(folder) != want and (done.status == 0 or phases(folder) is not None)


def said_and_kept(folder, done, want, what):
    """A run that did not end well says so in one sentence. If the output stands, it is whole and that is said; checkpoints that stand are
    whole, that is said, and the same command goes on from them, or begins anew, and ends well with nothing left behind."""
    lines = [line for line in runs.said(done.err) if not line.startswith("mesoforge: warning: ")]
    found = checkpoints(folder)
    check(done.status == 7 and len(lines) == 1, f"{what}: {done.status} {done.err[-900:]}")
    check(phases(folder) is None or phases(folder) == want and "is complete" in done.err, f"{what}: the output: {done.err[-300:]}")
    if found:
        whole = runs.run(program, "verify", *found, cwd=folder)
        check(whole.status == 0 and "--restart auto continues" in done.err, f"{what}: {found}: {whole} {done.err[-300:]}")
    done = run(folder)
    check(done.status == 0 and phases(folder) == want and not left_behind(folder), f"{what}, then: {done.status} {os.listdir(folder)} {done.err[-300:]}")
    check(("continuing from a checkpoint" in done.err) == bool(found), f"{what}, then, from {found}: {done.err[-300:]}")


def ends(folder, done, want, what):
    if done.status == 0:
        check(phases(folder) == want, f"{what}: other bits: {done.err[-300:]}")
    else:
        said_and_kept(folder, done, want, what)


def failing(calls, want):
    """No call may fail in silence: what ends well has the right output, what does not says so, and nothing is lost."""
    tried = silent = ended = 0
    for how in FAILS:
        for call in some(calls, 3 if runs.LONG else 1):
            folder = fresh("fails")
            done = run(folder, FAULTY_HOW=how, FAULTY_CALL=call)
            tried += 1
            silent += is_silent(folder, done, want)
            ended += done.status != 0
            ends(folder, done, want, f"the disk {FAILS[how]} at call {call}")
    check(silent == 0, f"{silent} calls failed in silence")
    print(f"calls that failed: {tried}, runs that ended by them: {ended}, in silence: {silent}")


def together(want):
    """Of two ranks that write one file, one or both fail: none waits for the other, and in the end it is as on one."""
    tried = silent = ended = 0
    slowest = 0
    for turn, who in enumerate(("0", "1", "")):
        count = os.path.abspath(f"calls-of-{who}")
        done = run(fresh("both"), ranks=2, FAULTY_RANK=who, FAULTY_COUNT=count)
        check(done.status == 0 and phases("both") == want, f"two ranks undisturbed: {done.status} {done.err[-300:]}")
        calls = min(map(int, open(count).read().split()))
        check(calls > 12, f"{calls} calls of rank '{who}' are seen")
        for how in [*FAILS, *LAWFUL] if every or runs.LONG else [*FAILS, *LAWFUL][turn::3]:
            for call in some(calls, 1):
                folder, begun = fresh("both"), time.monotonic()
                done = run(folder, ranks=2, FAULTY_RANK=who, FAULTY_HOW=how, FAULTY_CALL=call)
                slowest = max(slowest, time.monotonic() - begun)
                tried += 1
                silent += is_silent(folder, done, want)
                ended += done.status != 0
                ends(folder, done, want, f"{how} at call {call} of {f'rank {who}' if who else 'both ranks'}")
    check(silent == 0, f"{silent} calls failed in silence on two ranks")
    check(slowest < 10, f"{slowest:.1f} s until two ranks knew")
    print(f"calls that failed on one of two ranks or on both: {tried}, runs that ended by them: {ended}, in silence: {silent}, the longest: {slowest:.1f} s")


def lawful(calls, want):
    """The program goes on; where HDF5 takes an interrupted call for one that failed (a handler of ours lets the system begin it again, so that it
    takes a file system that does not), the run ends as it does by those."""
    tried = refused = 0
    caller = os.path.abspath("caller")
    for how in LAWFUL:
        for call in some(calls, 4 if runs.LONG else 1):
            folder = fresh("lawful")
            done = run(folder, FAULTY_HOW=how, FAULTY_CALL=call, FAULTY_CALLER=caller)
            what, by = f"{how} at call {call}", os.path.basename(open(caller).read().strip())
            os.remove(caller)
            tried += 1
            if done.status != 0 and how == "EINTR" and by.startswith("libhdf5"):
                refused += 1
                check(not is_silent(folder, done, want), f"{what}: in silence: {done.err[-300:]}")
                said_and_kept(folder, done, want, what)
            else:
                check(done.status == 0 and phases(folder) == want, f"{what} of {by}: {done.status} {done.err[-300:]}")
    print(f"calls cut short or interrupted: {tried}, ended by HDF5's own: {refused}")


def power(calls, want):
    """The power goes; what had reached the disk is there, and the run goes on from it. Where the process alone is gone, what it wrote is there,
    and the half of a file that it leaves is the next run's."""
    gone_on = halves = 0
    for call in some(calls, 4):
        folder, disk = fresh("power"), fresh("disk")
        done = run(folder, FAULTY_HOW="kill", FAULTY_CALL=call, FAULTY_DISK=os.path.abspath(disk))
        check(done.status == -signal.SIGKILL, f"the power goes at call {call}: {done.status}")
        for name in os.listdir(disk):
            if name.startswith(".content-"):
                os.remove(f"{disk}/{name}")
        found = checkpoints(disk)
        done = run(disk)
        gone_on += bool(found)
        check(("continuing from a checkpoint" in done.err) == bool(found), f"after call {call} and {found}: {done.err[-300:]}")
        check(done.status == 0 and phases(disk) == want, f"after call {call} and {found}: {done.status} {done.err[-300:]}")
        halves += any(n.endswith(".tmp") for n in os.listdir(folder))
        done = run(folder)
        check(done.status == 0 and phases(folder) == want, f"where the process died at call {call}: {done.status} {done.err[-300:]}")
        for place in (disk, folder):
            check(not left_behind(place), f"left behind: {os.listdir(place)}")
    check(halves > 0, "no run left half a file")
    check(gone_on > 0, "no run had a checkpoint to go on from")


def killed_rank():
    """Of two ranks the one that makes the files is killed, as a launcher kills what a slow disk keeps from ending: the other removes them."""
    words = ["bench", "io", "--extent", 16, "--seconds", 0.01]
    for call in range(4, 24) if every else (8, 20):
        folder = fresh("killed")
        env = runs.around("FAULTY_", LD_PRELOAD=library, FAULTY_DIR=os.path.abspath(folder), FAULTY_RANK=0, FAULTY_HOW="kill", FAULTY_CALL=call,
                          OMPI_MCA_odls_base_sigkill_timeout=1)
        done = runs.run(program, *words, ranks=2, env=env, cwd=folder, timeout=60)
        left = [n for n in os.listdir(folder) if not n.startswith("mesoforge-flight-") and not n.endswith(".locktest.0")]
        check(done.status != 0 and left == [], f"rank 0 is killed at call {call}: {done.status} {left} {done.err[-300:]}")


def taken_away():
    """The folder of a run goes: it ends by the next file that it writes, on all ranks, and says why."""
    words = ["match", os.path.abspath("t.npy"), "--limit_to", 4, "--add_dimension", 40, "--tolerance", 0, "--max_iter", 100000, "--checkpoint-every", "50ev", "--output", "out.h5"]
    for ranks in runs.some((2, 1)):
        folder = fresh("away")
        with subprocess.Popen(runs.line(program, *words, ranks=ranks), cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as job:
            runs.until(lambda: checkpoints(folder), "a checkpoint")
            shutil.rmtree(folder, ignore_errors=True)
            gone = time.monotonic()
            while os.path.exists(folder):  # a file came as it was removed
                shutil.rmtree(folder, ignore_errors=True)
            err = runs.words_of(job)
        lines = [line for line in runs.said(err) if not line.startswith("mesoforge: warning: ")]
        print(f"the folder is gone, {ranks} ranks: status {job.returncode} after {time.monotonic() - gone:.1f} s: {lines}")
        check(job.returncode == 7 and len(lines) == 1 and "the folder of 'out' was removed" in lines[0] and time.monotonic() - gone < 30, f"the folder is gone: {job.returncode} {err[-600:]}")


def two_runs():
    """Who comes second is told who is there; what a killed run left behind is in nobody's way."""
    folder = fresh("two")
    words = ["match", "../t.npy", "--limit_to", 4, "--add_dimension", 40, "--tolerance", 0, "--no_polish", "--output", "out.npy", "--restart", "no"]
    for end in (signal.SIGUSR1, signal.SIGKILL):
        with subprocess.Popen(runs.line(program, *words, "--max_iter", 100000), cwd=folder, stderr=subprocess.DEVNULL) as job:
            runs.until(lambda: os.path.exists(f"{folder}/.out.lock"), "a lock")
            second = runs.run(program, *words, "--max_iter", 3, cwd=folder)
            check(second.status == 7 and f"process {job.pid} on " in second.err, f"a second run: {second.status} {second.err}")
            job.send_signal(end)
            job.wait(60)
    check(os.path.exists(f"{folder}/.out.lock"), "a killed run leaves its file")
    done = runs.run(program, *words, "--max_iter", 3, cwd=folder)
    check(done.status == 0 and not os.path.exists(f"{folder}/.out.lock"), f"after a killed run: {done.status} {done.err}")


def lost_host():
    """A file system between hosts keeps the lock of one that is lost: others are told which file to remove, the same job started again
    knows by itself, a second run within one start of a job does not."""
    folder = fresh("lost")
    words = ["match", "../t.npy", "--limit_to", 4, "--max_iter", 3, "--no_polish", "--output", "out.npy"]
    for job, restarts, goes_on in ((8, 1, False), (7, 0, False), (7, 1, True), ("", "", False)):
        with runs.locked(f"{folder}/.out.lock", "job 7 (restarts: 0), process 99 on elsewhere"):
            done = runs.run(program, *words, cwd=folder, env=runs.around("SLURM_", SLURM_JOB_ID=job, SLURM_RESTART_COUNT=restarts))
        if goes_on:
            check(done.status == 0 and "before it was started again" in done.err, f"job {job}: {done.status} {done.err}")
            check("job 7 has been started again 1 time\n" in done.err, f"how often: {done.err}")
            check(not os.path.exists(f"{folder}/.out.lock"), "its lock is gone in the end")
        else:
            check(done.status == 7 and "process 99 on elsewhere" in done.err and "remove '.out.lock'" in done.err,
                  f"job {job}: {done.status} {done.err}")
            os.remove(f"{folder}/.out.lock")
            done = runs.run(program, *words, cwd=folder)
            check(done.status == 0, f"after its file is removed: {done.status} {done.err}")


print("FAULTS_SEED:", os.environ.get("FAULTS_SEED", "0"), "- every call" if every else "")
with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    runs.run(program, *"synth --kind gaussian --size 16 16 --volume-fraction 0.4 --correlation-length 2 --output t.npy".split())
    folder = fresh("whole")
    done = run(folder, FAULTY_COUNT=f"{home}/calls")
    want = phases(folder)
    check(done.status == 0 and want, f"undisturbed: {done.status} {done.err[-300:]}")
    calls = sum(map(int, open(f"{home}/calls").read().split()))
    check(calls > 60, f"{calls} calls are seen")
    failing(calls, want)
    lawful(calls, want)
    power(calls, want)
    together(want)
    killed_rank()
    taken_away()
    two_runs()
    lost_host()
finish("faults")
