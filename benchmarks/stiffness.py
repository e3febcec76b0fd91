"""How long `mesoforge properties --young` takes for blobs of 50 %, all six load cases, beside muSpectre.

    stiffness.py MESOFORGE [--edges 31 63] [--muspectre PYTHON]

Processor seconds of one thread, of the command from start to end; of muSpectre the setup and the load cases, without its imports. The scheme that both
have is the rotated one. On even edges they treat waves of two voxels differently, so edges are odd. There
the rotated scheme takes more than 1,000 iterations with voids, so these are left to the staggered one. The error is the largest of the matrix over its
largest entry, against ours at a tolerance of 1e-7. muSpectre stops on a residual: the largest tolerance of 1e-1, 1e-2, .. that is within 1e-3.
"""
import argparse
import json
import os
import tempfile

import numpy as np
from properties import row, seconds_of

POISSON = 0.25
MUSPECTRE = """
import sys, time, json, resource, numpy as np, muSpectre as m
from muFFT import Stencils3D
v = np.load(sys.argv[1]); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; start = time.process_time()
cell = m.Cell(list(v.shape), [float(n) for n in v.shape], m.Formulation.small_strain, gradient=Stencils3D.averaged_upwind, fft="serial")
phase = [m.material.MaterialLinearElastic1_3d.make(cell, str(i), float(young), 0.25) for i, young in enumerate(sys.argv[2:4])]
for i, at in cell.pixels.enumerate(): phase[int(v[tuple(at)])].add_pixel(i)
cell.initialise()
tolerance, pairs, c = float(sys.argv[4]), [(2, 2), (1, 1), (0, 0), (0, 1), (0, 2), (1, 2)], []
solver = m.solvers.KrylovSolverCG(cell, tolerance, 2000)
for i, k in pairs:
    strain = np.zeros((3, 3)); strain[i, k] += 0.5; strain[k, i] += 0.5
    stress = np.asarray(m.solvers.newton_cg(cell, strain, solver, tolerance, tolerance, m.Verbosity.Silent).stress)
    mean = stress.reshape(9, -1, order="F").mean(axis=1).reshape(3, 3, order="F"); c.append([mean[a, b] for a, b in pairs])
print(json.dumps([np.transpose(c).tolist(), time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024]))
"""


def ours(program, path, young, scheme, tolerance):
    out, seconds = seconds_of([program, "properties", path, "--young", *young, "--poisson", POISSON, "--scheme", scheme, "--tolerance", tolerance, "--json"])
    return json.loads(out), seconds


def compare(program, python, edge, young):
    path, exact = f"{edge}.npy", {}
    seconds_of([program, "synth", "--size", edge, edge, edge, "--correlation-length", max(edge / 16, 2), "--volume-fraction", 0.5, "--exact", "--seed", edge, "--output", path])
    name = "voids" if young[0] == 0 else f"1:{young[1] / young[0]:g}"
    for scheme in ("staggered", "rotated") if young[0] else ("staggered",):
        exact[scheme] = np.array(ours(program, path, young, scheme, 1e-7)[0]["stiffness"]["matrix"])
        got, whole = min((ours(program, path, young, scheme, 1e-4) for _ in range(2)), key=lambda one: one[1])
        miss = np.abs(np.array(got["stiffness"]["matrix"]) - exact[scheme]).max() / np.abs(exact[scheme]).max()
        row(edge, name, f"mesoforge, {scheme}", whole, max(got["stiffness"]["iterations"]), float(miss), got["bytes"] / edge ** 3)
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-4) if python else ():
        out = json.loads(seconds_of([python, "-W", "ignore", "-c", MUSPECTRE, path, *young, tolerance])[0].strip().splitlines()[-1])
        miss = np.abs(np.array(out[0]) - exact["rotated"]).max() / np.abs(exact["rotated"]).max()
        row(edge, name, f"muSpectre, rotated, {tolerance:g}", out[1], "", float(miss), out[2] / edge ** 3)
        if miss < 1e-3:
            break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--edges", type=int, nargs="+", default=[31, 63])
    parser.add_argument("--muspectre", metavar="PYTHON")
    args = parser.parse_args()
    row("edge", "contrast", "program", "seconds", "most iterations", "error", "bytes/voxel")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for edge in args.edges:
            for young in ((1, 10), (1, 100), (0, 1)):
                compare(args.program, args.muspectre if young[0] else None, edge, young)
        os.chdir("/")


if __name__ == "__main__":
    main()
