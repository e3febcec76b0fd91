"""--mask: only pairs of voxels that count are counted, by brute force over the counted ones; the same on any number of
ranks; what has no masked form is refused by name.

    mask.py MESOFORGE MPIEXEC ...       exit status 77: NumPy or h5py is missing
"""
import itertools
import os
import sys
import tempfile

from hdf5 import h5py
from runs import check, finish, measure, refuses, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]


def pairs(a, b, lag, periodic):
    """Values of a at r and of b at r + lag, of all r for which both are there."""
    for axis, n in enumerate(lag):
        if periodic:
            b = np.roll(b, -n, axis)
        else:
            m = a.shape[axis]
            cut = lambda x, lo, hi: np.take(x, range(lo, hi), axis)
            a, b = (cut(a, 0, m - n), cut(b, n, m)) if n >= 0 else (cut(a, -n, m), cut(b, 0, m + n))
    return a, b


def share(a, b, counts, lag, periodic):
    """Mean of a(r) b(r + lag) over the pairs of voxels that count."""
    x, y = pairs(a * counts, b * counts, lag, periodic)
    c, d = pairs(counts, counts, lag, periodic)
    return (x * y).sum() / (c * d).sum()


def lag_of(side, u, v):
    return {"z": (0, u, v), "y": (u, 0, v), "x": (u, v, 0)}[side]


def check_file(name, field, mask, L, periodic):
    """A characterisation against brute force. Arrays are [z][y][x]."""
    counts, phases = 1.0 * ~mask, field.max() + 1
    with h5py.File("t.h5") as file:
        for side in set(file) & {"all", "z", "y", "x"}:
            at = "z" if side == "all" else side
            s2, cross = file[side]["s2"][:], file[side]["cross"][:] if phases > 1 else None
            check(s2.shape == (phases, 1, 2 * L - 1, 2 * L - 1), f"{name} {side}: shape {s2.shape}")
            for u, v in itertools.product(range(1 - L, L), repeat=2):
                lag = lag_of(at, u, v)
                for p in range(phases):
                    want = share(field == p, field == p, counts, lag, periodic)
                    check(abs(s2[p, 0, L - 1 + u, L - 1 + v] - want) < 1e-12, f"{name} {side} phase {p} lag {u, v}: {s2[p, 0, L - 1 + u, L - 1 + v]} for {want}")
                for k, (a, b) in enumerate(itertools.combinations(range(phases), 2)):
                    want = share(field == a, field == b, counts, lag, periodic)
                    check(abs(cross[k, 0, L - 1 + u, L - 1 + v] - want) < 1e-12, f"{name} {side} phases {a, b} lag {u, v}")
            for p in range(phases):
                x = 1.0 * (field == p)
                jumps = sum(share(x, 1 - x, counts, lag_of(at, *e), periodic) + share(1 - x, x, counts, lag_of(at, *e), periodic) for e in ((1, 0), (0, 1)))
                check(abs(file[side]["variation"][p, 0] - jumps) < 1e-12, f"{name} {side}: Variation {file[side]['variation'][p, 0]} for {jumps}")
                check(abs(file[side]["fraction"][p, 0] - x[~mask].mean()) < 1e-12, f"{name} {side}: volume fraction")
        if "s2_3d" in file:
            s = file["s2_3d"][:]
            for lag in itertools.product(range(L), range(1 - L, L), range(1 - L, L)):
                want = share(field == 1, field == 1, counts, lag, periodic)
                check(abs(s[1][lag[0], L - 1 + lag[1], L - 1 + lag[2]] - want) < 1e-12, f"{name}: S2_3D at {lag}")


def characterised(name, field, mask, L, *words, periodic=True, ranks=1):
    flat = field.shape[0] == 1
    save(".", "field.npy", field[0] if flat else field)
    save(".", "mask.npy", (mask[0] if flat else mask).astype(np.uint8) * 255)
    measure(PROGRAM, "characterize", "field.npy", "--mask", "mask.npy", "--limit_to", L, "--output", "t.h5", *words,
            *([] if periodic else ["--non_periodic"]), ranks=ranks, mpiexec=MPIEXEC)
    check_file(name, field, mask, L, periodic)


def hole(shape, seed):
    """A corner, and some voxels here and there."""
    mask = np.random.default_rng(seed).random(shape) < 0.1
    mask[..., :shape[1] // 3, :shape[2] // 2] = True
    return mask


def matched():
    """Half of the image is something else: what is made has the statistics of the other half."""
    good, bad = blobs((32, 32), [0.6, 0.4], 5), blobs((32, 32), [0.1, 0.9], 6, 3)
    mask = np.zeros((32, 32), bool)
    mask[:, 16:] = True
    save(".", "mixed.npy", np.where(mask, bad, good))
    save(".", "right.npy", mask)
    done = measure(PROGRAM, "match", "mixed.npy", "--mask", "right.npy", "--limit_to", 6, "--max_iter", 60, "--output", "like.npy", ranks=2, mpiexec=MPIEXEC)
    for words, fields in (([], 2), (["--no_multiphase"], 1)):
        dry = measure(PROGRAM, "match", "mixed.npy", "--mask", "right.npy", "--limit_to", 6, "--dry-run", *words)
        check(dry and dry["fields"] == fields, f"{words}: {dry and dry['fields']} fields, want {fields}: one phase's S2 does not give the other's")
    measure(PROGRAM, "characterize", "mixed.npy", "--mask", "right.npy", "--limit_to", 6, "--output", "right.h5")
    run(PROGRAM, "merge", "right.h5", "right.h5", "--z_file", "right.h5", "--output", "thrice.h5")
    for file in "right.h5", "thrice.h5":
        said = measure(PROGRAM, "info", file)
        dry = measure(PROGRAM, "reconstruct", "--descriptor_filename", file, "--size", 16, 16, *([16] if file == "thrice.h5" else []), "--dry-run")
        check(said["masked"] and dry["fields"] == 2, f"{file}: masked {said['masked']}, {dry['fields']} fields, want 2")
    check(done and abs(np.load("like.npy").mean() - good[:, :16].mean()) < 1e-3 and done["s2_rms_error"]["1"]["z"] < 0.02, f"match: {done}")


def otsu(values):
    """Which values are above the threshold that parts whole numbers best, by its definition."""
    v = np.asarray(values, float)
    best = max(np.unique(v)[:-1], key=lambda t: (v <= t).mean() * (v > t).mean() * (v[v > t].mean() - v[v <= t].mean()) ** 2)
    return v > best


def never_looked_at():
    """What the mask covers changes nothing: neither Otsu's threshold nor which phases there are, and it may hold NaN."""
    shape = (6, 14, 16)
    mask, phase = hole(shape, 7), blobs(shape, [0.6, 0.4], 8)
    grey = 60 + 80 * phase + np.random.default_rng(1).integers(0, 20, shape)
    cases = [(np.where(mask, 0, grey), kind, ["--threshold", "otsu"], otsu) for kind in ("u1", "f4")]
    cases += [(np.where(mask, 0, phase + 1), kind, ["--labels", "1,2"], lambda v: v == 2) for kind in ("u1", "i4")]
    cases += [(np.where(mask, phase + 7, phase), kind, [], lambda v: v == 1) for kind in ("i1",)]
    cases += [(np.where(mask, np.nan, phase), kind, [], lambda v: v == 1) for kind in ("f2", "f8")]
    for k, (field, kind, words, is_one) in enumerate(cases):
        at = 3 if k % 2 else slice(None)
        save(".", "under.npy", np.asarray(field[at].astype(kind), order="CF"[k % 3 == 0]))
        save(".", "over.npy", mask[at])
        told = measure(PROGRAM, "characterize", "under.npy", "--mask", "over.npy", "--limit_to", 2, "--output", "u.h5", *words, ranks=1 + k % 3, mpiexec=MPIEXEC)
        want = is_one(field[at][~mask[at]]).mean()
        got = {p["label"]: p["volume_fraction"] for p in told["phases"]} if told else {}
        check(sorted(got) == ([1, 2] if "--labels" in words else [0, 1]) and abs(got[max(got)] - want) < 1e-12, f"{kind} {words}: {got}, want {want}")
    with h5py.File("own.h5", "w") as file:
        data = file.create_dataset("microstructure/phase", data=np.where(mask, 1, 2 * phase).astype("u1"))
        data.attrs.update({"labels": [10, 20, 30], "spacing": [1.0, 1, 1], "unit": "", "axes": "z y x"})
    said = run(PROGRAM, "characterize", save(".", "field.npy", phase), "--mask", "own.h5", "--limit_to", 2, "--output", "m.h5")
    check("the mask covers everything" in said.err, f"a mask by the labels 10, 20, 30 of its file: {said.err}")
    save(".", "over.npy", mask)
    for verb, *words in (["characterize"], ["match", "--max_iter", 2]):
        said = run(PROGRAM, verb, "own.h5", "--mask", "over.npy", "--limit_to", 2, "--output", "own_out.h5", *words)
        check(said.status == 0 and "label 30 is phase 1" in said.err and "label 20" not in said.err, f"{verb}: {said.err}")


def refused():
    save(".", "all.npy", np.ones((12, 14), np.uint8))
    save(".", "large.npy", np.zeros((13, 14), np.uint8))
    line = np.ones((12, 14), np.uint8)
    line[:, 3] = 0
    save(".", "line.npy", line)
    save(".", "field.npy", blobs((12, 14), [0.6, 0.4], 1))
    save(".", "ok.npy", hole((1, 12, 14), 1)[0])
    open("cut.npy", "wb").write(open("ok.npy", "rb").read()[:-5])
    base, short = ["field.npy", "--limit_to", 3, "--mask"], ["field.npy", "--mask", "gone.npy", "--limit_to", 1]
    said = run(PROGRAM, "characterize", *base, "ok.npy", "--output", "said.h5").err
    want = np.load("field.npy")[np.load("ok.npy") == 0]
    check(f"label 1 is phase 1, volume fraction {want.mean():.6f}" in said and said.count("volume fraction") == 2, f"fractions {want.mean()}: {said}")
    cases = [(3, ["all.npy"], "covers everything"), (3, ["large.npy"], "1 x 13 x 14"), (2, ["line.npy"], "smaller --limit_to"), (3, ["cut.npy"], "cut.npy"), (3, ["gone.npy"], "gone.npy"),
             (2, ["ok.npy", "--descriptor_types", "Correlations"], "Correlations has no masked form"), (2, ["ok.npy", "--descriptor_types", "S2", "Patches"], "Patches has no masked form")]
    refuses(PROGRAM, [(code, [verb, *base, *words], says) for code, words, says in cases for verb in ("characterize", "match")], ranks=(1,))
    field = np.load("field.npy")
    field[::2] = 0
    save(".", "sparse.npy", field)
    refuses(PROGRAM, [(3, ["match", "sparse.npy", "--limit_to", 3, "--mask", "sparse.npy", *more], "where --mask leaves it, 'sparse.npy' holds only one phase")
                      for more in ([], ["--no_multiphase"])], "--max_iter", 2, "--output", "one.npy", ranks=(1,))
    refuses(PROGRAM, [(2, [verb, *short], "2 or more") for verb in ("characterize", "match")], ranks=(1,))
    refuses(PROGRAM, [(code, ["characterize", *base, *words], says) for code, words, says in cases[:3]], ranks=(3,), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(2, ["characterize", *base, "ok.npy", *words], says) for words, says in (
        (["--measures", "euler"], "--measures"), (["--compat", "mcrpy"], "MCRpy"), (["all.npy"], "one input"), (["--export", "LinealPath=x.npy"], "LinealPath has no masked form"))], ranks=(1,))
    refuses(PROGRAM, [(2, ["match", *base, "ok.npy", "--descriptor_types", "auto"], "auto"), (2, ["match", *base, "ok.npy", "--output", "ok.npy"], "is the input"),
                      (2, ["characterize", *base, "ok.npy", "--export", "S2=ok.npy"], "is the input")], ranks=(1,))
    os.link("ok.npy", "ok.png")
    refuses(PROGRAM, [(2, ["characterize", *base, "ok.npy", "--output", "ok.h5"], "ok.png")], ranks=(1,))
    check(np.load("ok.npy").shape == (12, 14), "a mask was overwritten")


def no_pair_in_space():
    """Every lag in slices has a pair, those along the diagonals of the volume have none, whatever transforms leave."""
    lags = [lag for lag in itertools.product((0, 1), (-1, 0, 1), (-1, 0, 1)) if 0 in lag and lag > (0, 0, 0)]
    mask = np.ones((8, 12, 12), np.uint8)
    for at, lag in zip(itertools.product((4,), (1, 5, 9), (1, 5, 9)), lags):
        mask[at] = mask[tuple(np.add(at, lag))] = 0
    save(".", "sparse.npy", mask)
    save(".", "deep.npy", blobs((8, 12, 12), [0.6, 0.4], 5))
    words = ["characterize", "deep.npy", "--mask", "sparse.npy", "--limit_to", 2, "--output", "s.h5"]
    measure(PROGRAM, *words, mpiexec=MPIEXEC)
    for more in ([], ["--non_periodic"]):
        refuses(PROGRAM, [(2, [*words, "--descriptor_types", "S2", "S2_3D", *more], "(1, -1, -1) apart, a lag of S2_3D")], ranks=(1, 3), mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    image = blobs((1, 12, 14), [0.5, 0.3, 0.2], 1)
    characterised("image", image, hole((1, 12, 14), 1), 4)
    characterised("not periodic", image, hole((1, 12, 14), 2), 3, periodic=False)
    characterised("nothing is masked", image, np.zeros((1, 12, 14), bool), 3)
    deep = blobs((6, 8, 10), [0.6, 0.4], 3)
    characterised("volume", deep, hole((6, 8, 10), 3), 3, "--descriptor_types", "S2", "S2_3D", "FFTCrossCorrelations", ranks=3)
    characterised("volume, not periodic", deep, hole((6, 8, 10), 4), 2, periodic=False, ranks=2)
    matched()
    never_looked_at()
    refused()
    no_pair_in_space()
    os.chdir("/")
finish("mask")
