"""What the tests of whole programs share: running the program, noting what is not as it should be."""
import collections
import contextlib
import fcntl
import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

failures = []
LONG = os.environ.get("MF_LONG") == "1" # every case of every test; else some of the slow ones (CONTRIBUTING.md)
S2 = ("--descriptor_types", "FFTCorrelations", "Variation")  # for tests of something else than what match chooses
Done = collections.namedtuple("Done", "status out err")


def check(condition, what):
    """Notes a failure and goes on."""
    if not condition:
        failures.append(what)
        print("FAILED:", what, file=sys.stderr, flush=True)
    return condition


def some(cases, every=2):
    """Each @every-th of the cases, the first among them; all in a long run."""
    return list(cases)[::1 if LONG else every]


def finish(name):
    print(f"{name}: {'ok' if not failures else f'{len(failures)} failures'}")
    sys.exit(1 if failures else 0)


def optional(name):
    """A module that a test can do without, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"no {name}: what needs it is left out")
        return None


def line(program, *words, ranks=1, mpiexec="mpirun"):
    """The command; @mpiexec: a word or several."""
    launcher = [mpiexec] if isinstance(mpiexec, str) else list(mpiexec)
    return [*([*launcher, "-q", "-n", str(ranks)] if ranks > 1 else []), program, *map(str, words)]


def around(*without, **more):
    """The environment, less what begins like one of these, and with others."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(without)}
    return {**kept, **{k: str(v) for k, v in more.items()}}


def run(program, *words, ranks=1, mpiexec="mpirun", timeout=120, fault=None, env=None, **more):
    """Exit status, standard output, standard error; a status of None is a hang. @fault: a place that refuses (MF_FAULT). What ends badly without
    a word gets one here, so that no test that shows standard error shows nothing."""
    command = line(program, *words, ranks=ranks, mpiexec=mpiexec)
    env = {**(os.environ if env is None else env), **({"MF_FAULT": fault} if fault else {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, **more)
    except subprocess.TimeoutExpired as late:
        return Done(None, "", f"no end after {late.timeout} s: {' '.join(command)}; until then: {(late.stderr or b'')[-600:]!r}")
    silent = f"exit status {done.returncode} and nothing on standard error: {' '.join(command)}; standard output: {done.stdout[-300:]!r}"
    return Done(done.returncode, done.stdout, done.stderr or (silent if done.returncode else ""))


def tools(program, mpiexec):
    """run of one program, and run that must end well."""
    def one(*words, **more):
        return run(program, *words, mpiexec=mpiexec, **more)

    def good(*words, **more):
        done = one(*words, **more)
        check(done.status == 0, f"{words}: {done}")
        return done

    return one, good


def weights(path):
    """The arrays of a safetensors file: all bytes behind its header."""
    with open(path, "rb") as file:
        data = file.read()
    return data[8 + int.from_bytes(data[:8], "little"):]


def machine(files):
    """A folder with these files, for MF_ROOT."""
    root = tempfile.mkdtemp(dir=".")
    for name, text in files.items():
        os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(root, name), "w") as file:
            file.write(text)
    return os.path.abspath(root)


@contextlib.contextmanager
def locked(path, *lines):
    """A lock as a run holds it, which this process has in the name of another."""
    with open(path, "w") as held:
        held.write("".join(f"{line}\n" for line in lines))
        held.flush()
        fcntl.fcntl(held, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        yield


def refuses(program, cases, *more, ranks=(1, 3), mpiexec="mpirun"):
    """Each of @cases, (exit status, words, part of the sentence), with @more words, on each of these numbers of ranks; in a usual run
    the first on each, the others on one of them, in turn."""
    for i, (status, words, says) in enumerate(cases):
        for n in ranks if LONG or i == 0 else [ranks[i % len(ranks)]]:
            got, _, err = run(program, *words, *more, ranks=n, mpiexec=mpiexec)
            check(got == status and says in err, f"{words} on {n} ranks: {got} {err}")


def measure(program, *words, **more):
    """The object that --json prints; None when the program refuses, which is a failure."""
    status, out, err = run(program, *words, "--json", **more)
    if not check(status == 0, f"exit {status}: {' '.join(map(str, words))}: {err[-600:]}"):
        return None
    return json.loads(out)


def words_of(job, timeout=60):
    """What a program that others have asked to leave says on standard error until its end; one that does not leave is killed."""
    try:
        return job.communicate(timeout=timeout)[1]
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        return "it went on"


def until(holds, what):
    """Waits a minute at most for what should come to hold."""
    end = time.time() + 60
    while not holds() and time.time() < end:
        time.sleep(0.05)
    check(holds(), what)


def below(process):
    """Children of a process, and theirs."""
    found = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            for child in open(f"/proc/{process}/task/{task}/children").read().split():
                found += [int(child)] + below(int(child))
    except FileNotFoundError:
        pass
    return found


def is_alive(process):
    try:
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(process):
    """Without warning, and all below it. They are gone when this returns: on a busy machine a rank that was killed holds its locks for a while."""
    all_of_them = [process] + below(process)
    for one in all_of_them:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass
    until(lambda: not any(map(is_alive, all_of_them)), f"processes {all_of_them} end")


def ranks_of(program, job):
    """{rank: process} of those processes below the launcher that are the program itself."""
    found = {}
    for process in below(job):
        try:
            if os.path.samefile(f"/proc/{process}/exe", program):
                words = open(f"/proc/{process}/environ", "rb").read().decode().split("\0")
                found[int(dict(w.split("=", 1) for w in words if "=" in w)["OMPI_COMM_WORLD_RANK"])] = process
        except (FileNotFoundError, ProcessLookupError, KeyError):
            pass
    return found


def held(processes):
    """Bytes in memory, open files, maps of memory of each, the least of some moments: a checkpoint is a file for a while."""
    least = {}
    for _ in range(8):
        for rank, process in processes.items():
            pages = int(open(f"/proc/{process}/statm").read().split()[1])
            now = (4096 * pages, len(os.listdir(f"/proc/{process}/fd")), len(open(f"/proc/{process}/maps").readlines()))
            least[rank] = tuple(map(min, now, least.get(rank, now)))
        time.sleep(0.05)
    return least


def said(text):
    """The program's own lines."""
    return [line for line in text.splitlines() if line.startswith("mesoforge: ")]
