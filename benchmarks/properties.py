"""How long `mesoforge properties` takes for blobs of 40 %, one conducting phase, along z, beside other programs.

    properties.py MESOFORGE [--edges 64 128] [--taufactor PYTHON] [--porespy PYTHON] [--many 1000]

Processor seconds of one thread. `whole`: of the command from start to end. `solver`: less those of the same command on a volume of 8 voxels an edge.
Of the others the solver alone, whose program is loaded; TauFactor is asked every 100 sweeps, and stopped when tau changes by less than 1e-3.
The error is that of tau against our own at a tolerance of 1e-7, of PoreSpy against ours with --boundary centres.
`--many N`: a dataset of N volumes of 32 voxels an edge until 1e-4, per volume; TauFactor solves 48 of them at a time.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

TAUFACTOR = """
import sys, time, json, resource, numpy as np, torch
torch.set_num_threads(1)
from taufactor.taufactor import Solver
image = np.load(sys.argv[1]); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; start = time.process_time()
solver = Solver(image, device="cpu"); seen = []
def check(*any):
    type(solver).check_convergence(solver, *any); seen.append(float(solver.tau[0]))
    return len(seen) > 1 and abs(seen[-1] - seen[-2]) < 1e-3 * seen[-1]
solver.check_convergence = check
solver.solve(verbose=False, iter_limit=20000)
print(json.dumps([float(solver.tau[0]), time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]))
"""
PORESPY = """
import sys, time, json, resource, numpy as np, porespy as ps
ps.settings.tqdm["disable"] = True
image = np.load(sys.argv[1]) > 0; before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; start = time.process_time()
found = ps.simulations.tortuosity_fd(image, axis=0)
print(json.dumps([float(found.tortuosity), time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]))
"""


def seconds_of(words, **more):
    """Standard output and processor seconds of a command with one thread."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr[-500:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def blobs(program, edge):
    seconds_of([program, "synth", "--size", edge, edge, edge, "--correlation-length", max(edge / 16, 2), "--volume-fraction", 0.4, "--exact",
                "--seed", edge, "--output", f"{edge}.npy"])
    return f"{edge}.npy"


def ours(program, path, tolerance, boundary="plates"):
    out, seconds = seconds_of([program, "properties", path, "--conducting", 1, "--axes", "z", "--tolerance", tolerance, "--boundary", boundary, "--json"])
    return json.loads(out), seconds


def row(*cells):
    print("\t".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells), flush=True)


def compare(program, edge, start, peers):
    path, voxels = blobs(program, edge), edge ** 3
    exact, fixed = ours(program, path, 1e-7)[0], ours(program, path, 1e-7, "centres")[0]
    tau = exact["tortuosity_factor"]["z"]
    for tolerance in (1e-3, 1e-6):
        got, whole = min((ours(program, path, tolerance) for _ in range(3)), key=lambda one: one[1])
        row(edge, f"mesoforge, {tolerance:g}", max(whole - start, 0.0), whole, got["iterations"]["z"], abs(got["tortuosity_factor"]["z"] / tau - 1), got["bytes"] / voxels)
    for name, python, script, want in peers:
        if python:
            out, whole = seconds_of([python, "-W", "ignore", "-c", script, path])
            got, seconds, held = json.loads(out.strip().splitlines()[-1])
            row(edge, name, seconds, whole, "", abs(got / (tau if want == "plates" else fixed["tortuosity_factor_carrying"]["z"]) - 1), held / voxels)


TAUFACTOR_MANY = """
import sys, time, json, h5py, numpy as np, torch
torch.set_num_threads(1)
from taufactor.taufactor import Solver
images = h5py.File(sys.argv[1])["samples/x"][:48].reshape(48, 32, 32, 32); start = time.process_time()
solver = Solver(images, device="cpu"); solver.solve(verbose=False)
print(json.dumps([np.asarray(solver.tau).ravel().tolist(), (time.process_time() - start) / 48]))
"""


def many(program, count, peer):
    """Seconds per volume of a dataset; without those of a set that has its columns."""
    words = [program, "properties", "set.h5", "--conducting", 1, "--axes", "z"]
    seconds_of([program, "synth", "--num-samples", count, "--size", 32, 32, 32, "--kinds", "gaussian", "--fraction-range", 0.4, 0.4, "--length-range", 2, 2.5, "--output", "set.h5"])
    first, again = seconds_of(words)[1], seconds_of(words)[1]
    row("32, many", "mesoforge, 0.0001", (first - again) / count, first / count, "", "", "")
    if peer:
        row("32, many", "TauFactor, 48 at a time", json.loads(seconds_of([peer, "-W", "ignore", "-c", TAUFACTOR_MANY, "set.h5"])[0].strip().splitlines()[-1])[1], "", "", "", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--edges", type=int, nargs="*", default=[64, 128])
    parser.add_argument("--many", type=int, default=0, metavar="N")
    parser.add_argument("--taufactor", metavar="PYTHON")
    parser.add_argument("--porespy", metavar="PYTHON")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        row("edge", "program", "solver [s]", "whole [s]", "iterations", "error of tau", "bytes/voxel")
        small = blobs(program, 8)
        start = min(ours(program, small, 1e-3)[1] for _ in range(3))
        for length in args.edges:
            compare(program, length, start, [("TauFactor", args.taufactor, TAUFACTOR, "plates"), ("PoreSpy", args.porespy, PORESPY, "centres")])
        if args.many:
            many(program, args.many, args.taufactor)
        os.chdir("/")


if __name__ == "__main__":
    main()
