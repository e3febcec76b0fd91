"""characterize against PoreSpy, SciPy and scikit-image, by what they said of the fields in a fixture (peers_values.py made it and says what is compared): S2 and
S2_3D, lineal path, chords, Euler number, clusters, tortuosity.

    peers.py MESOFORGE FIXTURE     exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish
from samples import np, save

PROGRAM, FIXTURE = os.path.abspath(sys.argv[1]), sys.argv[2]
ALONG = {"z": ("y", "x"), "y": ("z", "x"), "x": ("z", "y")}  # rows and columns of the slices with this normal


def near(what, got, want):
    """Of what the fixture has."""
    if isinstance(want, dict):
        for key, value in want.items():
            near(f"{what}, {key}", got.get(key), value)
        return
    off = 1e-7 if "s2_3d" in what else 1e-9  # S2_3D is by transforms of floats
    same = got == want if not isinstance(want, (float, list)) else np.shape(got) == np.shape(want) and np.allclose(got, want, off, off)
    check(same, f"{what}: {got} is not {want}")


def lines(what, got, want, lag, flat):
    """Entry 1 + 4 (c - 1) + k of a direction is that of runs of 2 c + 1 pixels, k = 2 along columns' index, 3 along rows' (docs/DESCRIPTORS.md)."""
    for normal in "z" if flat else "zyx":
        for k, axis in zip((3, 2), ALONG[normal]):
            near(f"{what}, slices normal to {normal}, lineal path along {axis}", [got[normal][1 + 4 * c + k] for c in range(lag)], want[axis])


def rings(what, window, want, lag):
    """Means of the window by the length of the lag."""
    u = np.arange(1 - lag, lag)
    away, window = np.hypot(*np.meshgrid(u, u)), np.array(window)
    edges = np.array(want["edges"])
    for low, high, value in zip(edges, edges[1:], want["values"]):
        ring = (away >= low) & (away < high)
        check(abs(window[ring].mean() - value) <= 1e-9, f"{what}, S2 at {low} to {high} pixels: {window[ring].mean()} is not {value}")


def compare(folder, name, field, lag):
    array = np.array(list(map(int, field["labels"])), np.uint8).reshape(field["shape"])
    path, flat = save(folder, name + ".npy", array), array.ndim == 2
    types = ["FFTCorrelations", "LinealPathExact"] + ([] if flat else ["S2_3D"])
    for border in ("periodic", "open"):
        said = runs.measure(PROGRAM, "characterize", path, "--measures", "all", "--limit_to", lag, "--data_folder", folder, "--descriptor_types", *types,
                            *(["--non_periodic"] if border == "open" else []))
        for label, want in field["phases"].items() if said else ():
            what = f"{name}, {border}, phase {label}"
            got = next(p for p in said["phases"] if p["label"] == int(label))
            near(what, got, {k: v for k, v in want[border].items() if k != "lineal_path"})
            lines(what, got["lineal_path"], want[border]["lineal_path"], lag, flat)
            if border == "open":
                near(what, next(m for m in said["measures"] if m["label"] == int(label)), {k: want[k] for k in ("euler", "clusters", "chords", "tortuosity")})
                if flat:
                    rings(what, got["s2"]["z"], want["radial"], lag)


with open(FIXTURE, encoding="ascii") as opened:
    held = json.load(opened)
with tempfile.TemporaryDirectory() as scratch:
    for one, values in held["fields"].items():
        compare(scratch, one, values, held["lag"])
finish("peers")
