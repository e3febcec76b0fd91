"""What the tests of reconstruct and match share: running the program, and a sample to run it on."""
import json
import os
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)

failures = []


def check(condition, what):
    """Notes a failure and goes on."""
    if not condition:
        failures.append(what)
        print("FAILED:", what, file=sys.stderr, flush=True)
    return condition


def finish(name):
    print(f"{name}: {'ok' if not failures else f'{len(failures)} failures'}")
    sys.exit(1 if failures else 0)


def run(program, *words, ranks=1, mpiexec="mpirun", timeout=120, **more):
    """(exit status, standard output, standard error); a status of None is a hang."""
    start = [mpiexec, "-q", "-n", str(ranks)] if ranks > 1 else []
    command = start + [program, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **more)
    except subprocess.TimeoutExpired as late:
        return None, "", f"no end after {late.timeout} s: {' '.join(command)}"
    return done.returncode, done.stdout, done.stderr


def measure(program, *words, **more):
    """The object that --json prints; None when the program refuses, which is a failure."""
    status, out, err = run(program, *words, "--json", **more)
    if not check(status == 0, f"exit {status}: {' '.join(map(str, words))}: {err[-600:]}"):
        return None
    return json.loads(out)


def blobs(shape, fractions, seed, width=1.5):
    """Labels 0..P-1 with these volume fractions: smoothed noise, cut by rank."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    for axis, n in enumerate(shape):
        k = np.minimum(np.arange(n), n - np.arange(n))
        wave = np.fft.fft(np.exp(-0.5 * (k / width) ** 2)).real
        noise = np.fft.ifft(np.fft.fft(noise, axis=axis) * wave.reshape([-1 if a == axis else 1 for a in range(len(shape))]), axis=axis).real
    rank = np.argsort(np.argsort(noise.reshape(-1))) / noise.size
    return np.searchsorted(np.cumsum(fractions)[:-1], rank, side="right").reshape(shape).astype(np.uint8)


def grey(shape, phases, seed):
    """A field strictly inside the box, or the simplex (phases last) when there are several."""
    random = np.random.default_rng(seed)
    if phases == 1:
        return random.uniform(0.02, 0.98, shape).astype(np.float32)
    x = random.uniform(0.2, 1, (*shape, phases))
    return (x / x.sum(-1, keepdims=True)).astype(np.float32)


def save(folder, name, array):
    path = os.path.join(folder, name)
    np.save(path, array)
    return path
