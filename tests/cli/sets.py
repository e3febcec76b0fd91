"""compare of two sets of samples against brute force in NumPy: statistics of phases and of values, wanted volume fractions, and what is refused;
the same words on any number of ranks. usage: sets.py MESOFORGE MPIEXEC"""
import itertools
import json
import os
import sys
import tempfile

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, np = optional("h5py"), optional("numpy")
if not h5py or not np:
    sys.exit(77)
from samples import blobs, page_of

run, made = runs.tools(program, mpiexec)


def write(name, x, phases=None, overlaps=None, split=None, status=None, label=None, **columns):
    """A set as another program would write it."""
    with h5py.File(name, "w") as file:
        at = file.create_dataset("samples/x", data=x)
        at.attrs["axes"] = ["sample", *(["z"] if phases and x.ndim == 4 else []), "y", "x", *(["channel"] if not phases and x.ndim == 4 else [])]
        if phases:
            at.attrs["phases"] = phases
        if overlaps:
            at.attrs["overlaps"] = 1
        for where, data in (("index/split", split), ("index/status", status)):
            if data is not None:
                file[where] = np.asarray(data, np.uint8)
        if label is not None:
            file["samples/label"] = np.asarray(label, np.int32)
        if columns:
            table = file.create_dataset("samples/properties", data=np.stack(list(columns.values()), 1).astype(np.float32))
            table.attrs["names"] = list(columns)
    return name


# ---- plain loops ----

def shifted(x, by, periodic):
    """x at p, and x at p + by, for all p that have both."""
    if periodic:
        return x, np.roll(x, [-b for b in by], range(x.ndim))
    cut = [(slice(max(0, -b), n - max(0, b)), slice(max(0, b), n + min(0, b))) for b, n in zip(by, x.shape)]
    return x[tuple(a for a, _ in cut)], x[tuple(b for _, b in cut)]


def window(x, lag, periodic):
    """S2 of all slices, normals z, y, x."""
    for normal in ([0, 1, 2] if x.ndim == 3 else [None]):
        axes = [a for a in range(x.ndim) if a != normal]
        for lags in itertools.product(range(-lag + 1, lag), repeat=2):
            by = [0] * x.ndim
            for a, b in zip(axes, lags):
                by[a] = b
            a, b = shifted(x, by, periodic)
            yield (a & b).mean()


def lineal(x, lag, periodic):
    for axis in range(x.ndim):
        for n in range(2, lag + 1):
            wrapped = np.concatenate([x, np.take(x, range(n - 1), axis)], axis) if periodic else x
            yield np.lib.stride_tricks.sliding_window_view(wrapped, n, axis).all(-1).mean()


def interface(x, periodic):
    pairs = [shifted(x, [int(a == axis) for a in range(x.ndim)], periodic) for axis in range(x.ndim)]
    return sum((a != b).mean() for a, b in pairs)


def spans(x, axis):
    reached = np.zeros_like(x)
    first = [slice(None)] * x.ndim
    first[axis] = 0
    reached[tuple(first)] = x[tuple(first)]
    while True:
        grown = reached.copy()
        for a in range(x.ndim):
            for step in (slice(1, None), slice(None, -1)):
                to, off = [slice(None)] * x.ndim, [slice(None)] * x.ndim
                to[a], off[a] = step, slice(None, -1) if step.start else slice(1, None)
                grown[tuple(to)] |= reached[tuple(off)]
        grown &= x
        if (grown == reached).all():
            return reached.take(-1, axis).any()
        reached = grown


def measures(x, lag, periodic):
    """The values of one phase of one sample."""
    found = {"volume_fraction": [x.mean()], "s2": list(window(x, lag, periodic)), "lineal_path": list(lineal(x, lag, periodic)),
             "interface_density": [interface(x, periodic)]}
    for axis, name in enumerate("zyx"[3 - x.ndim:]):
        found[f"percolates_{name}"] = [spans(x, axis)]
    return found


def of_values(x, lag, periodic):
    """The values of one channel of one sample."""
    x = x.astype(float)
    about, variance = x - x.mean(), x.var()
    product = lambda by: np.multiply(*shifted(about, by, periodic)).mean() / variance
    curve = [product([r * (axis == a) for a in range(2)]) for axis in range(2) for r in range(1, lag)]
    return {"mean": [x.mean()], "deviation": [x.std()], "autocorrelation": curve}


def expect(real, made_, of, what):
    """Both sets by brute force beside what the program says: of[name] are its measures."""
    for name in real[0]:
        a, b = (np.array([one[name] for one in each], float) for each in (real, made_))
        difference = (b.mean(0) - a.mean(0))[0] if a.shape[1] == 1 else abs(b.mean(0) - a.mean(0)).mean()
        got = of[name]
        check(abs(got["difference"] - difference) < 1e-6 * max(1, abs(a).max()), f"{what}, {name}: {got['difference']}, want {difference}")
        if "real" in got:
            check(abs(got["real"] - a.mean()) < 1e-6 * max(1, abs(a).max()), f"{what}, {name}: real {got['real']}")
        if name.startswith("percolates"):
            continue
        deviations = [np.sqrt(each.var(0, ddof=1).mean()) for each in (a, b)]
        want = deviations[1] / deviations[0] - 1 if deviations[0] > 1e-9 else None
        check(got["spread"] is want is None or abs(got["spread"] - want) < 2e-3, f"{what}, {name}: spread {got['spread']}, want {deviations}")


def said(*words, **more):
    return json.loads(made("compare", *words, "--json", **more).out)


# ---- statistics ----

def phases_agree():
    for shape, lag, phases, fractions in (((12, 10), 5, 2, (0.6, 0.4)), ((9, 12), 4, 3, (0.3, 0.4, 0.3)), ((6, 8, 7), 3, 2, (0.5, 0.5))):
        mixed = lambda seed, more: (*fractions[:-2], fractions[-2] - more, fractions[-1] + more)
        real = np.stack([blobs(shape, mixed(seed, 0.03 * (seed % 3)), seed, 1.0) for seed in range(9)])
        made_ = np.stack([blobs(shape, mixed(seed, 0.02 * seed), 50 + seed, 1.2) for seed in range(6)])
        write("real.h5", real, phases)
        write("made.h5", made_, phases)
        for periodic in (False, True):
            words = ("real.h5", "made.h5", "--split", "all", "--limit_to", lag, *(["--periodic"] if periodic else []))
            got = said(*words)
            for ranks in ((2, 4) if len(shape) == 3 else (3,)) if periodic else ():
                check(got == said(*words, ranks=ranks), f"{words}: {ranks} ranks differ")
            check(got["real"]["samples"] == 9 and got["made"]["samples"] == 6 and got["lag"] == lag, f"{words}: {got['real']}")
            for one in got["phases"]:
                each = [[measures(x == one["phase"], lag, periodic) for x in a] for a in (real, made_)]
                expect(*each, one["measures"], f"{words}, phase {one['phase']}")
            check([one["phase"] for one in got["phases"]] == ([1] if phases == 2 else list(range(phases))), f"{words}: phases")


def values_agree():
    random = np.random.default_rng(3)
    x = random.normal(120, 25, (2, 12, 10, 9, 2))
    x[1] += 7
    x[:, :, :, 1:] += x[:, :, :, :-1] * 0.5
    for kind in (np.uint8, np.float32):
        real, made_ = np.clip(x, 0, 255).astype(kind)
        write("real.h5", real)
        write("made.h5", made_)
        got = said("real.h5", "made.h5", "--split", "all", "--limit_to", 4)
        for one in got["channels"]:
            c = one["channel"]
            each = [[of_values(s[..., c], 4, False) for s in a] for a in (real, made_)]
            expect(*each, one["measures"], f"values, {kind.__name__}, channel {c}")
            earth = abs(np.sort(real[..., c].astype(float).ravel()) - np.sort(made_[..., c].astype(float).ravel())).mean()
            check(abs(one["measures"]["histogram"]["difference"] - earth) < (1e-6 if kind is np.uint8 else 0.3), f"histogram: {one['measures']['histogram']}, want {earth}")


def halves_agree():
    """Halves of one set differ little, a set from itself not at all; other fractions are seen. Classes are divided alike."""
    x = np.stack([blobs((16, 16), (1 - f, f), seed) for seed, f in enumerate(np.tile([0.2, 0.5], 100))])
    write("x.h5", x, 2, label=np.tile([0, 1], 100), split=np.arange(200) % 2)
    got = said("x.h5", "x.h5", "--split", "all")["phases"][0]["measures"]
    check(all(one["difference"] == 0 for one in got.values()), f"a set from itself: {got}")
    check(abs(got["volume_fraction"]["by_chance"]["difference"]) < 1e-9, f"classes are not divided alike: {got['volume_fraction']}")
    got = said("x.h5", "x.h5")
    check(got["real"] == {"file": "x.h5", "split": "validation", "samples": 100} and got["made"]["samples"] == 200, f"splits: {got}")
    got = said("x.h5", "x.h5", "--split", "train", "--made_split", "validation")["phases"][0]["measures"]["volume_fraction"]
    check(abs(got["difference"] - 0.3) < 0.01, f"train against validation: {got}")


def wanted_agree():
    fractions = np.linspace(0.2, 0.6, 20)
    x = np.stack([blobs((12, 12), (1 - f, f), seed) for seed, f in enumerate(fractions)])
    wanted = fractions.astype(np.float32) + np.random.default_rng(2).normal(0, 0.05, 20).astype(np.float32)
    write("real.h5", x, 2)
    write("made.h5", x, 2, wanted_volume_fraction=wanted)
    got = said("real.h5", "made.h5")["phases"][0]["wanted_volume_fraction"]
    off = x.mean((1, 2)) - wanted
    check(abs(got["r2"] - (1 - (off ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum())) < 1e-6 and abs(got["error"] - abs(off).mean()) < 1e-6, f"wanted: {got}")
    check("wanted volume fraction: R2" in made("compare", "real.h5", "made.h5").out, "R2 in the text")
    write("made.h5", x, 2, wanted_volume_fraction=np.full(20, 0.9, "f4"))  # sums of it are rounded
    check(said("real.h5", "made.h5")["phases"][0]["wanted_volume_fraction"]["r2"] is None, "R2 where all want the same")


# ---- copies ----

def nearest(x, others, off):
    """The least difference over all periodic shifts."""
    shifts = [[np.roll(other, by, range(len(by))) for by in itertools.product(*map(range, x.shape[:2]))] for other in others]
    return min(off(x, moved) for each in shifts for moved in each)


def copies_agree():
    real = np.stack([blobs((9, 8), (0.4, 0.3, 0.3), seed, 1.0) for seed in range(14)])
    made_ = np.stack([blobs((9, 8), (0.4, 0.3, 0.3), 60 + seed, 1.0) for seed in range(6)])
    made_[3] = np.roll(real[5], (4, 3), (0, 1))
    made_[1] = real[2]
    made_[1, 0, 0] = (real[2, 0, 0] + 1) % 3
    split = [0] * 9 + [1] * 4 + [2]
    differ = lambda a, b: (a != b).mean()
    root = lambda a, b: np.sqrt(((a.astype(float) - b) ** 2).mean()) / real[:9].std()
    for phases, off, tolerance in ((3, differ, 1e-9), (None, root, 1e-6)):
        write("real.h5", real, phases, split=split)
        write("made.h5", made_, phases)
        got = said("real.h5", "made.h5")["copies"]
        for ranks in (2, 3) if phases else ():
            check(said("real.h5", "made.h5", ranks=ranks)["copies"] == got, f"copies on {ranks} ranks")
        for which, x in (("made", made_), ("real", real[9:13])):
            want = [nearest(one, real[:9], off) for one in x]
            least, tail, median = np.quantile(want, [0, 0.05, 0.5])
            check(got[which]["samples"] == len(x) and abs(got[which]["least"] - least) < tolerance and abs(got[which]["median"] - median) < tolerance
                  and abs(got[which]["quantile_5"] - tail) < tolerance, f"copies, {which}: {got[which]}, want {least} {tail} {median}")
        first, second = got["closest"][:2]
        check(first["made"] == 3 and first["real"] == 5 and first["shift"] == [4, 3] and first["off"] < tolerance, f"a moved copy: {first}")
        check(second["made"] == 1 and second["real"] == 2 and second["shift"] == [0, 0], f"a copy but for one pixel: {second}")
        check(got["train"] == 9 and got["nearer"] >= 2, f"copies: {got}")
    check("copies" not in said("real.h5", "made.h5", "--copies_of", 0), "--copies_of 0")
    check(said("real.h5", "made.h5", "--copies_of", 3)["copies"]["made"]["samples"] == 3, "--copies_of 3")
    write("none.h5", real, split=[1] * 14)
    check("copies" not in said("none.h5", "made.h5"), "copies of a set without a train split")


# ---- the sheet ----

def sheet_shows():
    """Moved copies stand beside their originals, moved alike: in the panel of the closest the third column is blank."""
    real = np.stack([blobs((16, 16), (0.6, 0.4), seed, 1.5) for seed in range(10)])
    write("real.h5", real, 2, split=[0] * 8 + [1] * 2)
    write("made.h5", np.stack([np.roll(real[k], (3 * k, 5), (0, 1)) for k in range(4)]), 2)
    for ranks in (1, 3):
        picture = said("real.h5", "made.h5", "--output", f"{ranks}.png", ranks=ranks, env=runs.around("MF_COARSE"))["picture"]
        titles = [one["title"] for one in picture["drawn"]]
        check(titles == ["real: 2 of 2 samples of real.h5", "made: 4 of 4 samples of made.h5", "S2", "lineal path",
                         "closest: made, real (moved), difference", "distance from the train split"], f"panels: {titles}")
    check(open("1.png", "rb").read() == open("3.png", "rb").read(), "the sheet on 3 ranks")
    left, top, width, height = map(int, picture["drawn"][4]["box"])
    page = page_of("1.png")[top:top + height, left:left + width].astype(int)
    bright = page[:, :, 0] - page[:, :, 2] > 100
    columns = np.flatnonzero(bright.any(0))
    groups = np.split(columns, np.flatnonzero(np.diff(columns) > 4) + 1)
    check(len(groups) == 2 and bright.any(1).sum() > height / 3, f"closest: bright columns {[(g[0], g[-1]) for g in groups]}")
    write("grey.h5", real * 100, split=[0] * 8 + [1] * 2)
    done = said("grey.h5", "grey.h5", "--output", "grey.png")["picture"]
    check([one["title"] for one in done["drawn"]][2:4] == ["histogram", "autocorrelation"], f"a sheet of images: {done}")
    deep = np.stack([blobs((8, 9, 10), (0.6, 0.4), seed, 1.0) for seed in range(4)])
    write("deep.h5", deep, 2, split=[0, 0, 0, 1])
    check(said("deep.h5", "deep.h5", "--output", "deep.png")["picture"]["panels"] == 6, "a sheet of volumes")


# ---- refusals ----

def refused():
    x = np.stack([blobs((12, 10), (0.5, 0.5), seed) for seed in range(4)])
    write("x.h5", x, 2)
    write("wide.h5", np.concatenate([x, x], 2), 2)
    write("three.h5", x, 3)
    write("grey.h5", x * 200)
    write("none.h5", x, 2, status=[0] * 4)
    write("train.h5", x, 2, split=[0] * 4)
    write("thin.h5", x[:, :, :1], 2)
    np.save("one.npy", x[0])
    bad = x.copy()
    bad[2, 3, 4] = 2
    write("bad.h5", bad, 2)
    for words, status, part in (
            (("x.h5", "one.npy"), 2, "of 'x.h5' and 'one.npy' one is a set of samples"), (("one.npy", "x.h5"), 2, "a single microstructure"),
            (("x.h5", "x.h5", "x.h5"), 2, "two sets of samples are compared at a time"), (("x.h5", "wide.h5"), 3, "'x.h5' has 12 x 10, 'wide.h5' 12 x 20"),
            (("x.h5", "three.h5"), 3, "'x.h5' has 2 phases, 'three.h5' 3 phases"), (("x.h5", "grey.h5"), 3, "'grey.h5' values of 1 channel"),
            (("x.h5", "none.h5"), 3, "'none.h5' has no complete sample"), (("train.h5", "x.h5", "--split", "test"), 3, "no sample in its test split; try: --split all"),
            (("x.h5", "train.h5", "--made_split", "test"), 3, "try: --made_split all"), (("thin.h5", "thin.h5"), 3, "one pixel wide"),
            (("x.h5", "x.h5", "--copies_of", "-1"), 2, "--copies_of must be at least 0"), (("x.h5", "x.h5", "--output", "x.pdf"), 2, ".png"),
            (("x.h5", "x.h5", "--limit_to", "6"), 2, "the largest is 5"), (("x.h5", "bad.h5"), 3, "sample 2 of 'bad.h5': the value 2 is none of the 2 phases")):
        for ranks in (1, 3) if "bad.h5" in words else (1,):
            done = run("compare", *words, ranks=ranks)
            lines = [one for one in runs.said(done.err) if "mesoforge" in one and "warning" not in one]
            check(done.status == status and part in done.err and not done.out, f"{words} on {ranks} ranks: {done}")
            check(len(lines) == 1, f"{words}: {lines}")
    done = made("compare", "x.h5", "x.h5", "--threshold", "otsu")
    check("--threshold has no effect: sets of samples are compared" in done.err, f"an option without effect: {done.err}")
    done = made("compare", "one.npy", "one.npy", "--made_split", "all")
    check("single microstructures" in done.err, f"an option of sets: {done.err}")


phases_agree()
values_agree()
halves_agree()
wanted_agree()
copies_agree()
sheet_shows()
refused()
finish("sets")
