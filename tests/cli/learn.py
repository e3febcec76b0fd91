"""Trained models: pictures of a training, eval, infer. usage: learn.py MESOFORGE MPIEXEC"""
import csv
import json
import os
import shutil
import struct
import sys
import tempfile

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
numpy = optional("numpy")
if not numpy:
    sys.exit(77)
KINDS = ("gaussian", "lamellae", "checkerboard")
MODEL = {"classify": "class/model.safetensors", "regress": "real/model.safetensors"}
TRAIN = {"classify": ("--arch", "cnn", "--width", 4, "--depth", 2), "regress": ("--arch", "mlp", "--width", 8, "--target", "volume_fraction", "length")}
run, good = runs.tools(program, mpiexec)


def refused(status, said, *words, **more):
    done = run(*words, **more)
    check(done.status == status and said in done.err, f"{words}: not refused with {status} and '{said}': {done}")


def train(kind, folder, *more, **others):
    return good("train", kind, "--data", "set.h5", *TRAIN[kind], "--epochs", 2, "--effective-batch", 16, "--results-dir", folder, *more, **others)


def pictures_of(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".png"))


def is_picture(path):
    with open(path, "rb") as file:
        check(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{path} is no picture")


def draws_a_training():
    train("classify", "class")
    train("regress", "real", ranks=2)
    check(pictures_of("class") == ["confusion.png", "training.png"], f"pictures: {pictures_of('class')}")
    check(pictures_of("real") == ["predicted.png", "training.png"], f"pictures: {pictures_of('real')}")
    for name in ("class/confusion.png", "class/training.png", "real/predicted.png", "real/training.png"):
        is_picture(name)
    train("classify", "bare", "--no-plots")
    check(pictures_of("bare") == [], f"--no-plots draws {pictures_of('bare')}")
    train("classify", "bare", "--information", "b")
    check(pictures_of("bare") == ["model_b.confusion.png", "model_b.training.png"], f"pictures of another model: {pictures_of('bare')}")


def replaces_no_picture():
    os.mkdir("owned")
    with open("owned/confusion.png", "w") as file:
        file.write("mine")
    words = ("train", "classify", "--data", "set.h5", *TRAIN["classify"], "--epochs", 1, "--results-dir", "owned")
    refused(7, "owned/confusion.png", *words)
    good(*words, "--no-plots")
    with open("owned/confusion.png") as file:
        check(file.read() == "mine", "a picture of somebody else is replaced")


def ends_without_a_picture():
    """A picture or the last state that cannot be written costs a warning, a model that cannot costs the run."""
    drawn = 0
    for visit in range(1, 7):
        words = ("train", "classify", "--data", "set.h5", *TRAIN["classify"], "--epochs", 1, "--results-dir", f"late{visit}")
        done = run(*words, fault=f"io.create:visit={visit}")
        drawn += done.err.count("no picture")
        check(done.status == (0 if "no picture" in done.err or "cannot go on from here" in done.err or "injected" not in done.err else 7), f"visit {visit}: {done}")
        check(done.status != 0 or os.path.exists(f"late{visit}/model.safetensors"), f"visit {visit}: there is no model")
    check(drawn == 2, f"{drawn} pictures could not be written")


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def make_set(path, samples, kinds=KINDS, size=(16, 16)):
    good("synth", "--num-samples", samples, "--size", *size, "--kinds", *kinds, "--output", path)


def eval_of(kind, data, *more, ranks=1):
    """What it prints, and its table."""
    done = good("eval", MODEL[kind], "--data", data, "--json", "--output", "table.csv", *more, ranks=ranks)
    return json.loads(done.out), table("table.csv")


def infer(kind, *words, ranks=1):
    done = good("infer", kind, MODEL[kind], *words, "--json", ranks=ranks)
    return [one["probabilities" if kind == "classify" else "values"] for one in json.loads(done.out)["predictions"]]


def near(one, other, limit=2e-6):
    return one.keys() == other.keys() and all(abs(one[k] - other[k]) <= limit for k in one)


def ranks_agree():
    """Every sample counts once: fewer samples than ranks, one more, a prime."""
    for kind in TRAIN:
        for samples in runs.some((1, 2, 4, 61), 1 if kind == "classify" else 3):
            make_set("few.h5", samples)
            said, rows = eval_of(kind, "few.h5", "--split", "all", "--batch-size", 5)
            check(said["samples"] == samples and [int(r["id"]) for r in rows] == list(range(samples)), f"{samples} samples: {said}")
            for ranks in runs.some((3, 2)):
                other, others = eval_of(kind, "few.h5", "--split", "all", "--batch-size", 5, ranks=ranks)
                check(others == rows, f"{kind} on {ranks} ranks: predictions differ")
                for key in ("loss", "accuracy", "confusion", "classes", "columns"):
                    check(other.get(key) == said.get(key), f"{kind} on {ranks} ranks: {key} {other.get(key)}, not {said.get(key)}")


def figures_are_those_of_the_table():
    results = json.loads(train("classify", "class", "--json").out)
    for split in ("test", "validation"):
        said, rows = eval_of("classify", "set.h5", "--split", split, "--plot", "confusion.png")
        right = sum(r["true"] == r["predicted"] for r in rows) / len(rows)
        check(abs(said["accuracy"] - right) < 1e-9, f"accuracy {said['accuracy']}, of the table {right}")
        check(abs(said["accuracy"] - results[split]["accuracy"]) < 1e-9, f"{split}: the training said {results[split]}")
        check(numpy.trace(said["confusion"]) == right * len(rows) and numpy.sum(said["confusion"]) == len(rows), "confusion")
        for k, one in enumerate(said["classes"]):
            is_k = [r for r in rows if r["true"] == one["name"]]
            check(one["name"] == KINDS[k] and one["samples"] == len(is_k), f"class {one}")
            check(abs(one["recall"] * len(is_k) - sum(r["predicted"] == KINDS[k] for r in is_k)) < 1e-9, f"recall of {one}")
        check(all(abs(sum(float(r[k]) for k in KINDS) - 1) < 1e-5 for r in rows), "probabilities")
    is_picture("confusion.png")
    said, rows = eval_of("regress", "set.h5", "--plot", "real.png")
    for one in said["columns"]:
        true, got = (numpy.array([float(r[f"{which}_{one['name']}"]) for r in rows]) for which in ("true", "predicted"))
        check(abs(one["mean_error"] - abs(true - got).mean()) < 1e-5, f"mean error of {one}")
        check(abs(one["r2"] - 1 + ((true - got) ** 2).sum() / ((true - true.mean()) ** 2).sum()) < 1e-4, f"R2 of {one}")
    is_picture("real.png")
    check("recall" in good("eval", MODEL["classify"], "--data", "set.h5").out, "a table of classes")
    check("mean absolute error" in good("eval", MODEL["regress"], "--data", "set.h5").out, "a table of columns")


def unlabelled_samples_do_not_count():
    good("data", "export", "set.h5", "--output", "x.npy")
    x = numpy.load("x.npy")[:9]
    numpy.save("nine.npy", x)
    numpy.save("labels.npy", numpy.array([0, -1, 2, 1, 0, -1, 2, 1, 0], numpy.int32))
    good("data", "import", "nine.npy", "--labels", "labels.npy", "--classes", *KINDS, "--phases", 2, "--output", "nine.h5")
    said, rows = eval_of("classify", "nine.h5", "--split", "all", ranks=2)
    right = sum(r["true"] == r["predicted"] for r in rows)
    check(said["samples"] == 9 and said["labelled"] == 7 and abs(said["accuracy"] - right / 7) < 1e-9, f"without labels: {said}")
    numpy.save("labels.npy", numpy.full(9, -1, numpy.int32))
    good("data", "import", "nine.npy", "--labels", "labels.npy", "--classes", *KINDS, "--phases", 2, "--output", "blank.h5")
    said = eval_of("classify", "blank.h5", "--split", "all")[0]
    check(said["labelled"] == 0 and said["accuracy"] is None and said["loss"] is None, f"no label: {said}")
    refused(3, "none of the 9 samples has a label", "eval", MODEL["classify"], "--data", "blank.h5", "--split", "all", "--plot", "blank.png")
    check(rows[1]["true"] == "" and rows[1]["predicted"] in KINDS, f"a sample without a label: {rows[1]}")


def classes_have_names():
    """Another order of the classes, some of them alone, and one that the model does not know: the predictions and what is right stay."""
    x = numpy.load("nine.npy")
    names = numpy.array([0, 1, 2, 1, 0, 0, 2, 1, 0])
    for at, (order, unknown) in enumerate(((KINDS, 0), (KINDS[::-1], 0), ((*KINDS[1:], "spheres"), 4))):
        numpy.save("labels.npy", numpy.array([order.index(KINDS[k]) if KINDS[k] in order else 2 for k in names], numpy.int32))
        good("data", "import", "nine.npy", "--labels", "labels.npy", "--classes", *order, "--phases", 2, "--output", "order.h5")
        done = good("eval", MODEL["classify"], "--data", "order.h5", "--split", "all", "--json", "--output", "table.csv", "--plot", "order.png", ranks=1 + at % 2)
        said, rows = json.loads(done.out), table("table.csv")
        first = rows if at == 0 else first
        check([r["predicted"] for r in rows] == [r["predicted"] for r in first], f"{order}: predictions")
        check([r["true"] for r in rows] == ["" if unknown and k == 0 else KINDS[k] for k in names], f"{order}: true classes {rows}")
        check([c["name"] for c in said["classes"]] == list(KINDS) and said["labelled"] == 9 - unknown, f"{order}: {said}")
        check(abs(said["accuracy"] * said["labelled"] - sum(r["true"] == r["predicted"] for r in rows)) < 1e-9, f"{order}: {said}")
        check(("class 'spheres' of 'order.h5' is none of the model" in done.err and "its 4 samples" in done.err) == (unknown > 0), f"{order}: {done.err}")


def files_and_samples_agree():
    good("data", "export", "set.h5", "--output", "pictures/")
    for kind in TRAIN:
        rows = eval_of(kind, "set.h5", "--split", "all")[1]
        before = "" if kind == "classify" else "predicted_"
        names = KINDS if kind == "classify" else ("volume_fraction", "length")
        wanted = [{name: float(r[before + name]) for name in names} for r in rows]
        whole = infer(kind, "set.h5", ranks=2)
        check(len(whole) == 60 and all(map(near, whole, wanted)), f"{kind}: samples of a dataset")
        for ranks in runs.some((3, 2, 1), 2):
            some = infer(kind, *[f"pictures/{k:08d}.png" for k in range(4)], "set.h5", "pictures/00000004.png", ranks=ranks)
            check(all(map(near, some, [*wanted[:4], *wanted, wanted[4]])), f"{kind}: files, {ranks} ranks")


def tiles_are_averaged():
    x = numpy.load("x.npy")
    numpy.save("one.npy", x[0])
    numpy.save("two.npy", x[0][:, ::-1])
    numpy.save("four.npy", numpy.tile(x[0], (2, 2)))
    long = numpy.hstack([x[0], x[1][:, :5]])
    numpy.save("long.npy", long)
    numpy.save("first.npy", long[:, :16])
    numpy.save("last.npy", long[:, 5:])
    for kind in TRAIN:
        one, four, whole, first, last = infer(kind, *(f"{n}.npy" for n in ("one", "four", "long", "first", "last")), "--batch-size", 3, ranks=2)
        check(near(one, four), f"{kind}: four equal tiles")
        check(near(whole, {k: (first[k] + last[k]) / 2 for k in first}), f"{kind}: two tiles that overlap")
    check("mean of 4 tiles" in good("infer", "classify", MODEL["classify"], "four.npy").out, "tiles")
    good("infer", "classify", MODEL["classify"], "one.npy", "set.h5", "--output", "said.csv")
    rows = table("said.csv")
    check(len(rows) == 61 and rows[0]["file"] == "one.npy" and rows[0]["sample"] == "" and rows[60]["sample"] == "59", "a table of files")
    parts = [part["name"] for part in json.loads(good("map", MODEL["classify"], "--json").out)["parts"]]
    for ranks, words in ((2, ("--pp", 2)), (4, ("--map", f"{parts[1]}=cuda:1,*=cuda:0"))):
        good("infer", "classify", MODEL["classify"], "one.npy", "set.h5", "--output", "cut.csv", *words, ranks=ranks)
        check(table("cut.csv") == rows, f"{ranks} ranks run the model in two parts: {words}")
    for site, said in (("io.open", "cannot open 'one.npy'"), ("memory:visit=5", "phase: no memory"), ("memory:visit=6", "readers: no memory")):
        done = run("infer", "classify", MODEL["classify"], "one.npy", "set.h5", "--pp", 2, "--threads", 1, ranks=2, fault=f"{site}:rank=1", timeout=20)
        check(done.status in (3, 5) and f"1 of 2 files was refused and left out; the first: {said}" in done.err, f"{site}: an error of one stage: {done}")
    for ranks in (1, 2, 3):  # ranks cut every weight, and share the samples
        done = good("infer", "classify", MODEL["classify"], "one.npy", "set.h5", "--output", "cut.csv", "--batch-size", 7, "--zero", 3, "--json", ranks=ranks)
        peak = json.loads(done.out)["peak_bytes"]
        check(table("cut.csv") == rows, f"{ranks} ranks cut the weights")
        check(peak["arena"] == peak["predicted"], f"{ranks} ranks cut the weights: {peak}")
    for site, said in (("io.open:rank=0", "cannot open 'one.npy'"), ("memory:visit=4:rank=1", "readers: no memory")):
        done = run("infer", "classify", MODEL["classify"], "one.npy", "set.h5", "--zero", 3, "--threads", 1, ranks=2, fault=site, timeout=20)
        check(done.status in (3, 5) and f"refused and left out; the first: {said}" in done.err, f"{site}: others do not wait for the weights: {done}")
    refused(2, "'bogus' meets no part", "infer", "classify", MODEL["classify"], "one.npy", "--map", "bogus=cpu")
    refused(2, "3 stages do not divide 2 ranks; try: mpirun -n 3", "infer", "classify", MODEL["classify"], "one.npy", "--pp", 3, ranks=2)


def one_bad_file_costs_no_other():
    with open("bad.npy", "w") as file:
        file.write("nothing")
    files = ("one.npy", "bad.npy", "two.npy", "gone.npy", "few.h5", "gone.h5")
    for ranks in (1, 3):
        done = run("infer", "classify", MODEL["classify"], *files, "--json", "--output", "some.csv", ranks=ranks)
        said = json.loads(done.out)
        check(done.status == 3 and "3 of 6 files were refused and left out; the first: 'bad.npy'" in done.err, f"{ranks} ranks: {done}")
        check([p["file"] for p in said["predictions"]] == ["one.npy", "two.npy", "few.h5", "few.h5"] == [r["file"] for r in table("some.csv")], f"{ranks} ranks: {said}")
        check(sorted(r["file"] for r in said["refused"]) == ["bad.npy", "gone.h5", "gone.npy"] and all(r["file"] in r["error"] for r in said["refused"]), f"{said}")
        check([f"warning: left out: " in line for line in done.err.splitlines() if "left out: " in line] == [True] * 3, f"{ranks} ranks: {done.err}")
    refused(3, "2 of 2 files were refused", "infer", "classify", MODEL["classify"], "bad.npy", "gone.npy", "--output", "none.csv")
    check(not os.path.exists("none.csv"), "a table of nothing")


def images_of_files():
    """A model of images reads files as it reads samples: grey ones, colours, and .npy with channels."""
    random = numpy.random.default_rng(2)
    for name, x in (("grey", random.integers(0, 256, (40, 16, 16), numpy.uint8)), ("colour", random.random((40, 16, 16, 3)).astype("f4")),
                    ("rgb", random.integers(0, 256, (40, 16, 16, 3), numpy.uint8))):
        numpy.save(f"{name}s.npy", x)
        numpy.save("classes.npy", numpy.arange(40) % 2)
        good("data", "import", f"{name}s.npy", "--labels", "classes.npy", "--output", f"{name}.h5")
        good("train", "classify", "--data", f"{name}.h5", "--arch", "mlp", "--width", 4, "--epochs", 1, "--results-dir", name)
        numpy.save("image.npy", x[7])
        numpy.save("images2.npy", numpy.concatenate([x[7], x[8]], 1))
        files = ["image.npy", "images2.npy"]
        if name != "colour":
            good("data", "export", f"{name}.h5", "--output", f"{name}s/")
            good("data", "import", f"{name}s/00000007.png", *(["--colours"] if name == "rgb" else []), "--output", "single.h5")
            files += [f"{name}s/00000007.png", "single.h5"]
        said = [one["probabilities"] for one in json.loads(good("infer", "classify", f"{name}/model.safetensors", *files, f"{name}.h5", "--json", ranks=2).out)["predictions"]]
        one, wide, all_of = said[0], said[1], said[len(files):]
        check(all(near(one, s) for s in [*said[2:len(files)], all_of[7]]), f"{name}: files and samples differ")
        check(near(wide, {k: (all_of[7][k] + all_of[8][k]) / 2 for k in one}), f"{name}: tiles")
        refused(2, "reads images", "infer", "classify", f"{name}/model.safetensors", "image.npy", "--threshold", "otsu")
        refused(3, "'labels.npy' is not the model's image", "infer", "classify", f"{name}/model.safetensors", "labels.npy")


def parts(model):
    """The header of a file of weights, the card in it, and all bytes behind it."""
    with open(model, "rb") as file:
        data = file.read()
    length = 8 + struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:length])
    return head, json.loads(head["__metadata__"]["mesoforge"]), data[length:]


def write_model(name, model, change):
    """The same weights; @change makes a new card of header and card, or changes the header and returns None."""
    head, card, values = parts(model)
    card = change(head, card)
    if card:
        head["__metadata__"]["mesoforge"] = json.dumps(card)
    text = json.dumps(head).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + values)


def other_scales():
    """A network is sure of itself on values of another scale, and wrong: one line says so, however many files there are. Phases are no grey values."""
    model = "grey/model.safetensors"
    card = parts(model)[1]["input"]
    check(card["type"] == "uint8" and card["min"] == [0] and card["max"] == [255], f"the card of a model of images: {card}")
    check(parts("colour/model.safetensors")[1]["input"]["type"] == "float32" and parts(MODEL["classify"])[1]["input"]["type"] == "phases", "types")
    check("uint8, mean" in good("info", model).out, "info of a model of images")
    image = numpy.load("greys.npy")[7]
    for name, x in (("same", image), ("sixteen", image.astype("u2") * 257), ("unit", image / 255), ("nibble", image // 16), ("few", image % 3), ("wide", 128 + (image - 128.) * 5), ("huge", image * 1e60), ("black and white", (image > 127) * 255), ("zero", image - 128.), ("blank", image * 0 + 127)):
        numpy.save(f"{name}.npy", x)
    for ranks in runs.some((1, 3)):
        said = good("infer", "classify", model, "same.npy", "sixteen.npy", "same.npy", "sixteen.npy", "unit.npy", ranks=ranks).err
        check(said.count("warning") == 1 and "'sixteen.npy' and 2 more files: mean 3" in said and "(uint16, " in said and "(uint8, 0 to 255)" in said, f"scales of files: {said}")
        if ranks == 1:
            check(said == good("infer", "classify", model, "same.npy", "sixteen.npy", "same.npy", "sixteen.npy", "unit.npy", "--pp", "2", ranks=2).err, "a file counts once, also where two stages read it")
        odd = [f"{name}.npy" for name in ("nibble", "wide", "black and white", "zero", "blank")]
        check("'nibble.npy' and 4 more files: mean" in good("infer", "classify", model, *odd, ranks=ranks).err, "4 bits for 8, 5 times the contrast, two values, less their mean, one value")
        check("warning" not in good("infer", "classify", model, "same.npy", "grey.h5", ranks=ranks).err, "the scale of the training")
        refused(3, "'few.npy' holds whole numbers from 0 to 2, which look like phases", "infer", "classify", model, "few.npy", ranks=ranks)
        refused(3, "which does not fit into float32", "infer", "classify", model, "huge.npy", ranks=ranks)
    numpy.save("scaled.npy", numpy.load("greys.npy") / 255)
    good("data", "import", "scaled.npy", "--labels", "classes.npy", "--output", "scaled.h5")
    check("'scaled.h5': mean 0." in good("eval", model, "--data", "scaled.h5", ranks=2).err, "the scale of a set")
    check("'scaled.h5': mean 0." in good("infer", "classify", model, "scaled.h5", ranks=2).err, "the scale of a set")
    check("warning" not in good("eval", model, "--data", "grey.h5").err, "the scale of the training's set")
    write_model("old.safetensors", model, lambda head, card: {**card, "input": {k: card["input"][k] for k in ("extents", "phases", "mean", "deviation")}})
    check("learnt from mean 12" in good("infer", "classify", "old.safetensors", "sixteen.npy").err, "a model without a range")
    write_model("odd.safetensors", model, lambda head, card: {**card, "input": {**card["input"], "type": "u" * 3000}})
    check(f"({'u' * 16}, 0 to 255)" in good("infer", "classify", "odd.safetensors", "sixteen.npy").err, "a type of 3000 letters")


def bad_models():
    model = MODEL["classify"]
    sizes = {"width": 4, "depth": 2, "heads": 0, "patch": 0, "dropout": 0.0}
    write_model("first.safetensors", model, lambda head, card: {**card, "version": 1, "arch": "cnn", "arguments": sizes})
    said = [good("infer", "classify", name, "one.npy").out for name in (model, "first.safetensors")]
    check(said[0] == said[1], f"a model of version 1: {said}")
    with open(model, "rb") as file:
        data = file.read()
    write_model("bare.safetensors", model, lambda head, card: head.pop("__metadata__") and None)
    write_model("other.safetensors", model, lambda head, card: {**card, "arch": "nothing"})
    write_model("wide.safetensors", model, lambda head, card: {**card, "arch": card["arch"].replace("width=4", "width=8")})
    write_model("deep.safetensors", model, lambda head, card: {**card, "input": {**card["input"], "extents": [1, 16, 16, 65]}})
    with open("cut.safetensors", "wb") as file:
        file.write(data[:-100])
    shutil.copy("x.npy", "no.safetensors")
    edited = lambda head, card, at, key, value: {**card, at: {**card[at], key: value}} if at else {**card, key: value}
    for said, at, key, value in (("must be names", None, "classes", [0, 1]), ("names 'a' twice", None, "classes", ["a", "a"]), ("of version 99, and 2 is read here", None, "version", 99),
                                 ("'mean' as this", "input", "mean", ["127.5"]), ("'deviation' of its metadata holds 0", "input", "deviation", [0.0]), ("holds -40", "input", "deviation", [-40.0]),
                                 ("'phases' as this", "input", "phases", 5), ("'phases' as this", "input", "phases", 1), ("'phases' as this", "input", "phases", 2**32 + 2),
                                 ("'activation', which no network has", None, "arch", "cnn:activation=relu"), ("'width' of its metadata is 1000000000", None, "arch", "cnn:width=1000000000"),
                                 ("'depth' of its metadata is -1", None, "arch", "cnn:width=4,depth=-1"), ("cnn:4: '4' is no size", None, "arch", "cnn:4"), ("there is no network 'cnm'", None, "arch", "cnm:width=4")):
        write_model("edited.safetensors", "grey/model.safetensors", lambda head, card: edited(head, card, at, key, value))
        refused(3, said, "infer", "classify", "edited.safetensors", "image.npy")
    def wrapped(head, card):
        for name in [name for name in head if name[0] != "_"]:
            head[f"module.{name}"] = head.pop(name)
    write_model("wrapped.safetensors", model, wrapped)
    open("page.safetensors", "w").write("<!DOCTYPE html><html>404</html>")
    refused(3, "begin with 'module.', which a wrapper of PyTorch puts there", "infer", "classify", "wrapped.safetensors", "one.npy")
    refused(3, "is text (a page of HTML?)", "infer", "classify", "page.safetensors", "one.npy")
    refused(3, "'set.h5' is HDF5; a model is a .safetensors file", "infer", "classify", "set.h5", "one.npy")
    for name, said in (("bare", "has no 'mesoforge' in its metadata"), ("other", "'arch'"), ("wide", ""), ("deep", "'extents'"), ("cut", ""), ("no", ""), ("missing", "cannot open")):
        for ranks in runs.some((1, 3), 1 if name == "bare" else 2):
            refused(3, said, "eval", f"{name}.safetensors", "--data", "set.h5", ranks=ranks)
            refused(3, said, "infer", "classify", f"{name}.safetensors", "one.npy", ranks=ranks)


def models_of_no_use():
    """Weights that are no numbers, and weights so large that outputs are none: no class, no value, and no status 0."""
    for kind in TRAIN:
        with open(MODEL[kind], "rb") as file:
            data = file.read()
        length = 8 + struct.unpack("<Q", data[:8])[0]
        first = "stem.conv.weight" if kind == "classify" else "layers.0.weight"
        for number, said in ((b"\xff\xff\xff\xff", f"its array '{first}' holds NaN"), (b"\xff\xff\x7f\x7f", "its output overflows")):
            with open("odd.safetensors", "wb") as file:
                file.write(data[:length] + number * ((len(data) - length) // 4))
            for ranks in runs.some((1, 2)):
                refused(6, said, "infer", kind, "odd.safetensors", "one.npy", "few.h5", "--output", "odd.csv", ranks=ranks)
                refused(6, said, "eval", "odd.safetensors", "--data", "set.h5", "--output", "odd.csv", ranks=ranks)
            check(not os.path.exists("odd.csv"), "a table of no numbers")


def bad_inputs():
    model = MODEL["classify"]
    make_set("small.h5", 12, size=(12, 12))
    make_set("others.h5", 12, kinds=("spheres", "cracks"))
    numpy.save("tiny.npy", numpy.eye(8, dtype=numpy.uint8))
    numpy.save("three.npy", numpy.arange(3).repeat(100)[:256].reshape(16, 16).astype(numpy.uint8))
    numpy.save("ones.npy", numpy.ones((16, 16), numpy.uint8))
    numpy.save("volume.npy", numpy.indices((20, 20, 20)).sum(0).astype(numpy.uint8) % 2)
    for ranks in runs.some((1, 2)):
        refused(3, "samples of 'small.h5' are images of 12 x 12 pixels with 2 phases", "eval", model, "--data", "small.h5", ranks=ranks)
        refused(3, "no class of 'others.h5' ('spheres', ..) is one of the model", "eval", model, "--data", "others.h5", ranks=ranks)
        refused(3, "missing.h5", "eval", model, "--data", "missing.h5", ranks=ranks)
        refused(3, "no sample in its test split", "eval", model, "--data", "few.h5", ranks=ranks)
        refused(3, "'tiny.npy' is [1 8 8], and the model", "infer", "classify", model, "one.npy", "tiny.npy", ranks=ranks)
        refused(3, "'three.npy' has 3 phases", "infer", "classify", model, "three.npy", ranks=ranks)
        refused(3, "'volume.npy' is [20 20 20]", "infer", "classify", model, "volume.npy", ranks=ranks)
        refused(3, "samples of 'small.h5'", "infer", "classify", model, "one.npy", "small.h5", ranks=ranks)
        refused(3, "missing.png", "infer", "classify", model, "one.npy", "missing.png", ranks=ranks)
        refused(2, "trained to classify; try: mesoforge infer classify", "infer", "regress", model, "one.npy", ranks=ranks)
        refused(2, "trained to regress; try: mesoforge infer regress", "infer", "classify", MODEL["regress"], "one.npy", ranks=ranks)
    refused(2, "--labels names 1 phase", "infer", "classify", model, "ones.npy", "--labels", 1)
    good("infer", "classify", model, "ones.npy", "--labels", "0,1")
    refused(2, "--target names 'length' twice", "train", "regress", "--data", "set.h5", "--target", "length", "length")
    refused(2, "no model", "eval")
    refused(2, "no dataset", "eval", model)
    refused(2, "no file", "infer", "classify", model)
    refused(2, "--batch-size", "infer", "classify", model, "one.npy", "--batch-size", 0)
    refused(2, "end with .csv", "eval", model, "--data", "set.h5", "--output", "t.txt")
    refused(2, "end with .png", "eval", model, "--data", "set.h5", "--plot", "t.csv")
    refused(7, "nowhere", "eval", model, "--data", "set.h5", "--output", "nowhere/t.csv")
    refused(7, "nowhere", "infer", "classify", model, "one.npy", "--output", "nowhere/t.csv", ranks=2)


make_set("set.h5", 60)
draws_a_training()
replaces_no_picture()
ends_without_a_picture()
ranks_agree()
figures_are_those_of_the_table()
unlabelled_samples_do_not_count()
classes_have_names()
files_and_samples_agree()
tiles_are_averaged()
make_set("few.h5", 2)
one_bad_file_costs_no_other()
images_of_files()
other_scales()
bad_models()
models_of_no_use()
bad_inputs()
finish("learn")
