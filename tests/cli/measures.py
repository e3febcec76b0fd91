"""characterize --measures against brute force in NumPy: interface, Euler number, clusters and chords of images and
volumes, periodic and not, on 1 to 4 ranks; closed forms; refusals.

    measures.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import sys
import tempfile

import counts
import runs
from counts import axes, euler, labels
from runs import check, finish
from samples import blobs, np

h5py = runs.optional("h5py")

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
LAG, SPACING = 3, (0.5, 2.0, 1.0)


def run(*words, ranks=1, lag=2):
    return runs.run(MESOFORGE, "characterize", "--measures", "all", "--limit_to", lag, *words, ranks=ranks, mpiexec=MPIEXEC)


def near(a, b):
    if isinstance(b, dict):
        return set(a) == set(b) and all(near(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    return a == b if not isinstance(b, float) else abs(a - b) <= 1e-12 * max(1, abs(b))


def compare(what, got, field, periodic):
    meets = counts.boundaries(field, periodic, SPACING)
    for phase in got:
        a = field == phase["label"]
        want = {"surface": counts.surface(a, periodic, SPACING),
                "euler": {"faces": euler(a, periodic, False), "corners": euler(a, periodic, True)},
                "clusters": counts.clusters(a, periodic),
                "chords": {name: counts.chords(a, axis, periodic) for axis, name in enumerate(axes(a))},
                "autocovariance": counts.autocovariance(a, LAG, periodic), "variogram": counts.variogram(a, LAG, periodic),
                "surface_correlation": counts.surface_correlation(a, LAG, periodic), "local_fraction": counts.local_fraction(a),
                "boundaries": counts.boundaries_of(phase["label"], meets),
                "cluster_function": counts.cluster_function(a, LAG, periodic), "tortuosity": counts.tortuosity(a)}
        check(set(phase) == {"label", *want}, f"{what}: measures {sorted(phase)}")
        for key, value in want.items():
            check(near(phase[key], value), f"{what}, label {phase['label']}, {key}: {phase[key]} is not {value}")


def brute(folder):
    fields = {"image": blobs((20, 70), (0.4, 0.35, 0.25), 1), "noise": blobs((9, 12, 13), (0.6, 0.4), 2, 0.4),
              "volume": blobs((12, 11, 66), (0.5, 0.3, 0.2), 3), "wide": blobs((6, 8, 64), (0.7, 0.3), 4, 0.8)}
    for name, field in runs.some(fields.items()):
        path = os.path.join(folder, name + ".npy")
        np.save(path, field)
        for periodic in (True, False):
            first = None
            for ranks in runs.some((1, 3, 2, 4)) if name == "volume" else runs.some((1, 3), 1 if periodic else 2):
                words = ["--spacing", *SPACING[3 - field.ndim:]] + ["--non_periodic"] * (not periodic)
                status, out, err = run(path, "--json", "--data_folder", folder, *words, ranks=ranks, lag=LAG)
                check(status == 0, f"{name}: {err}")
                got = json.loads(out)["measures"] if status == 0 else None
                if first is None:
                    first = got
                    compare(f"{name}, {'' if periodic else 'not '}periodic", got or [], field, periodic)
                check(got == first, f"{name}: {ranks} ranks differ from one")


def measured(folder, field, *words):
    path = os.path.join(folder, "form.npy")
    np.save(path, field.astype(np.uint8))
    status, out, err = run(path, "--json", "--data_folder", folder, *words)
    check(status == 0, err)
    return json.loads(out)["measures"][1]


def closed_forms(folder):
    """What is known without counting."""
    at = np.indices((8, 8, 8))
    board = measured(folder, at.sum(0) % 2)
    check(board["clusters"]["number"] == 256 and board["clusters"]["largest"] == 1, "checkerboard: 256 single voxels")
    check(board["surface"]["faces"] == 3 and board["euler"]["faces"] == 256, "checkerboard: every face is interface")
    check(board["chords"]["z"]["counts"] == [256], "checkerboard: chords of one voxel")
    stripes = measured(folder, at[2] % 4 < 2)
    check(stripes["chords"]["x"]["counts"] == [0, 128] and stripes["chords"]["y"]["whole_lines"] == 32, "lamellae: chords")
    check(stripes["clusters"]["spanning"] == {"z": 2, "y": 2, "x": 0}, "lamellae span along themselves")
    check(stripes["euler"] == {"faces": 0, "corners": 0}, "lamellae on a torus: 0")
    r = np.sqrt(((np.indices((31, 31, 31)) - 15) ** 2).sum(0))
    shell = measured(folder, (r < 13) & (r > 6), "--non_periodic")
    check(shell["euler"] == {"faces": 2, "corners": 2} and shell["clusters"]["number"] == 1, "a hollow ball: 2")
    area = shell["surface"]["crofton"] * 31 * 31 * 30 / (4 * np.pi * (13**2 + 6**2))
    check(abs(area - 1) < 0.1, f"a hollow ball: {area} of its area")
    ring = measured(folder, ((r < 13) & (r > 6))[15:16].repeat(5, 0), "--non_periodic")
    check(ring["euler"]["faces"] == 0, "a ring: 0")


def in_file(path):
    with h5py.File(path) as file:
        return file["results"][()]


def files_and_refusals(folder):
    path = os.path.join(folder, "image.npy")
    status, out, _ = run(path, "--data_folder", folder)
    check(h5py is None or "measures" in json.loads(in_file(os.path.join(folder, "image_characterization.h5"))), "/results")
    check(status == 0 and all(w in out for w in ("Euler number", "clusters:", "chords along x", "surface:")), "the text")
    status, _, err = runs.run(MESOFORGE, "characterize", path, "--measures", "eulr", mpiexec=MPIEXEC)
    check(status == 2 and "no measure 'eulr'" in err, f"unknown measure: {status} {err}")
    status, _, err = run(path, path, "--average", "--data_folder", folder)
    check(status == 2 and "--average" in err, f"an average of measures: {status} {err}")
    grey = os.path.join(folder, "grey.npy")
    np.save(grey, np.random.default_rng(1).random((16, 16)).astype(np.float32))
    status, _, err = run(grey, "--grey_values", "--data_folder", folder)
    check(status == 3 and "grey" in err, f"a grey field: {status} {err}")


with tempfile.TemporaryDirectory() as scratch:
    brute(scratch)
    closed_forms(scratch)
    files_and_refusals(scratch)
finish("measures")
