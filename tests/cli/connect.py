"""What spans of a volume: measured, aimed at with S2_3D by joining clusters after the cut, and kept by the polish, on any number of ranks.

    connect.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import sys
import tempfile

import runs
from counts import clusters
from hdf5 import h5py
from runs import check, finish, measure, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]


def shares(x, phases):
    """[phase][z, y, x], a border that joins nothing"""
    return np.array([[clusters(x == p, False)["spanning_fraction"][a] if (x == p).any() else 0 for a in "zyx"] for p in range(phases)])


def measured(folder):
    """/spans of characterize against clusters by brute force; of phase 1 alone; the mean of two; a volume without S2_3D has none."""
    for seed, fractions in ((1, [0.8, 0.2]), (2, [0.5, 0.3, 0.2])):
        x = blobs((9, 11, 10), fractions, seed)
        name, want, out = save(folder, f"v{seed}.npy", x), shares(x, len(fractions)), f"{folder}/v{seed}.h5"
        for ranks in (1, 3):
            status, _, err = run(PROGRAM, "characterize", name, "--limit_to", 3, "--descriptor_types", "S2_3D", "--output", out, ranks=ranks, mpiexec=MPIEXEC)
            if check(status == 0, err):
                with h5py.File(out) as file:
                    check(np.abs(file["spans"][:] - want).max() < 1e-12, f"{ranks} ranks: spans {file['spans'][:]}, want {want}")
        told = measure(PROGRAM, "info", out)
        check(told and np.abs(np.array(told["spans"]) - want).max() < 1e-12, f"info: {told}")
        text = run(PROGRAM, "info", out)[1]
        check(text.count("spans the volume") == len(fractions), f"info: {text}")
    run(PROGRAM, "characterize", name, "--limit_to", 3, "--output", f"{folder}/plain.h5")
    with h5py.File(f"{folder}/plain.h5") as file:
        check("spans" not in file, "spans of what was not asked for")
    check("spans" not in run(PROGRAM, "info", f"{folder}/plain.h5")[1], "info: spans of what was not asked for")
    with h5py.File(out, "a") as file:
        del file["spans"]
    status, _, err = run(PROGRAM, "reconstruct", "--descriptor_filename", out, "--size", 8, 8, 8, "--descriptor_types", "S2_3D", "--max_iter", 2, "--output", f"{folder}/r.npy")
    check(status == 0 and err.count("does not say what spans") == 1, f"a target without spans: {status} {err}")


def apart():
    """Grains of 5^3 voxels that nothing joins: a result has to be parted."""
    return np.tile(np.pad(np.ones((5, 5, 5), np.uint8), (0, 3)), (3, 3, 3))


def made(folder):
    """Volumes at a fraction near the threshold of percolation: with the same bits on 1 to 3 ranks and on the shadow as much spans as in
    the target, to what the polish changes at surfaces; left alone it does not. Clusters are joined, or parted (grains)."""
    for seed, fractions, words in runs.some(((3, [0.78, 0.22], ()), (4, [0.78, 0.22], ("--non_periodic",)), (5, [0.5, 0.28, 0.22], ()), (6, None, ())), 3):
        target = blobs((20, 18, 22), fractions, seed, 2) if fractions else apart()
        fractions = fractions or [0, 0]
        name, want, bits = save(folder, "t.npy", target), shares(target, len(fractions)), None
        line = ("match", name, "--limit_to", 4, "--descriptor_types", "S2_3D", "Variation", "--max_iter", 80, "--deterministic", "--seed", seed, *words)
        for ranks, more in ((1, ()), *runs.some(((3, ()), (2, ("--device", "shadow")))), (1, ("--no_polish",)), (1, ("--no_connect",))):
            json = measure(PROGRAM, *line, "--output", f"{folder}/r.npy", *more, ranks=ranks, mpiexec=MPIEXEC)
            if json is None:
                return
            x = np.load(f"{folder}/r.npy")
            got, what = shares(x, len(fractions)), f"{seed}: {ranks} ranks, {more}"
            for p in range(0 if len(fractions) > 2 or words else 1, len(fractions)):
                told = json["spanning_fraction"][str(p)]
                check(np.abs(np.array(told["is"]) - got[p]).max() < 1e-12 and np.abs(np.array(told["target"]) - want[p]).max() < 1e-12, f"{what}: {told}")
            check(np.array_equal(np.bincount(x.ravel()), np.bincount(target.ravel())), f"{what}: volume fractions")
            off = np.abs(got - want).max()
            if more == ("--no_connect",):
                check(off > 0.1, f"{what}: as much spans: off by {off}")
                continue
            check(off < (0.02 if more == ("--no_polish",) else 0.08), f"{what}: spans\n{got}\nwant\n{want}")
            if more == ("--no_polish",):
                continue
            bits = bits or x.tobytes()
            check(bits == x.tobytes(), f"{what}: other bits")


def among_fixed(folder):
    """Rods that span along x, and nearly as many voxels of theirs fixed as crosses that stand apart: few are left to join them by. What is
    fixed stays, the volume fractions hold, with the same bits on 3 ranks; that it is not enough is said."""
    at, bits = np.indices((24, 24, 23)), None
    target = (at[:2] % 6 < 2).all(0) | (np.abs(at[:2] - 3.5) < 1).all(0)
    fixed = np.where(np.abs(at % 4 - 1).sum(0) < 2, 1, -1).astype(np.int8)
    line = ("match", save(folder, "t.npy", target.astype(np.uint8)), "--limit_to", 4, "--descriptor_types", "S2_3D", "Variation", "--max_iter", 15,
            "--polish_rounds", 1, "--fixed", save(folder, "f.npy", fixed), "--seed", 1, "--deterministic", "--output", f"{folder}/r.npy")
    for ranks in (1, 3):
        status, _, err = run(PROGRAM, *line, ranks=ranks, mpiexec=MPIEXEC)
        if not check(status == 0, err):
            return
        x = np.load(f"{folder}/r.npy")
        check(err.count("the limit of prescribed voxels is reached") == 1, f"{ranks} ranks: what spans is not said to be off: {err}")
        check((x == 1).sum() == target.sum(), f"{ranks} ranks: {(x == 1).sum()} voxels of phase 1, want {target.sum()}")
        check((x[fixed == 1] == 1).all(), f"{ranks} ranks: fixed voxels have changed")
        bits = bits or x.tobytes()
        check(bits == x.tobytes(), f"fixed, {ranks} ranks: other bits")


with tempfile.TemporaryDirectory() as place:
    measured(place)
    among_fixed(place)
    made(place)
finish("connect")
