"""Datasets of samples: synth --num-samples. The same samples on any number of ranks; readable by h5py; neither volume fraction nor length tells
the class; properties are those of the sample. usage: dataset.py MESOFORGE MPIEXEC"""
import json
import os
import subprocess
import sys
import tempfile

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
KINDS = ["gaussian", "spheres", "hard-spheres", "fibres", "grains", "lamellae", "checkerboard", "cracks"]
run, made = runs.tools(program, mpiexec)


def arrays(path):
    """All arrays of a file, by name."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, one: found.update({name: one[()]}) if isinstance(one, h5py.Dataset) else None)
    return found


def same(one, other):
    a, b = arrays(one), arrays(other)
    check(a.keys() == b.keys() and all(numpy.array_equal(a[k], b[k]) for k in a), f"{one} and {other} differ")


def ranks_agree():
    for size in (("24", "20"), ("12", "10", "9")):
        words = ("synth", "--num-samples", 37, "--size", *size, "--seed", 3, "--output")
        made(*words, "one.h5")
        for ranks in (2, 3):
            made(*words, "many.h5", ranks=ranks)
            same("one.h5", "many.h5")
            made(*words, "many.h5", "--compress", 4, ranks=ranks)
            same("one.h5", "many.h5")
    made(*[50 if w == 37 else w for w in words], "more.h5")
    check(numpy.array_equal(arrays("more.h5")["samples/x"][:37], arrays("one.h5")["samples/x"]), "more samples are others")


def guess(features, label, learn):
    """Share of right guesses of a linear classifier (ridge regression of the classes) on squares and products."""
    x = (features - features.mean(0)) / features.std(0)
    x = numpy.column_stack([numpy.ones(len(x)), x, *(x[:, i] * x[:, j] for i in range(2) for j in range(i, 2))])
    hot = numpy.eye(8)[label]
    weights = numpy.linalg.solve(x[learn].T @ x[learn] + 1e-6 * numpy.eye(x.shape[1]), x[learn].T @ hot[learn])
    return ((x[~learn] @ weights).argmax(1) == label[~learn]).mean()


def neither_tells():
    made("synth", "--num-samples", 2000, "--size", 64, 64, "--output", "set.h5")
    with h5py.File("set.h5") as file:
        check(list(file["samples/label"].attrs["classes"]) == KINDS, "classes")
        names = list(file["samples/properties"].attrs["names"])
        x, label = file["samples/x"][:], file["samples/label"][:]
        real, split = file["samples/properties"][:], file["index/split"][:]
    for second in ("length", "interface_density"):
        right = guess(real[:, [0, names.index(second)]], label, split == 0)
        check(right < 0.25, f"volume fraction and {second} tell the class {right:.2f} of the time")
    check((numpy.bincount(label) == 250).all() and x.max() == 1, "classes are not of equal number")
    check(all(abs((split[label == k] == 0).mean() - 0.8) < 0.01 for k in range(8)), "a class is divided unlike the others")
    check(abs(x.mean((1, 2)) - real[:, 0]).max() < 1e-6, "volume fractions")
    for lag in (1, 4, 16):
        s2 = ((x * numpy.roll(x, lag, 1)).mean((1, 2)) + (x * numpy.roll(x, lag, 2)).mean((1, 2))) / 2
        check(abs(s2 - real[:, names.index(f"s2_{lag}")]).max() < 1e-6, f"S2 at {lag}")
    faces = (x != numpy.roll(x, 1, 1)).mean((1, 2)) + (x != numpy.roll(x, 1, 2)).mean((1, 2))
    check(abs(faces - real[:, names.index("interface_density")]).max() < 1e-6, "interfaces")
    through, straight = real[:, names.index("percolates_x")], real[:, names.index("straightness_x")]
    check(((straight > 0) == (through == 1)).all() and straight.max() <= 1 and 0 < through.mean() < 1, "percolation")


def meets_as_wished(axes, *size):
    """Lines along the axes meet 2 f (1 - f) / l interfaces per voxel, whatever the kind."""
    made("synth", "--num-samples", 240, "--size", *size, "--output", "met.h5")
    with h5py.File("met.h5") as file:
        names, real, label = list(file["samples/properties"].attrs["names"]), file["samples/properties"][:], file["samples/label"][:]
    f, length, met = real[:, 0], real[:, names.index("length")], real[:, names.index("interface_density")] / axes
    for k, kind in enumerate(KINDS):
        ratio = (met * length / (2 * f * (1 - f)))[label == k].mean()
        check(abs(ratio - 1) < 0.12, f"{kind}, {axes} axes: {ratio:.3f} of the interfaces")


def told():
    info = json.loads(made("info", "--json", "set.h5").out)
    check(info["kind"] == "dataset" and info["samples"] == 2000 and info["shape"] == [64, 64] and info["phases"] == 2, info)
    check(info["splits"] == {"train": 1600, "validation": 200, "test": 200} and info["checksums"] == "sound", info)
    text = made("info", "set.h5").out
    check("set.h5: dataset of 2000 samples, 64 x 64 voxels of 2 phases" in text and "cracks 250" in text, text)
    made("verify", "set.h5")
    wrong = run("characterize", "set.h5")
    check(wrong.status == 3 and "is a dataset of samples" in wrong.err, wrong)
    dry = json.loads(made("synth", "--num-samples", 10, "--size", 16, 16, "--dry-run", "--json", "--output", "never.h5").out)
    check(dry["samples"] == 10 and not os.path.exists("never.h5"), dry)


def no_room():
    full = run("synth", "--num-samples", 50, "--size", 64, 64, "--output", "never.h5", fault="io.write:visit=9")
    check(full.status == 7 and not os.path.exists("never.h5"), full)
    full = run("synth", "--num-samples", 50, "--size", 16, 16, "--output", "never.h5", ranks=2, fault="io.write:visit=3:rank=1")
    check(full.status == 7 and not os.path.exists("never.h5") and not os.path.exists("never.h5.partial"), full)


def writes_alone():
    """Two runs with one output: the second is refused, and the first keeps its work."""
    words = ("synth", "--num-samples", 10 ** 6, "--size", 32, 32, "--data_folder", ".")
    first = subprocess.Popen(runs.line(program, *words))
    runs.until(lambda: os.path.exists("synth_dataset.h5.partial"), "the first run begins")
    second = run("synth", "--num-samples", 5, "--size", 16, 16, "--data_folder", ".")
    check(second.status == 7 and f"process {first.pid} on" in second.err, second)
    check(os.path.exists("synth_dataset.h5.partial"), "the work of the first run is lost")
    first.terminate()
    first.wait()
    check(not any("synth_dataset" in name for name in os.listdir(".")), os.listdir("."))
    made("synth", "--num-samples", 5, "--size", 16, 16, "--data_folder", ".")


ranks_agree()
neither_tells()
meets_as_wished(2, 64, 64)
meets_as_wished(3, 32, 32, 32)
told()
no_room()
writes_alone()
finish("dataset")
