"""properties: sphere arrays and images whose conductivity is known, the same JSON on any number of ranks and threads, means over files, no way
through, a grey image, and what the text says.

    properties.py MESOFORGE MPIEXEC     exit status 77: NumPy is missing
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import runs
from runs import check, finish
from samples import blobs, np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
HARDWARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/hardware")
# Simple cubic arrays of spheres in a matrix of 1, by multipoles to order 23: radius, conductivity; what 32 voxels miss [%], by a program in double.
SPHERES = {(0.3, 0): (0.83938, -0.87), (0.3, 10): (1.27822, -0.34), (0.3, 100): (1.37028, -0.02),
           (0.4, 0): (0.64349, -2.20), (0.4, 10): (1.76452, -0.11), (0.4, 100): (2.07836, 0.84)}


def properties(*words, ranks=1, **more):
    done = runs.run(PROGRAM, "properties", *words, "--json", ranks=ranks, mpiexec=MPIEXEC, **more)
    check(done.status == 0, f"properties {words}: {done}")
    return json.loads(done.out) if done.out else {}


def spheres():
    """The conductivity, its bounds, and the error of the grid, which is no less than the true one."""
    covered = 0
    places = (np.arange(32) + 0.5) / 32 - 0.5
    z, y, x = np.meshgrid(places, places, places, indexing="ij")
    for (radius, k), (exact, percent) in SPHERES.items():
        np.save("ball.npy", (x * x + y * y + z * z < radius ** 2).astype(np.uint8))
        got = properties("ball.npy", "--conductivity", 1, k, "--boundary", "periodic", "--axes", "x", "--tolerance", 1e-6, "--error-bars")
        miss = 100 * (got["conductivity"]["x"] / exact - 1)
        check(abs(miss - percent) < 0.02, f"spheres of radius {radius}, conductivity {k}: {miss} % from {exact}")
        low, high = got["bounds"]["hashin_shtrikman"]
        check(low * (1 - 1e-6) <= got["conductivity"]["x"] <= high * (1 + 1e-6) and got["iterations"]["x"] <= 10, f"bounds of spheres: {got}")
        covered += abs(got["conductivity"]["x"] - exact) <= got["conductivity"]["error"]["grid"]["x"]
    check(covered == 6, f"the error of the grid covers {covered} of 6")


def reciprocal():
    """Images: k_x of conductivities a, b times k_y of b, a is a b."""
    np.save("image.npy", blobs((192, 192), (0.5, 0.5), 3, 5))
    one, other = (properties("image.npy", "--conductivity", *k, "--boundary", "periodic", "--tolerance", 1e-6) for k in ((1, 10), (10, 1)))
    product = one["conductivity"]["x"] * other["conductivity"]["y"]
    check(abs(product / 10 - 1) < 0.04 and "z" not in one["conductivity"], f"reciprocal: {product}, not 10")
    said = runs.run(PROGRAM, "properties", "image.npy", "--conductivity", 1, 10, "--boundary", "periodic", "--tolerance", 1e-6).out
    row = [float(x) for x in said.split("tensor (y, x):")[1].split("\n")[0].replace(";", "").split()]
    check(np.allclose(row, np.ravel(one["conductivity"]["tensor"]), rtol=1e-5, atol=1e-5), f"the tensor as text: {said}")
    tensor = np.array(one["conductivity"]["tensor"])
    check(tensor.shape == (2, 2) and abs(tensor[0, 1] - tensor[1, 0]) < 1e-4, f"tensor: {tensor}")


def same_anywhere():
    for words in (("--conductivity", 0, 1), ("--conductivity", 1, 30, "--boundary", "periodic", "--axes", "z"), ("--conducting", 1, "--boundary", "centres", "--axes", "zy")):
        all_of = [properties("volume.npy", *words, ranks=ranks, env={**os.environ, "OMP_NUM_THREADS": threads})
                  for ranks, threads in ((1, "1"), (3, "1"), (2, "2"))]
        for one in all_of:
            one.pop("seconds"), one.pop("bytes")
        check(all_of[0] == all_of[1] == all_of[2] and all_of[0]["conductivity"]["z"] > 0, f"{words}: ranks or threads change {all_of}")


def parts():
    """The error of the sample: the same parts as files of their own."""
    volume = blobs((16, 18, 20), (0.4, 0.6), 9, 1.5)
    np.save("whole.npy", volume)
    got = properties("whole.npy", "--conductivity", 0.3, 1, "--axes", "y", "--error-bars")["conductivity"]["error"]
    names = []
    for z, y, x in np.ndindex(2, 2, 2):
        names.append(f"part{z}{y}{x}.npy")
        np.save(names[-1], volume[8 * z:8 * z + 8, 9 * y:9 * y + 9, 10 * x:10 * x + 10])
    want = properties(*names, "--conductivity", 0.3, 1, "--axes", "y")
    large, small = got["parts"]["y"]
    check(large["count"] == 8 and np.allclose([large["mean"], large["deviation"]], [want["mean"]["y"], want["deviation"]["y"]], rtol=1e-9), f"parts: {got}")
    rate = min(1.5, max(0, np.log2(small["deviation"] / large["deviation"])))
    check(np.isclose(got["sample"]["y"], large["deviation"] / 2 ** rate), f"the whole: {got}")
    edge = properties("whole.npy", "--conductivity", 0.3, 1, "--axes", "y", "--edge-for", "2%", ranks=3)
    check(np.isclose(edge["edge"]["y"] * 2 ** (1 / rate), got["edge_for_1_percent"]["y"]) and edge["parts"] == got["parts"], f"--edge-for: {edge}, {got}")
    np.save("even.npy", np.ones((16, 16, 16), np.uint8))
    even = properties("even.npy", "--conductivity", 1, 2, "--axes", "x", "--error-bars")["conductivity"]["error"]
    check(even["sample"]["x"] == 0 and even["edge_for_1_percent"]["x"] == 4, f"parts that do not deviate: {even}")


def several():
    for seed in (1, 2, 3):
        np.save(f"v{seed}.npy", blobs((20, 20, 20), (0.4, 0.6), seed, 2))
    got = properties("v1.npy", "v2.npy", "v3.npy", "--conductivity", 0.2, 2, "--axes", "z")
    k = [one["conductivity"]["z"] for one in got["files"]]
    check(np.allclose([got["mean"]["z"], got["deviation"]["z"], got["interval"]["z"]],
                      [np.mean(k), np.std(k, ddof=1), 4.303 * np.std(k, ddof=1) / 3 ** 0.5], rtol=1e-12), f"means: {got['mean']} {got['interval']} of {k}")
    done = runs.run(PROGRAM, "properties", "v1.npy", "v1.npy", "none.npy", "--conductivity", 1, 1, "--axes", "z", "--unit", "um", "--output", "some.json")
    some = json.load(open("some.json"))
    check(done.status == 3 and [one["file"] for one in some["refused"]] == ["none.npy"] and "cannot open" in some["refused"][0]["error"], f"a file that is missing: {done}, {some}")
    check(some["files"][0]["unit"] == "um" and done.err.count("'v1.npy' is given more than once") == 1, f"a file given twice: {done}")
    np.save("flat.npy", blobs((20, 20), (0.4, 0.6), 1, 2))
    mixed = properties("v1.npy", "flat.npy", "--conductivity", 0.2, 2)
    done = runs.run(PROGRAM, "properties", "v1.npy", "flat.npy", "--conductivity", 1, 1)
    check(mixed["mean"] == {} and "of 2 files:" not in done.out and "there is no mean: some files are images" in done.err, f"a volume and an image: {done}, {mixed['mean']}")
    low, high = got["bounds"]["wiener"]
    f = np.mean([file["phases"][1]["fraction"] for file in got["files"]])
    check(np.isclose(high, 0.2 * (1 - f) + 2 * f) and np.isclose(1 / low, (1 - f) / 0.2 + f / 2) and "bounds" not in mixed, f"bounds of the mean: {got['bounds']}")
    one = got["files"][0]
    check(str(one["shape"]) == "[20, 20, 20]" and isinstance(one["iterations"]["z"], int), f"sizes and counts are integers: {one}")
    f = [phase["fraction"] for phase in one["phases"]]
    check(np.isclose(one["tortuosity_factor"]["z"], (0.2 * f[0] + 2 * f[1]) / k[0]) and np.isclose(one["formation_factor"]["z"], 2 / k[0]), f"factors: {one}")
    check(one["tortuosity_factor_carrying"]["z"] is None, "phases that conduct differently have no fraction that carries")


def spacing():
    """Layers normal to y, with voxels that are no cubes: exact."""
    np.save("layers.npy", np.repeat(np.repeat((np.arange(12) // 3 % 2).astype(np.uint8)[None, :, None], 8, 0), 10, 2))
    k = properties("layers.npy", "--conductivity", 1, 4, "--spacing", 1, 2.5, 0.7, "--tolerance", 1e-6)["conductivity"]
    check(np.allclose([k["z"], k["y"], k["x"]], [2.5, 1.6, 2.5], rtol=1e-6), f"layers: {k}")


def no_way():
    wall = np.ones((6, 7, 8), np.uint8)
    wall[:, 3] = 0
    np.save("wall.npy", wall)
    np.save("solid.npy", np.ones((6, 7, 8), np.uint8))
    got = properties("wall.npy", "--conductivity", 0, 5)
    check(got["conductivity"]["y"] == 0 and got["tortuosity_factor"]["y"] is None and got["carrying_fraction"]["y"] == 0, f"a wall: {got}")
    check(abs(got["conductivity"]["x"] - 5 * 6 / 7) < 1e-5 and abs(got["tortuosity_factor"]["x"] - 1) < 1e-6, f"along a wall: {got}")
    done = runs.run(PROGRAM, "properties", "wall.npy", "--conductivity", 0, 5)
    check(done.status == 0 and "no way through: conductivity 0, tortuosity factor infinite" in done.out and "no way through along y" in done.err, f"said: {done}")
    more = properties("wall.npy", "--conductivity", 0, 5, 9)
    solid = properties("solid.npy", "--conductivity", 9, 5, "--boundary", "periodic")
    check([p["fraction"] for p in solid["phases"]] == [0, 1] and abs(solid["conductivity"]["x"] - 5) < 1e-6 and solid["formation_factor"]["x"] == 1, f"all of label 1: {solid}")
    check(abs(properties("solid.npy", "--conducting", 1)["tortuosity_factor_carrying"]["z"] - 1) < 1e-6, "--conducting of all")
    check(all(more[key] == got[key] for key in ("formation_factor", "tortuosity_factor_carrying")), f"a conductivity that no voxel has: {more}")
    done = runs.run(PROGRAM, "properties", "wall.npy", "--conductivity", 0, 5, 9, "--axes", "x")
    check("has 2 labels, but --conductivity has 3 values: those behind have no effect" in done.err, f"one value more: {done}")
    np.save("walls.npy", np.arange(4096, dtype=np.uint8).reshape(16, 16, 16) % 2)
    done = runs.run(PROGRAM, "properties", "walls.npy", "--conductivity", 0, 5, "--axes", "x", "--error-bars")
    check("sample unknown; no edge is known" in done.out, f"parts that do not conduct: {done}")
    done = runs.run(PROGRAM, "properties", "wall.npy", "--conducting", 1, 7, "--error-bars")
    check("unknown; no edge is known" in done.out and "nan" not in done.out, f"too small to be cut: {done}")
    done = runs.run(PROGRAM, "properties", "wall.npy", "--conducting", 1, 7, "--edge-for", 1, "--error-bars", "--scheme", "rotated")
    check("--error-bars has no effect: --edge-for" in done.err and "--scheme has no effect" in done.err, f"options beside each other: {done}")
    check("has no label 7" in done.err and "y: no edge is known" in done.out and "nan" not in done.out, f"no label 7: {done}")


def grey():
    np.save("grey.npy", np.arange(400, dtype=np.uint8).reshape(20, 20) % 251)
    done = runs.run(PROGRAM, "properties", "grey.npy", "--conductivity", 0, 1)
    check(done.status == 3 and "--threshold" in done.err, f"a grey image: {done}")
    properties("grey.npy", "--conductivity", 0, 1, "--threshold", 60, "--output", "out.json")
    check(json.load(open("out.json"))["file"] == "grey.npy", "--output")
    before = open("out.json").read(), sorted(os.listdir())
    done = runs.run(PROGRAM, "properties", "grey.npy", "--conductivity", 0, 1, "--threshold", 99, "--output", "out.json", "--scheme", "rotated", fault="io.rename")
    check(done.status == 7 and (open("out.json").read(), sorted(os.listdir())) == before, f"a full disk: {done}")
    check("--scheme has no effect: it is for stiffness" in done.err, f"a scheme of conduction: {done}")


def seam():
    """A scan does not continue behind its faces; a period does."""
    np.save("scan.npy", blobs((20, 40, 40), (0.5, 0.5), 2, 3)[:, :25])
    for ranks in (1, 3):
        done = runs.run(PROGRAM, "properties", "scan.npy", "--conductivity", 0.5, 1, "--boundary", "periodic", ranks=ranks, mpiexec=MPIEXEC)
        warned = [line for line in done.err.splitlines() if "do not match" in line]
        check(done.status == 0 and len(warned) == 1 and "along y" in warned[0], f"a scan as a period: {done}")


def columns():
    """A dataset's conductivities are those of its samples, one by one, on any number of ranks."""
    h5py, first = runs.optional("h5py"), None
    if not h5py:
        return
    for ranks in (1, 3):
        words = ("synth", "--num-samples", 10, "--size", 12, 14, 16, "--conductivity", 0.02, 3, "--output", f"set{ranks}.h5")
        done = runs.run(PROGRAM, *words, ranks=ranks, mpiexec=MPIEXEC)
        check(done.status == 0, f"{words}: {done}")
        with h5py.File(f"set{ranks}.h5") as f:
            names = [name.decode() if isinstance(name, bytes) else name for name in f["/samples/properties"].attrs["names"]]
            values, x = f["/samples/properties"][:], f["/samples/x"][:]
        first = values if first is None else first
        check((values == first).all(), f"columns of {ranks} ranks")
    for i in (0, 7):
        np.save("sample.npy", x[i].reshape(12, 14, 16).astype(np.uint8))
        k = properties("sample.npy", "--conductivity", 0.02, 3)["conductivity"]
        got = [values[i, names.index(f"conductivity_{axis}")] for axis in "zyx"]
        check(got == [np.float32(k[axis]) for axis in "zyx"], f"sample {i}: {got}, {k}")
    known()


def known():
    """Columns of synth say what they follow from, as those of properties do."""
    h5py, words, before = runs.optional("h5py"), ("properties", "set3.h5", "--conductivity", 0.02, 3), open("set3.h5", "rb").read()
    done = runs.run(PROGRAM, *words, ranks=2, mpiexec=MPIEXEC)
    check(done.status == 0 and "10 of 10 samples have their numbers already" in done.err, f"the same settings: {done}")
    done = runs.run(PROGRAM, *words, "--tolerance", 1e-5)
    check(done.status == 2 and "has conductivity_z already (conductivity 0.02 3, plates, sides closed, tolerance 0.0001)" in done.err, f"another tolerance: {done}")
    check(open("set3.h5", "rb").read() == before, "the set of synth has changed")
    got = properties(*words[1:], "--tolerance", 1e-5, "--output", "finer.h5")
    with h5py.File("set3.h5") as f, h5py.File("finer.h5") as g:
        ours, theirs = f["/samples/properties"], g["/samples/properties"]
        check(set(ours.attrs["settings"][:-3]) == {""} and set(theirs.attrs["settings"][-3:]) == {got["settings"]}, f"settings: {ours.attrs['settings']}")
        check(ours.shape == theirs.shape and np.allclose(ours[:], theirs[:], rtol=1e-3), "another set has other columns")


def added():
    """Columns that are added to a dataset have the bits of those that synth writes, also after a full disk, and keep everything else."""
    h5py = runs.optional("h5py")
    if not h5py:
        return
    done = runs.run(PROGRAM, "synth", "--num-samples", 10, "--size", 12, 14, 16, "--output", "plain.h5")
    check(done.status == 0, f"synth: {done}")
    before = open("plain.h5", "rb").read()
    words = ("properties", "plain.h5", "--conductivity", 0.02, 3)
    done = runs.run(PROGRAM, *words, fault="io.write:visit=6")
    check(done.status == 7 and "complete samples stay in 'plain.h5.columns'" in done.err and open("plain.h5", "rb").read() == before, f"a full disk: {done}")
    done = runs.run(PROGRAM, *words[:-1], 4)
    check(done.status == 2 and "'plain.h5.columns' is left from a run with other options" in done.err, f"other conductivities: {done}")
    got = properties(*words[1:], ranks=3)
    with h5py.File("plain.h5") as f, h5py.File("set1.h5") as g:
        ours, theirs = f["/samples/properties"], g["/samples/properties"]
        theirs_shape = theirs.shape
        check((ours[:] == theirs[:]).all() and list(ours.attrs["names"]) == list(theirs.attrs["names"]), "added columns are not those of synth")
        check(np.isclose(got["columns"]["conductivity_z"]["mean"], ours[:, -3].mean(), rtol=1e-6) and ours.attrs["settings"][-1] == got["settings"], f"said: {got}")
    check(not os.path.exists("plain.h5.columns") and runs.run(PROGRAM, "data", "verify", "plain.h5").status == 0, "the set is sealed, and no rows are left")
    again = runs.run(PROGRAM, *words)
    check(again.status == 0 and "10 of 10 samples have their numbers already" in again.err, f"once more: {again}")
    done = runs.run(PROGRAM, *words[:-1], 4, "--axes", "x")
    check(done.status == 2 and "has conductivity_x already (conductivity 0.02 3, plates" in done.err, f"other conductivities: {done}")
    other = properties(*words[1:-1], 6, "--axes", "x", "--boundary", "periodic", "--output", "other.h5")
    with h5py.File("other.h5") as f:
        table = f["/samples/properties"]
        check(table.shape == theirs_shape and "periodic" in table.attrs["settings"][-1] and "plates" in table.attrs["settings"][-2], f"another set: {other}")


def lost():
    """A rank that is killed takes no number along: others go on to the same bits."""
    h5py = runs.optional("h5py")
    if not h5py:
        return
    done = runs.run(PROGRAM, "synth", "--num-samples", 100, "--size", 34, 34, 34, "--output", "whole.h5")
    check(done.status == 0 and shutil.copy("whole.h5", "lost.h5"), f"synth: {done}")
    words, before = ("--conductivity", 0, 1, "--axes", "z"), open("lost.h5", "rb").read()
    properties("whole.h5", *words)
    with subprocess.Popen([str(w) for w in runs.line(PROGRAM, "properties", "lost.h5", *words, ranks=2, mpiexec=MPIEXEC)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        runs.until(lambda: os.path.exists("lost.h5.columns") and 1 in runs.ranks_of(PROGRAM, job.pid), "a run")
        os.kill(runs.ranks_of(PROGRAM, job.pid)[1], signal.SIGKILL)
    check(job.returncode != 0 and open("lost.h5", "rb").read() == before, f"a rank is lost: {job.returncode}")
    properties("lost.h5", *words, ranks=3)
    with h5py.File("whole.h5") as f, h5py.File("lost.h5") as g:
        check((f["/samples/properties"][:] == g["/samples/properties"][:]).all(), "another set after a lost rank")


def images():
    """A set of images with a structure without a way through, and something of a stranger."""
    h5py = runs.optional("h5py")
    if not h5py:
        return
    x = np.stack([blobs((16, 18), (0.5, 0.5), seed, 2) for seed in range(4)])
    x[2, :, 5] = 0
    with h5py.File("strange.h5", "w") as f:
        f.create_dataset("samples/x", data=x.astype(np.uint8), chunks=(1, 16, 18), compression="gzip").attrs["phases"] = 2
        f["notes"] = np.arange(3)
    got = properties("strange.h5", "--conducting", 1, "--tolerance", 1e-6, ranks=2)
    with h5py.File("strange.h5") as f:
        k, names = f["/samples/properties"][:], list(f["/samples/properties"].attrs["names"])
        check(names == ["conductivity_y", "conductivity_x"] and k[2, 1] == 0 and (f["notes"][:] == np.arange(3)).all() and (f["samples/x"][:] == x).all(), f"images: {k} {names}")
    check(got["columns"]["conductivity_x"]["no_way_through"] == np.sum(k[:, 1] == 0), f"no way through: {got}")
    np.save("one.npy", x[1])
    one = properties("one.npy", "--conducting", 1, "--tolerance", 1e-6)["conductivity"]
    check([np.float32(one["y"]), np.float32(one["x"])] == list(k[1]), f"one image: {one}, {k[1]}")
    with h5py.File("grey.h5", "w") as f:
        f["samples/x"] = x.astype(np.float32)
    for words, status, said in ((("grey.h5", "--conducting", 1), 3, "images of grey values"), (("strange.h5", "--conductivity", 1, 1, 1), 3, "has 2 phases, but --conductivity has 3"),
                                (("strange.h5", "--conducting", 1, "--axes", "z"), 3, "no axis z"), (("strange.h5", "--conducting", 2), 3, "names 2")):
        done = runs.run(PROGRAM, "properties", *words)
        check(done.status == status and said in done.err, f"{words}: {done}")


def fields():
    """The mean of the flux is the conductivity, in every plane. The potential rises from plate to plate, and is none where nothing flows."""
    h5py = runs.optional("h5py")
    if not h5py:
        return
    for words in (("--conductivity", 0, 2), ("--conductivity", 0.1, 2, "--spacing", 1, 1.2, 0.7, "--boundary", "periodic"), ("--conducting", 1, "--boundary", "centres")):
        first = None
        for ranks in (1, 3):
            k = properties("volume.npy", *words, "--axes", "zx", "--fields", "f.vtkhdf", "--tolerance", 1e-6, ranks=ranks)["conductivity"]
            with h5py.File("f.vtkhdf") as f:
                got = {name: array[:] for name, array in f["/VTKHDF/PointData"].items()}
            first = first or got
            check(all(np.array_equal(got[name], first[name], equal_nan=got[name].dtype.kind == "f") for name in first), f"{words}: fields of {ranks} ranks")
        for axis, name in ((0, "z"), (2, "x")):
            inner = slice(1, -1) if "centres" in words else slice(None)
            flux, potential = (np.moveaxis(field, axis, 0)[inner] for field in (got[f"flux_{name}"][..., 2 - axis].astype(float), got[f"potential_{name}"]))
            check(np.isclose(flux.mean(), k[name], rtol=1e-5) and np.allclose(flux.mean(axis=(1, 2)), k[name], rtol=2e-3), f"{words}: flux along {name}: {flux.mean()}, {k[name]}")
            still = np.moveaxis(np.abs(got[f"flux_{name}"]).sum(-1) == 0, axis, 0)[inner]
            check((np.diff(np.nanmean(potential, axis=(1, 2))) > 0).all() and still[np.isnan(potential)].all(), f"{words}: potential along {name}")
    np.save("flat.npy", blobs((20, 24), (0.5, 0.5), 1, 2))
    k = properties("flat.npy", "--conductivity", 0.1, 1, "--fields", "flat.vtkhdf", "--tolerance", 1e-6)["conductivity"]
    with h5py.File("flat.vtkhdf") as f:
        flux = f["/VTKHDF/PointData/flux_y"][:]
        check(flux.shape == (2, 20, 24, 3) and (flux[0] == flux[1]).all() and np.isclose(flux[..., 1].mean(), k["y"], rtol=1e-5), "fields of an image")
    before = sorted(os.listdir())
    done = runs.run(PROGRAM, "properties", "flat.npy", "--conductivity", 0.1, 1, "--fields", "none.vtkhdf", fault="io.write:visit=3")
    check(done.status == 7 and sorted(os.listdir()) == before, f"a full disk: {done}")


def planned():
    """Memory is as planned: of a volume and of an image, on ranks that share planes, with counts and with conductances."""
    np.save("deep.npy", blobs((44, 36, 34), (0.4, 0.4, 0.2), 5, 2.5))
    np.save("image.npy", blobs((40, 44), (0.5, 0.5), 5, 2.5))
    for file, size, words in (("volume.npy", (44, 36, 34), ("--conductivity", 0, 1)), ("volume.npy", (44, 36, 34), ("--conducting", 1, "--spacing", 1, 1, 2, "--axes", "zx")),
                              ("deep.npy", (44, 36, 34), ("--conductivity", 0, 1, 4, "--boundary", "periodic")), ("deep.npy", (44, 36, 34), ("--conductivity", 0, 1, 4, "--boundary", "centres")),
                              ("image.npy", (40, 44), ("--conductivity", 1, 3))):
        for ranks in (1, 3):
            plan = json.loads(runs.run(PROGRAM, "plan", "properties", file, *words, "--ranks", ranks, "--json").out)
            other = json.loads(runs.run(PROGRAM, "plan", "properties", "--size", *size, *words, "--ranks", ranks, "--json").out)
            used = properties(file, *words, ranks=ranks)["bytes"]
            check(plan["bytes"]["per_rank"][0] == used and len(plan["bytes"]["per_rank"]) == ranks, f"{file} {words} on {ranks}: {plan['bytes']}, used {used}")
            check(all(other["bytes"][key] == plan["bytes"][key] for key in ("per_rank", "arrays")) and plan["seconds_per_iteration"]["total"] > 0, f"{size} {words} on {ranks}: {other['bytes']}, {plan['bytes']}")
    large = json.loads(runs.run(PROGRAM, "plan", "properties", "--size", 1024, 1024, 1024, "--conductivity", 0, 1, "--hardware", os.path.join(HARDWARE, "h100x8.json"), "--json").out)
    check(21 * 2 ** 30 < sum(large["bytes"]["per_rank"]) < 28 * 2 ** 30, f"1024^3: {large['bytes']}")


def stiffness():
    """Layers normal to y are exact, with both ways to name phases, as text and in a mean; the same on any number of ranks, in the memory that is planned."""
    layers = np.repeat(np.repeat((np.arange(12) // 3 % 4 == 0).astype(np.uint8)[None, :, None], 8, 0), 10, 2)
    np.save("layers.npy", layers)
    e, nu, f = np.array([1.0, 20.0]), np.array([0.3, 0.2]), np.array([0.75, 0.25])
    g = e / 2 / (1 + nu)
    c12 = 2 * g * nu / (1 - 2 * nu)
    c11 = c12 + 2 * g
    across, shear, ratio = 1 / (f / c11).sum(), 1 / (f / g).sum(), (f * c12 / c11).sum()
    want = np.diag([(f * (c11 - c12 ** 2 / c11)).sum() + ratio ** 2 * across, across, 0, shear, (f * g).sum(), shear])
    want[2, 2], want[0, 1], want[1, 2] = want[0, 0], ratio * across, ratio * across
    want[0, 2] = want[0, 0] - 2 * (f * g).sum()
    want = np.maximum(want, want.T)
    words = ("--young", *e, "--poisson", *nu, "--spacing", 1, 2, 0.5, "--tolerance", 1e-6)
    for scheme in ("staggered", "rotated"):
        got = properties("layers.npy", *words, "--scheme", scheme)["stiffness"]
        check(np.allclose(got["matrix"], want, rtol=1e-6, atol=1e-6) and got["order"] == ["xx", "yy", "zz", "yz", "xz", "xy"], f"layers: {got} {want}")
    cubic = properties("layers.npy", "--stiffness", *np.ravel(np.transpose([c11, c12, g])), *words[-6:])
    check(np.allclose(cubic["stiffness"]["matrix"], want, rtol=1e-6, atol=1e-6) and cubic["phases"][1]["c12"] == c12[1], f"cubic: {cubic}")
    for file, size in (("volume.npy", (44, 36, 34)), ("flat.npy", (20, 24))):
        one, *others = [properties(file, "--young", 0, 70, "--poisson", 0.3, "--error-bars", "--tolerance", 1e-2, "--threads", 1, ranks=ranks) for ranks in (1, 2)]
        check(all(other["stiffness"] == one["stiffness"] for other in others), f"stiffness of {file} on ranks: {one} {others}")
        check(np.max(one["stiffness"]["error"]["grid"]) > 0 and one["stiffness"]["bounds"]["reuss"]["bulk"] == 0 < one["stiffness"]["isotropic"]["bulk"], f"stiffness: {one}")
        for ranks, used in ((1, one["bytes"]), (2, others[0]["bytes"])):
            plan = json.loads(runs.run(PROGRAM, "plan", "properties", "--size", *size, "--young", 0, 70, "--poisson", 0.3, "--ranks", ranks, "--threads", 1, "--json").out)
            check(plan["bytes"]["per_rank"][0] == used and plan["seconds_per_iteration"]["total"] > 0, f"memory of {file} on {ranks}: {plan['bytes']}, used {used}")
    done = runs.run(PROGRAM, "properties", "volume.npy", "--young", 1, 2, "--poisson", 0.3, "--memory-limit", 2)
    check(done.status == 5, f"a memory limit: {done}")
    np.save("void.npy", np.zeros((4, 5, 6), np.uint8))
    for values, code, sentence in (((0, 5), 3, "all of its labels are voids"), ((1e300, 2e300), 2, "try: another unit")):
        done = runs.run(PROGRAM, "properties", "void.npy", "--young", *values, "--poisson", 0.3)
        check(done.status == code and sentence in done.err, f"{values}: {done}")
    many = properties("layers.npy", "volume.npy", "--young", 1, 2, "--poisson", 0.3)
    k = [one["stiffness"]["isotropic"]["bulk"] for one in many["files"]]
    check(np.isclose(many["mean"]["bulk"], np.mean(k)) and np.isclose(many["deviation"]["bulk"], np.std(k, ddof=1)) and many["interval"]["young"] > 0, f"means: {many}")
    wall = np.ones((6, 7, 8), np.uint8)
    wall[:, 3] = 0
    np.save("wall.npy", wall)
    done = runs.run(PROGRAM, "properties", "wall.npy", "--young", 0, 5, "--poisson", 0.2, "--error-bars")
    check(done.status == 0 and all(f"nothing resists a strain {k}" in done.err for k in ("yy", "yz", "xy")) and "strain xx" not in done.err, f"a wall: {done}")
    check("e-1" not in done.out.split("nearest")[0], f"rounding is printed as 0: {done}")
    done = runs.run(PROGRAM, "properties", "scan.npy", "--young", 1, 2, "--poisson", 0.3, "--axes", "x")
    check(done.status == 0 and "faces along y do not match" in done.err and "--axes has no effect" in done.err and f"nearest isotropic moduli" in done.out, f"a scan: {done}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("volume.npy", blobs((44, 36, 34), (0.5, 0.5), 5, 2.5))
    spheres()
    reciprocal()
    same_anywhere()
    parts()
    several()
    spacing()
    no_way()
    grey()
    seam()
    columns()
    added()
    lost()
    images()
    fields()
    planned()
    stiffness()
    os.chdir("/")
finish("properties")
