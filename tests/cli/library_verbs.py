"""The module mesoforge beyond characterize: the bits of the verbs, targets, models, pictures, arrays, exceptions.

    library_verbs.py MESOFORGE LIBRARY ROOT [SETS]     exit status 77: NumPy is missing

SETS: how many random sets of options each of match, compare and synth gets (default 3).
"""
import ast
import contextlib
import doctest
import gc
import inspect
import io
import json
import logging
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import runs
from runs import check, finish
from samples import blobs, np

h5py = runs.optional("h5py")

MESOFORGE, LIBRARY, ROOT = (os.path.abspath(word) for word in sys.argv[1:4])
SETS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
os.environ["MESOFORGE_LIBRARY"] = LIBRARY
sys.path.insert(0, os.path.join(ROOT, "python"))
sys.dont_write_bytecode = True
import mesoforge  # noqa: E402
import mesoforge.devices  # noqa: E402
import mesoforge.mcrpy  # noqa: E402
import mesoforge.model  # noqa: E402

RANDOM = random.Random(7)
OF_MACHINE = ("seconds", "ranks", "threads", "peak_bytes", "output", "file", "target", "picture", "device", "model")


def typed(options):
    for key, value in options.items():
        yield "--" + key
        if value is not True:
            yield from map(str, value if isinstance(value, (list, tuple)) else [value])


def verb(name, *words, code=0):
    status, out, err = runs.run(MESOFORGE, *name.split(), *words)
    check(status == code, f"{name} {words}: {err}")
    return (json.loads(out) if out else None) if status == 0 else err.strip().splitlines()[-1]


def plain(figures):
    """Less what depends on the machine and on names."""
    if isinstance(figures, dict):
        return {k: plain(v) for k, v in figures.items()
                if k not in OF_MACHINE and not k.startswith("seconds") and not (k == "result" and isinstance(v, str))}
    return [plain(v) for v in figures] if isinstance(figures, list) else figures


def raises(kind, part, call):
    try:
        call()
    except kind as error:
        check(part in str(error), f"{error!r} does not say {part!r}")
    else:
        check(False, f"no {kind.__name__} {part!r}")


def any_image(volume=False):
    shape = (12, 13, 14) if volume else (RANDOM.randint(24, 40), RANDOM.randint(24, 40))
    levels = RANDOM.choice([2, 2, 3])
    return blobs(shape, [1 / levels] * levels, RANDOM.randrange(99)).astype(RANDOM.choice(["u1", "<i4", ">i2", "<f4", "i8"]))


def any_synth():
    options = {"kind": RANDOM.choice(["gaussian", "spheres", "voronoi", "lamellae", "checkerboard", "cracks"]),
               "size": [RANDOM.randint(8, 20) for _ in range(RANDOM.choice([2, 3]))], "seed": RANDOM.randrange(100)}
    if options["kind"] in ("gaussian", "voronoi"):
        options["phases"] = RANDOM.choice([2, 3])
    if RANDOM.random() < 0.5:
        options["exact"] = True
    if RANDOM.random() < 0.3:
        options["spacing"], options["unit"] = 0.5, "um"
    if RANDOM.random() < 0.2:
        options["grains"] = 20  # which most kinds refuse
    return options


def same_synth():
    options = any_synth()
    path = "synth.npy"
    status, out, err = runs.run(MESOFORGE, "synth", "--json", "--output", path, *typed(options))
    try:
        got = mesoforge.synth(**options)
    except mesoforge.Error as error:
        check(status == error.code and error.sentence in err, f"{options}: {error}, and the verb: {err}")
        return
    check(status == 0 and np.array_equal(got.phase, np.load(path)), f"synth {options}: other bits; {err}")
    size = {"spacing": [options.get("spacing", 1)] * len(options["size"]), "unit": options.get("unit", "")}
    check(status or plain(got.figures) == {**plain(json.loads(out)), **size}, f"synth {options}: other figures")


def same_compare():
    want, got = any_image(), None
    got = blobs(want.shape, [1 / len(np.unique(want))] * len(np.unique(want)), 3).astype(want.dtype)
    options = {"limit_to": RANDOM.randint(3, 10)}
    if RANDOM.random() < 0.5:
        options["periodic"] = True
    if RANDOM.random() < 0.3:
        options["descriptor_types"] = ["LinealPath"]
    np.save("want.npy", want)
    np.save("got.npy", got)
    said = verb("compare", "want.npy", "got.npy", "--json", *typed(options))
    check(plain(mesoforge.compare(want, got, **options).figures) == plain(said), f"compare {options}: other figures")


def same_match():
    image = any_image()
    options = {"limit_to": RANDOM.randint(3, 8), "max_iter": RANDOM.randint(3, 12), "seed": RANDOM.randrange(100),
               "plan": "off", "descriptor_types": ["FFTCorrelations", "Variation"],
               "size": RANDOM.choice([[16, 20], [16, 17, 18]])}
    if RANDOM.random() < 0.5:
        options["non_periodic"] = True
    if RANDOM.random() < 0.3:
        options["optimizer_type"] = "SPG"
    np.save("image.npy", image)
    said = verb("match", "image.npy", "--json", "--output", "made.npy", *typed(options))
    lays = image, np.asfortranarray(image), image.astype(image.dtype.newbyteorder())
    got = mesoforge.match(RANDOM.choice(lays), **options)
    check(np.array_equal(got.array, np.load("made.npy")), f"match {options}: other bits")
    check(got.figures["loss_final"] == said["loss_final"], f"match {options}: another loss")


def targets():
    """A target, lent and in a file, gives the structure of match; its file is that of the verb."""
    image = blobs((32, 32), [0.5, 0.5], 1)
    options = {"max_iter": 8, "plan": "off", "size": [16, 16], "descriptor_types": ["FFTCorrelations", "Variation"]}
    target = mesoforge.Target.measure(image, limit_to=6)
    want = mesoforge.match(image, limit_to=6, **options).array
    check(np.array_equal(mesoforge.match(target=target, **options).array, want), "a target gives another structure")
    target.save("target.h5")
    np.save("image.npy", image)
    verb("characterize", "image.npy", "--limit_to", 6, "--output", "verb.h5", "--json")
    if h5py:
        with h5py.File("target.h5") as own, h5py.File("verb.h5") as other:
            same = [np.array_equal(own[name][()], other[name][()]) for name in target.arrays]
            check(all(same) and own.attrs["schema"] == other.attrs["schema"], "a saved target has other values")
    made = verb("reconstruct", "target.h5", "--output", "made.npy", "--json", *typed(options))
    check(made and np.array_equal(np.load("made.npy"), want), "the verb makes another structure of a saved target")
    with mesoforge.Session(trust_files=True, threads=1) as session:
        again = mesoforge.Target.load("verb.h5", session=session)
        made = mesoforge.reconstruct("target.h5", session=session, **options)
    check(all(np.array_equal(again[name], target[name]) for name in target.arrays), "a loaded target has other values")
    check(np.array_equal(made.array, want), "the path of a target gives another structure")
    mean = mesoforge.Target.mean([target, mesoforge.characterize(1 - image, limit_to=6)], [0.25, 0.75])
    check(abs(mean["all/fraction"][1, 0] - 0.5) < 1e-12, f"a mean of {mean['all/fraction']}")
    sides = [mesoforge.characterize(blobs((32, 32), [0.5, 0.5], seed), limit_to=6) for seed in (1, 2, 3)]
    joined = mesoforge.Target.join(*sides)
    same = [np.array_equal(joined[f"{side}/s2"], one["all/s2"]) for side, one in zip("zyx", sides)]
    check(all(same), "a joined target has other sides")
    s2 = target["all/s2"][1, 0]
    check(mesoforge.reconstruct({"FFTCorrelations": s2}, **{**options, "descriptor_types": None}).array.shape == (16, 16),
          "an array is no target")
    raises(mesoforge.InputError, "Session(trust_files=True)", lambda: mesoforge.Target.load("verb.h5"))
    raises(mesoforge.InputError, "is a target, but an image", lambda: mesoforge.match(target, size=[16, 16]))
    raises(mesoforge.InputError, "try: match(image)", lambda: mesoforge.reconstruct(image, size=[16, 16]))
    raises(mesoforge.UsageError, "was pickled", lambda: mesoforge.reconstruct(pickle.loads(pickle.dumps(target))))
    raises(mesoforge.UsageError, "a target, and images", lambda: mesoforge.match(image, target=target))
    raises(mesoforge.UsageError, "1 weights for 2", lambda: mesoforge.Target.mean([target, target], [1]))
    raises(mesoforge.UsageError, "add up to 2", lambda: mesoforge.Target.mean([target], [2]))
    raises(mesoforge.UsageError, "is -1; none", lambda: mesoforge.Target.mean([target, target], [2, -1]))
    raises(mesoforge.UsageError, "and 'x' is none", lambda: mesoforge.Target.mean([target, "x"]))
    raises(mesoforge.InputError, "lags differ",
           lambda: mesoforge.Target.mean([target, mesoforge.characterize(image, limit_to=5)]))


def results():
    """Files of results are those of the verbs, and notebooks get pictures and tables."""
    made = mesoforge.synth(size=[12, 14, 16], seed=4)
    for ending in ("npy", "h5", "tif"):
        made.save(f"own.{ending}")
        check(mesoforge_info(f"own.{ending}")["shape"] == [12, 14, 16], f"{ending} has another shape")
    verb("synth", "--size", 12, 14, 16, "--seed", 4, "--output", "verb.npy", "--json")
    with open("own.npy", "rb") as own, open("verb.npy", "rb") as other:
        check(own.read() == other.read(), "a saved structure is not the verb's file")
    for one in (made, mesoforge.characterize(made, limit_to=4)):
        check(one._repr_png_().startswith(b"\x89PNG") and b"IEND" in one._repr_png_()[-12:], f"no picture of {one}")
        check("data:image/png;base64," in one._repr_html_() and "<td>" in one._repr_html_(), f"no table of {one}")
    said = mesoforge.probe()
    check("nodes" in said, "no hardware")
    compared = mesoforge.compare(made, made, limit_to=4)
    compared.save("compared.json")
    with open("compared.json", encoding="utf-8") as file:
        check(json.load(file) == compared.figures, "figures change in a file")
    check(">copied<" in compared._repr_html_() and ">score<" in compared._repr_html_(), compared._repr_html_())
    kept = made.phase
    del made
    check(int(kept.max()) == 1 and kept.shape == (12, 14, 16), "arrays end with their result")
    raises(mesoforge.UsageError, "own.jpg", lambda: mesoforge.synth(size=[12, 12]).save("own.jpg"))
    raises(mesoforge.OutputError, "nowhere", lambda: mesoforge.synth(size=[12, 12]).save("nowhere/own.npy"))
    raises(mesoforge.UsageError, "output=FILE", lambda: mesoforge.run("view", np.eye(8)))
    raises(mesoforge.UsageError, "no verb", lambda: mesoforge.run("synthesise"))


def found():
    """Figures and tables of properties and compare are those of the verbs."""
    one, two = (mesoforge.synth(kind="spheres", size=[20, 20, 20], radius=4, seed=seed) for seed in (1, 2))
    for k, made in enumerate((one, two)):
        made.save(f"s{k}.npy")
    words = {"conductivity": [0.5, 5], "boundary": "periodic"}
    want, got = verb("properties", "s0.npy", "s1.npy", "--json", *typed(words)), mesoforge.properties(one, two, **words)
    check(plain(got.figures) == plain(want), "properties of two has other figures")
    check(all(abs(got.conductivity[axis] - want["mean"][axis]) < 1e-12 for axis in "zyx"), f"means {got.conductivity}")
    check(np.allclose(np.diag(got.tensor), list(got.conductivity.values())), f"tensor {got.tensor}")
    check(got.table().column("of")[-3:] == ["mean", "deviation", "95 % interval +-"], repr(got))
    said = mesoforge.properties(one, conductivity=[0, 1], error_bars=True)
    figures = said.figures
    check(said.tortuosity_factor["x"] == figures["tortuosity_factor"]["x"] and said.tensor is None, repr(said))
    check(said.table()[0]["+- grid"] == figures["conductivity"]["error"]["grid"]["z"] and "<th" in said._repr_html_(), repr(said))
    check(mesoforge.properties(np.zeros((8, 8), int), conductivity=[0, 1]).tortuosity_factor == {}, "a factor without a way")
    stiff = mesoforge.properties(one, young=[1, 10], poisson=0.3)
    check(np.allclose(stiff.stiffness, stiff.stiffness.T) and 1 < stiff.moduli["young"] < 10, repr(stiff))
    check(stiff.table().column("modulus") == list(stiff.moduli) and "voigt" in stiff.bounds, repr(stiff))
    check(all(row["modulus"] == "poisson" or row["reuss"] < row["value"] < row["voigt"] for row in stiff.table())
          and len(stiff.table()[1]) == 2, f"bounds {stiff}")
    mesoforge.properties(one, conductivity=[1, 2], axes="x", fields="f.vtkhdf")
    check(os.path.getsize("f.vtkhdf") > 20**3, "fields are in no file")
    raises(mesoforge.UsageError, "has no stiffness", lambda: said.stiffness)
    raises(mesoforge.UsageError, "has no conductivity", lambda: stiff.conductivity)
    compared = mesoforge.compare(one, two, one, limit_to=4, conductivity=[1, 2])
    check(compared.scores[1] == 0 < compared.score and compared.errors()[0]["of"] == "image2", repr(compared))
    rows = [row for row in compared.table() if row["measure"] == "volume_fraction" and row["of"] == "image2"]
    check(len(rows) == 6 and abs(rows[0]["target"] - one.fractions[0]) < 1e-12, f"rows {rows}")
    check("conductivity_z" in compared.table().column("measure") and "chords" in repr(compared), repr(compared))
    check(np.array_equal(one.slice("x", 3), one.array[:, :, 3]) and pickle.loads(pickle.dumps(one)).shape == one.shape, "slices")
    raises(mesoforge.UsageError, "no slices along 'z'", lambda: mesoforge.synth(size=[16, 16]).slice())


def ensembles():
    """Realisations are those of the verb, with its names; a call that is stopped keeps those that are done."""
    image = blobs((24, 24), [0.5, 0.5], 1)
    options = {"size": [16, 16], "limit_to": 4, "max_iter": 5, "plan": "off", "descriptor_types": "FFTCorrelations"}
    np.save("image.npy", image)
    verb("match", "image.npy", "--realisations", 2, "--seed", 5, "--output", "v.npy", *typed(options))
    made = mesoforge.match(image, seed=5, realisations=2, output="own.h5", **options)
    for k, one in enumerate(made):
        check(np.array_equal(one.array, np.load(f"v_seed{k + 5}.npy")), f"realisation {k} has other bits")
        check(os.path.exists(f"own_seed{k + 5}.h5"), f"realisation {k} has no file")
    target = mesoforge.characterize(image, limit_to=4)
    again = mesoforge.match(target=target, seed=5, realisations=1, **{**options, "limit_to": None})
    check(np.array_equal(again[0].array, made[0].array), "a target has other realisations")
    wished = mesoforge.match(image, property={"conductivity_x": 1.4}, conductivity=[1, 2], **options)
    check(wished.figures["properties"]["conductivity_x"]["target"] == 1.4, f"{wished.figures['properties']}")
    steps = iter(range(999))
    try:
        mesoforge.match(image, realisations=99, progress=lambda *_: next(steps) < 20, **options)
        check(False, "99 realisations go on")
    except mesoforge.Stopped as error:
        check(len(error.result) > 1 and all(one.shape == (16, 16) for one in error.result), f"{error.result}")
    raises(mesoforge.UsageError, "0 realisations", lambda: mesoforge.match(image, realisations=0))


def structures():
    """A structure that is lent has its labels and the size of its voxels, as its file has."""
    grey = np.random.default_rng(2).random((20, 22))
    scan = mesoforge.read(grey, threshold="otsu", spacing=[0.5, 0.25], unit="um")
    check(scan.spacing == (0.5, 0.25) and scan.unit == "um" and scan.phase.dtype == np.uint8, f"{scan.figures}")
    np.save("grey.npy", grey)
    said = verb("characterize", "grey.npy", "--threshold", "otsu", "--limit_to", 4, "--json", "--output", "t.h5")
    check(mesoforge.characterize(scan, limit_to=4).figures["phases"] == said["phases"], "read has other phases")
    marked = mesoforge.read((grey > 0.4) * 7 + 5, labels=[12, 5])
    check([one["label"] for one in marked.figures["phases"]] == [12, 5] and set(marked.array.flat) == {5, 12}, f"{marked.figures}")
    check(repr(marked).startswith("Structure(20 x 22 voxels, fractions 12: ") and "x 0.25 um" in repr(scan), f"{marked} {scan}")
    made = mesoforge.match(marked, size=[16, 16], limit_to=4, max_iter=5)
    check(set(made.array.flat) == {5, 12} and made.spacing == (1, 1), f"labels {set(made.array.flat)}")
    volume = mesoforge.synth(kind="spheres", size=[10, 12, 14], radius=3, spacing=[1, 0.5, 0.5], unit="um", seed=1)
    volume.save("volume.h5")
    words = ("volume.h5", "--conductivity", 1, 10, "--json", "--fields", "fields.vtkhdf")
    want, got = verb("properties", *words), mesoforge.run("properties", volume, conductivity=[1, 10], fields="@")
    check(plain(got.figures) == plain(want), f"properties says {got.figures}, and the verb {want}")
    check(got.axes["flux_x"] == ("z", "y", "x", "component") and got["potential_z"].dtype == np.float32, f"{got}")
    for axis, k in (("z", 2), ("y", 1), ("x", 0)):
        mean = got[f"flux_{axis}"][..., k].mean(dtype="f8")
        check(abs(mean / want["conductivity"][axis] - 1) < 1e-5, f"mean flux along {axis}: {mean}")
    if h5py:
        with h5py.File("fields.vtkhdf") as file:
            same = [np.array_equal(file[f"VTKHDF/PointData/{k}"][()].ravel(), v.ravel()) for k, v in got.arrays.items()]
            check(len(same) == 6 and all(same), "fields differ from those of the file")
    flat = mesoforge.run("properties", scan, conductivity=[1, 2], axes="x", fields="@")
    check(flat["flux_x"].shape == (20, 22, 3) and list(flat.arrays) == ["potential_x", "flux_x"], f"{flat}")
    raises(mesoforge.UsageError, "of one file", lambda: mesoforge.run("properties", scan, scan, conducting=1, fields="@"))
    slow = np.random.default_rng(1).integers(0, 2, (96, 96, 96))  # hears of progress on fast machines, too
    for inputs, more in (([slow], {"conductivity": [1, 900], "fields": "@"}), ([slow, slow], {"young": [1, 9], "poisson": 0.3})):
        raises(mesoforge.Stopped, "stopped", lambda: mesoforge.run("properties", *inputs, progress=lambda *_: False, **more))
    verb("smooth", "volume.h5", "--strength", 1.5, "--output", "fine.npy", "--json")
    fine = mesoforge.smooth(volume, strength=1.5, output="fine.h5")
    check(np.array_equal(fine.phase, np.load("fine.npy")) and os.path.exists("fine.h5") and fine.unit == "um", f"{fine}")
    check(np.array_equal(mesoforge.smooth(volume, strength=1.5).phase, fine.phase), "smooth without a file")
    with mesoforge.Session(trust_files=True, threads=1) as session:
        loaded = mesoforge.read("volume.h5", session=session)
    check(np.array_equal(loaded.array, volume.array) and loaded.spacing == (1, 0.5, 0.5), f"loaded {loaded.figures}")


def mesoforge_info(path):
    with mesoforge.Session(trust_files=True, threads=1) as session:
        return mesoforge.run("info", path, session=session).figures


def no_memory():
    """What a dataset says of its samples takes memory: none is a refusal on all ranks, and no end of the process."""
    made = "synth", "--num-samples", 8, "--size", 8, 8, "--output", "none.h5"
    for words, fault, ranks in ((made, "room:visit=3", 1), (("data", "info", "set.h5"), "room:visit=4:rank=1", 2),
                                (("data", "info", "set.h5"), "room:visit=3", 1), (("plan", "match", "--config", "image0.npy"), "room", 1)):
        status, out, err = runs.run(MESOFORGE, *words, fault=fault, ranks=ranks)
        check(status == 5 and not out and "no memory" in err, f"{fault}: exit {status}: {out} {err}")
    check(not os.path.exists("none.h5"), "a dataset without memory")
    program = """
import mesoforge
session = mesoforge.Session(trust_files=True, threads=1)
try:
    session.run("data info", "set.h5")
except MemoryError as error:
    print(error.sentence)
print(session.run("data info", "set.h5").figures["samples"])
"""
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"), MF_FAULT="room:visit=3")
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    check(done.stdout.startswith("no memory for ") and done.stdout.endswith("\n48\n"), f"{done}")


def handle(kind, images, want, session):
    """A model that stays loaded says the same, and ends with one exception."""
    path = f"own-{kind}/model.safetensors"
    model = mesoforge.load_model(path, session=session)
    singly, stack = model.predict(*images), model.predict(np.asfortranarray(images))
    check(plain(singly.said) == plain(want) and plain(stack.said) == plain(want), f"{kind}: a loaded model says {singly.said}")
    check(np.array_equal(singly.array, stack.array) and singly.array.shape == (3, len(singly.outputs)), f"{kind}: arrays")
    check(model.bytes > 1000 and set(model.map.values()) == {"cpu"} and "infer" in repr(model), f"{kind}: {model.facts}")
    raises(mesoforge.UsageError, "of loading", lambda: model.predict(images[0], batch_size=2))
    raises(mesoforge.UsageError, "type 'O'", lambda: model.predict(images[0].astype(object)))
    raises(mesoforge.InputError, "[1 8 16]", lambda: model.predict(images[0][:8]))
    raises(mesoforge.InputError, "getdata", lambda: model.predict(np.ma.masked_equal(images[0], 0)))
    raises(mesoforge.UsageError, "there is no image", lambda: model.predict(np.zeros((0, 16, 16), "u1")))
    raises(mesoforge.UsageError, "pickled", lambda: pickle.dumps(model))
    many = np.broadcast_to(images[0], (40000, 16, 16))
    raises(ArithmeticError, "of a callback", lambda: model.predict(many, progress=fail))
    with mesoforge.Model(path, session=session, batch_size=1) as one:
        check(np.allclose(one.predict(*images), singly, rtol=1e-5), f"{kind}: another batch has other answers")
    raises(mesoforge.UsageError, "the model is closed", lambda: one.predict(images[0]))
    model.close()
    model.close()
    left, other = mesoforge.Session(threads=1), None
    other = mesoforge.Model(path, session=left)
    left.close()
    raises(mesoforge.UsageError, "the session is closed", lambda: other.predict(images[0]))
    other.close()


def samples(session):
    """A generator that stays loaded makes the samples of the verb, any part of them."""
    mesoforge.train("unet", "set.h5", results_dir="unet", epochs=1, arch="unet:width=16", session=session)
    how = {"seed": 5, "steps": 3}
    mesoforge.generate("unet/model.safetensors", num_samples=12, output="made.h5", session=session, **how)
    with mesoforge.load_model("unet/model.safetensors", session=session) as model:
        all_of, some = model.generate(12, **how), model.generate(5, first=6, **how)
        check(all_of.array.shape == (12, 16, 16) and np.array_equal(all_of.array[6:11], some.array), "a part is another one")
        check(np.array_equal(all_of["class"][6:11], some["class"]) and some["condition"].shape[0] == 5, f"{some.axes}")
        if h5py:
            with h5py.File("made.h5") as file:
                check(np.array_equal(file["samples/x"][()], all_of.array), "samples are not those of the verb")
        wanted = model.generate(2, condition=[f"class={model.facts['classes'][1]}"], **how)
        check(list(wanted["class"]) == [1, 1], f"classes {wanted['class']}")
        raises(mesoforge.UsageError, "predicts nothing", lambda: model.predict(all_of.array))
        raises(mesoforge.UsageError, "reads no 'x'", lambda: model.generate("x"))
        raises(mesoforge.UsageError, "of the verb generate", lambda: model.generate(2, layers=["midblock"]))
        raises(mesoforge.UsageError, "1 to 268435456", lambda: model.generate(0))
        raises(mesoforge.UsageError, "takes class=", lambda: model.generate(1, condition=["x=3"]))
        raises(ArithmeticError, "of a callback", lambda: model.generate(10000, progress=fail))


def texts(session):
    """A language model that stays loaded continues texts as the verb does."""
    fixtures = os.path.join(ROOT, "tests/fixtures")
    os.mkdir("gpt2")
    for name in ("language/gpt2/config.json", "language/gpt2/model.safetensors", "text/byte_level/tokenizer.json"):
        shutil.copy(os.path.join(fixtures, name), "gpt2")
    how, prompts = {"temperature": 2.0, "seed": 3, "max_new_tokens": 6}, ["the pore", "a 'b' \"c\"\n@-"]
    want = [verb("infer text-generation", "gpt2", "--prompt", prompt, "--json", *typed(how))["results"][0] for prompt in prompts]
    with mesoforge.load_model("gpt2", session=session, context=24, requests=2) as model:
        for _ in range(2):
            said = model.generate(prompts, **how)
            check([plain(one) for one in said.figures["results"]] == plain(want), f"{said.figures}, and the verb {want}")
            check(said.texts == [one["text"] for one in want], f"{said.texts}")
        check(model.generate(prompts[1], **how).texts == said.texts[1:], "one prompt has another answer")
        check(model.facts["family"] == "gpt2" and model.facts["context"] == 24 and model.bytes > 1000, f"{model.facts}")
        raises(mesoforge.UsageError, "no text and no numbers", lambda: model.generate([]))
        raises(mesoforge.UsageError, "continues texts", model.generate)
        raises(mesoforge.UsageError, "contradict", lambda: model.generate("x", tokens=[1, 2]))
        raises(mesoforge.UsageError, "room for", lambda: model.generate("x", max_new_tokens=100))
        raises(mesoforge.UsageError, "of loading", lambda: model.generate("x", context=12))
        raises(mesoforge.UsageError, "of the verb infer text-generation", lambda: model.generate("x", logits="x.npy"))
        raises(mesoforge.UsageError, "predicts nothing", lambda: model.predict("x"))
        raises(ArithmeticError, "of a callback", lambda: model.generate(["x"] * 3000, progress=fail, max_new_tokens=20, ignore_eos=True))
        check(model.generate(prompts[1], **how).texts == said.texts[1:], "the answer changes behind one that was stopped")


def late():
    """Loading warns, and what the host's logging raises then comes out. The memory of such a model is free again."""
    log = logging.getLogger("mesoforge")
    with mesoforge.Session(threads=1, memory_limit=10) as small:
        def load():
            mesoforge.Model("vqa/model.safetensors", question="what is the red morphology?", session=small).close()

        log.addFilter(fail)
        for _ in range(5):
            raises(ArithmeticError, "of a callback", load)
        log.removeFilter(fail)
        load()


def fail(*_):
    raise ArithmeticError("of a callback")


def models():
    """Networks are trained by the verb and by the module alike, and say the same."""
    words = {"data": "set.h5", "arch": "mlp", "epochs": 2, "deterministic": True}
    images = [blobs((16, 16), [0.7, 0.3], seed) for seed in range(3)]
    with mesoforge.Session(trust_files=True, threads=1, deterministic=True) as session:
        mesoforge.synth(num_samples=48, size=[16, 16], kinds=["gaussian", "lamellae"], output="set.h5", session=session)
        for kind, more in (("classify", {}), ("regress", {"target": ["volume_fraction"]})):
            own = {key: value for key, value in words.items() if key not in ("data", "deterministic")}
            mesoforge.train(kind, "set.h5", results_dir=f"own-{kind}", session=session, **own, **more)
            verb(f"train {kind}", "--results-dir", f"verb-{kind}", "--threads", 1, "--json", *typed({**words, **more}))
            said = mesoforge.infer(f"own-{kind}/model.safetensors", *images, session=session)
            for k, image in enumerate(images):
                np.save(f"image{k}.npy", image)
            want = verb(f"infer {kind}", f"verb-{kind}/model.safetensors", *(f"image{k}.npy" for k in range(3)), "--json")
            check([one["file"] for one in said] == ["@image", "@image2", "@image3"], f"{kind}: names {said}")
            check(plain(said) == plain(want["predictions"]), f"{kind}: {said}, and the verb {want['predictions']}")
            handle(kind, images, want["predictions"], session)
        samples(session)
        texts(session)
        grey = np.random.default_rng(3).random((30, 12, 12), dtype="f4")
        own = mesoforge.dataset(grey, output="arrays.h5", labels=["a", "b", "c"] * 10, columns={"mean": grey.mean((1, 2))})
        check(re.search("^samples +30$", repr(own), re.M), repr(own))
        check(own.figures["classes"] == {"a": 10, "b": 10, "c": 10} and own.figures["properties"] == ["mean"], f"{own.figures}")
        raises(mesoforge.InputError, "but 2 values of 'mean'",
               lambda: mesoforge.dataset(grey, output="x.h5", columns={"mean": [1, 2]}))
        raises(mesoforge.UsageError, "columns have names", lambda: mesoforge.dataset(grey, output="x.h5", columns=np.ones(30)))
        trained = mesoforge.train("regress", "arrays.h5", target="mean", arch="mlp", epochs=1, results_dir="arrays", session=session)
        check("test" in trained.figures, f"{trained.figures}")
        no_memory()
        mesoforge.synth(num_samples=24, questions=2, size=[16, 16], output="asked.h5", session=session)
        mesoforge.train("vqa", "asked.h5", epochs=1, results_dir="vqa", session=session)
        asked = ["what is the morphology?", "is the light phase connected?"]
        answers = mesoforge.infer("vqa/model.safetensors", images[0], question=asked, session=session)
        check([one["question"] for one in answers] == asked and all(0 < one["probability"] <= 1 for one in answers),
              f"answers {answers}")
        with mesoforge.load_model("vqa/model.safetensors", question=asked, session=session) as model:
            said = model.predict(images[:1])
            check(plain(said.said) == plain(answers), f"a loaded model answers {said.said}, and the verb {answers}")
            check(said.array.shape == (1, len(said.outputs)) and model.facts["questions"] == asked, f"{said.outputs}")
            check(model.predict("asked.h5").array.shape[0] == 24, "a dataset is another one")
            check(np.array_equal(model.predict(np.stack(images)).array[:1], said.array), "a stack has other answers")
            raises(mesoforge.UsageError, "of loading", lambda: model.predict(images[0], question=asked))
        late()
        raises(mesoforge.UsageError, "no question", lambda: mesoforge.Model("vqa/model.safetensors", session=session))
        raises(mesoforge.UsageError, "results-dir=FOLDER", lambda: mesoforge.train("classify", "set.h5", session=session))
        exact = mesoforge.estimate("own-regress/model.safetensors", session=session)
        check(exact["kind"] == "mlp" and sum(part["weights"] for part in exact["parts"]) > 1000, f"estimate says {exact}")
        raises(mesoforge.InputError, "cannot open 'none'", lambda: mesoforge.infer("none", images[0], session=session))
    planned = mesoforge.plan("match", np.eye(32, dtype="u1"), device="cuda", size=[128] * 3,
                             hardware=os.path.join(ROOT, "examples/hardware/h100x8.json"))
    check(planned["device"].startswith("cuda"), f"a plan for GPUs is one for {planned['device']}")


def bad_inputs():
    """One clear exception each; the session goes on."""
    image = blobs((24, 24), [0.5, 0.5], 1)
    hidden = np.ma.masked_equal(image, 0)
    session = mesoforge.Session(threads=1)
    tries = [(mesoforge.UsageError, "type 'O'", np.array([[None, 1]])), (mesoforge.InputError, "NaN", np.full((8, 8), np.nan)),
             (mesoforge.InputError, "is empty", image[:0]), (mesoforge.InputError, "axes", np.zeros((2,) * 5)),
             (mesoforge.UsageError, "type 'U1'", np.array([["a"]])), (mesoforge.UsageError, "type 'c16'", image + 1j)]
    for name in ("characterize", "match", "compare", "properties"):
        for kind, part, array in tries:
            inputs = [image, array] if name == "compare" else [array]
            more = {"conductivity": [1, 2]} if name == "properties" else {}
            raises(kind, part, lambda: session.run(name, *inputs, **more))
    for first, second in ((hidden, image), (image, hidden)):
        raises(mesoforge.InputError, "getdata", lambda: session.run("compare", first, second))
    raises(mesoforge.InputError, "", lambda: session.run("compare", image, np.zeros((4, 4, 4, 4))))
    raises(mesoforge.InputError, "has 1 axis", lambda: session.characterize(image, limit_to=4, mask=image[0]))

    def call_again(*_):
        session.run("info", image)

    for name, more in (("match", {"size": [12, 12], "max_iter": 20, "plan": "off"}),):
        raises(ArithmeticError, "of a callback", lambda: session.run(name, image, progress=fail, **more))
        raises(mesoforge.UsageError, "is in a call", lambda: session.run(name, image, progress=call_again, **more))
    noise = np.random.default_rng(1).integers(0, 2, (2, 256, 256))
    raises(mesoforge.Stopped, "stopped", lambda: session.run(
        "compare", *noise, limit_to=4, descriptor_types=["FFTCorrelations"], progress=lambda what, _: what != "copies"))
    check(session.run("info", image).figures["shape"] == [24, 24], "the session does not go on")
    target = session.characterize(image, limit_to=4)
    session.close()
    raises(mesoforge.UsageError, "closed", lambda: session.run("info", image))
    raises(mesoforge.UsageError, "closed", lambda: target.save("x.h5", session=session))
    with mesoforge.Session(threads=1) as other:
        target.save("x.h5", session=other)
        for kind in ("b1", "i4", "i8", "f4", "f8", ">f8", ">i4"):
            array = image.astype(kind)
            for lay in (np.asfortranarray(array), array[::-1, ::-1].copy()[::-1, ::-1], np.repeat(array, 2, 1)[:, ::2]):
                check(np.array_equal(other.characterize(lay, limit_to=4)["all/s2"], target["all/s2"]),
                      f"{kind} {lay.strides}: other statistics")


def left_sessions():
    """A session whose object ends inside of a callback is closed behind the call."""
    image, kept = blobs((24, 24), [0.5, 0.5], 1), [mesoforge.Session(threads=1)]
    handle = kept[0]._handle

    def end(*_):
        kept.clear()
        gc.collect()

    mesoforge.match(image, max_iter=4, limit_to=4, plan="off", progress=end)
    check(mesoforge.session.lib.mesoforge_cancel(handle) == mesoforge.UsageError.code, "the session stays open")


def described():
    """Options and verbs are those of the program, less what a library has no use for."""
    said = mesoforge.options("match")
    help_of = runs.run(MESOFORGE, "match", "--help")[1]
    words = {line.split()[0][2:].replace("-", "_") for line in help_of.splitlines() if line.startswith("  --")}
    check(set(said) < words and "limit_to" in said and not {"microstructure_filenames", "dry_run", "json", "threads", "help"} & set(said),
          f"match has {set(said) - words}")
    check("threads" in mesoforge.options("plan match") and said["compat"].choices == ("mcrpy",), f"{said['compat']}")
    check("<td" in said._repr_html_() and len(repr(said).splitlines()) == len(said) + 1, repr(said))
    image = blobs((24, 24), [0.5, 0.5], 1)
    for one in said.values():  # the call knows each of them, and says so of a wrong value
        if one.choices:
            raises(mesoforge.UsageError, one.choices[0], lambda: mesoforge.match(image, **{one.name: one.choices[0] + "x"}))
    raises(KeyError, "try: 'limit_to'", lambda: said["limt_to"])
    raises(KeyError, "there are: phase, labels", lambda: mesoforge.read(image)[3])
    raises(KeyError, "there are: phase, labels", lambda: mesoforge.read(image)[1:3])
    raises(mesoforge.UsageError, "no verb 'mach'", lambda: mesoforge.options("mach"))
    raises(mesoforge.UsageError, "of the program alone", lambda: mesoforge.options("launch"))
    raises(mesoforge.UsageError, "which verb", lambda: mesoforge.options("train"))
    for verb in mesoforge.options().column("verb"):
        check(len(mesoforge.options(verb)) > 0, f"{verb} has no options")


def documented():
    """Every public function has a docstring, and types of all that it takes and gives."""
    for name in mesoforge.__all__:
        one = getattr(mesoforge, name)
        own = [getattr(one, key) for key in vars(one) if not key.startswith("_")] if inspect.isclass(one) else []
        own += [one.__init__] if "__init__" in vars(one) else []
        for function in filter(inspect.isfunction, [one, *own]):
            signature = inspect.signature(function)
            bare = [key for key, value in signature.parameters.items() if value.annotation is value.empty and key != "self"]
            check(not bare and signature.return_annotation is not signature.empty, f"{name}.{function.__name__}: {bare}")
            check(function.__doc__ or function.__name__ == "__init__", f"{name}.{function.__name__} has no docstring")
        check(one.__doc__, f"{name} has no docstring")
    for one in (mesoforge.match, mesoforge.properties, mesoforge.characterize, mesoforge.read, mesoforge.smooth, mesoforge.synth):
        named = [key for key in inspect.signature(one).parameters if key not in ("session", "progress")]
        check(all(key in one.__doc__.split("Examples")[0] for key in named), f"{one.__name__} leaves out one of {named}")


def document():
    """The code of docs/PYTHON.md runs from its first block to its last."""
    with open(os.path.join(ROOT, "docs/PYTHON.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where there are no GPUs
        for block in blocks:
            exec(compile(block, "docs/PYTHON.md", "exec"), names)
    for line, said in re.findall(r"^(target\b.*?) +# (\(.*\))$", "".join(blocks), re.M):
        check(eval(line, names) == ast.literal_eval(said), f"{line} is {eval(line, names)}")
    check(len(blocks) > 12 and names["volume"].shape == (32, 32, 32) and len(names["members"]) == 4, f"{len(blocks)} blocks")
    check(0 < names["compared"].score < 2 and names["found"].bounds["wiener"][0] < names["found"].conductivity["x"], "figures")


def bars():
    """progress=True shows a bar where a terminal is, and takes it away; a pipe gets nothing."""
    script = "import mesoforge, numpy; mesoforge.match(numpy.eye(32, dtype='u1'), size=[32, 32], limit_to=8, progress=True)"
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, f"{done}")
    ours, theirs = os.openpty()
    with subprocess.Popen([sys.executable, "-c", script], env=env, stderr=theirs) as done:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # its end
            while part := os.read(ours, 4096):
                said += part
    os.close(ours)
    check(done.returncode == 0 and b"#" in said and said.endswith(b" \r"), repr(said))


def examples():
    for name in ("verbs", "mcrpy", "devices", "describe", "model", "table", "result", "bar", "session"):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            failed, tried = doctest.testmod(sys.modules[f"mesoforge.{name}"])
        check(tried > 0 and failed == 0, f"{name}: {said.getvalue()}")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        mesoforge.mcrpy.print_gpu_status()
    check("GPUs" in said.getvalue(), said.getvalue())
    raises(mesoforge.UsageError, "16 bits", lambda: mesoforge.mcrpy.setup_gpus(enable_mixed_precision=True))
    with warnings.catch_warnings(record=True) as warned:
        mesoforge.mcrpy.setup_gpus(gpu_ids=[0, 1], memory_limit=4096)
        words = {"descriptor_types": ["Correlations", "Variation"], "descriptor_weights": [1.0, 10.0], "gpu_ids": [0, 1]}
        dmcr = mesoforge.mcrpy.DMCR(memory_growth=True, use_distributed_loss=True, max_iter=3, limit_to=3, **words)
    check(len(warned) == (2 if mesoforge.get_device() == "cpu" else 0), f"without GPUs: {warned}")
    descriptor = mesoforge.characterize(blobs((24, 24), [0.5, 0.5], 1), descriptor_types=words["descriptor_types"], limit_to=3)
    convergence_data, made = dmcr.reconstruct(descriptor, (12, 12, 12))
    check(made.shape == (12, 12, 12) and convergence_data["evaluations"] == 3, f"{convergence_data}")
    dmcr = mesoforge.mcrpy.DMCR(mesoforge.mcrpy.setup_gpus(memory_limit=1000), limit_to=4)
    raises(mesoforge.InputError, "none.h5", lambda: dmcr.reconstruct("none.h5", (8, 8)))


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for _ in range(SETS):
            same_synth()
            same_compare()
            same_match()
        targets()
        results()
        structures()
        found()
        ensembles()
        models()
        bad_inputs()
        left_sessions()
        described()
        documented()
        document()
        bars()
        examples()
        os.chdir("/")
    print(f"{SETS} sets, {time.monotonic() - begin:.1f} s")


main()
finish("library_verbs")
