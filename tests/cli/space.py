"""S2_3D: values against sums of shifted products, on 1 to 4 ranks and on the shadow the same bits; files, merges, refusals.

    space.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import sys
import tempfile

from runs import check, finish, run
from samples import blobs, grey, np, save

try:
    import h5py
except ImportError:
    print("no h5py")
    sys.exit(77)

PROGRAM, MPIEXEC = sys.argv[1:3]


def correlation(x, lag, periodic):
    """[dz >= 0][dy][dx] of x [z][y][x]"""
    nz, ny, nx = x.shape
    out = np.empty((lag, 2 * lag - 1, 2 * lag - 1))
    for d in range(lag):
        for u in range(1 - lag, lag):
            for v in range(1 - lag, lag):
                if periodic:
                    value = (x * np.roll(x, (-d, -u, -v), (0, 1, 2))).mean()
                else:
                    here = x[: nz - d, max(0, -u) : ny - max(0, u), max(0, -v) : nx - max(0, v)]
                    there = x[d:, max(0, u) : ny + min(0, u), max(0, v) : nx + min(0, v)]
                    value = (here * there).mean()
                out[d, lag - 1 + u, lag - 1 + v] = value
    return out


def characterized(folder, name, lag, *words, ranks=1):
    out = f"{folder}/out.h5"
    status, _, err = run(PROGRAM, "characterize", name, "--limit_to", lag, "--output", out, "--descriptor_types", "S2_3D", *words, ranks=ranks,
                         mpiexec=MPIEXEC)
    if not check(status == 0, f"characterize {name} {words} on {ranks} ranks: {status} {err}"):
        return None
    with h5py.File(out) as file:
        return file["s2_3d"][:]


def values(folder):
    cases = [("two phases", blobs((12, 10, 8), [0.6, 0.4], 1), 4), ("three phases", blobs((7, 10, 9), [0.5, 0.3, 0.2], 2), 3),
             ("few planes", blobs((4, 9, 13), [0.6, 0.4], 3), 2), ("grey", grey((6, 8, 9), 1, 4), 3)]
    for name, field, lag in cases:
        path = save(folder, "field.npy", field)
        fields = [field.astype(float)] if name == "grey" else [1.0 * (field == p) for p in range(field.max() + 1)]
        for periodic in (True, False):
            words = ([] if periodic else ["--non_periodic"]) + (["--grey_values"] if name == "grey" else [])
            want = np.stack([correlation(x, lag, periodic) for x in fields])
            bits = None
            for ranks, device in ((1, "cpu"), (2, "cpu"), (4, "cpu"), (3, "shadow")) if lag == 4 else ((1, "cpu"), (3, "cpu")):
                got = characterized(folder, path, lag, *words, "--device", device, ranks=ranks)
                if got is None:
                    continue
                off = np.abs(got - want).max() if got.shape == want.shape else np.inf
                check(off < 1e-7, f"{name}, periodic {periodic}, {ranks} ranks, {device}: off by {off:.2g} of shape {got.shape}")
                bits = bits or got.tobytes()
                check(got.tobytes() == bits, f"{name}, periodic {periodic}: other bits on {ranks} ranks, {device}")


def files(folder):
    a, b = (save(folder, f"{n}.npy", blobs((8, 10, 9), [0.6, 0.4], i)) for i, n in enumerate("ab"))
    one, other = (characterized(folder, name, 3) for name in (a, b))
    mean = f"{folder}/mean.h5"
    status, _, err = run(PROGRAM, "characterize", a, b, "--average", "--limit_to", 3, "--output", mean, "--descriptor_types", "S2_3D", "Variation")
    check(status == 0, f"average: {err}")
    with h5py.File(mean) as file:
        check(np.abs(file["s2_3d"][:] - (one + other) / 2).max() < 1e-15, "the mean of two files")
    told = json.loads(run(PROGRAM, "info", "--json", mean)[1])
    check(told["s2_3d"] is True, f"info: {told}")


def refusals(folder):
    image, volume = save(folder, "i.npy", blobs((16, 16), [0.6, 0.4], 1)), save(folder, "v.npy", blobs((8, 10, 9), [0.6, 0.4], 1))
    for status, words, says in [
        (2, ("characterize", image, "--limit_to", 3, "--descriptor_types", "S2_3D"), "S2_3D is of volumes"),
        (2, ("characterize", volume, "--limit_to", 3, "--descriptor_types", "S2_3D", "--slice_mode", "sample"), "S2_3D is of whole volumes"),
    ]:
        for ranks in (1, 3):
            got, _, err = run(PROGRAM, *words, "--data_folder", folder, ranks=ranks, mpiexec=MPIEXEC)
            check(got == status and says in err, f"{words} on {ranks} ranks: {got} {err}")


with tempfile.TemporaryDirectory() as place:
    values(place)
    files(place)
    refusals(place)
finish("space")
