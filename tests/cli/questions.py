"""Questions about the samples of a dataset: synth --questions. The same on any number of ranks, balanced in every split, answered as the images
say; what is wrong in a file is refused. usage: questions.py MESOFORGE MPIEXEC"""
import json
import os
import shutil
import sys
import tempfile

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
run, made = runs.tools(program, mpiexec)
SAMPLES, EACH = 128, 5


def arrays(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, one: found.update({name: one[()]}) if isinstance(one, h5py.Dataset) else None)
    return found


def ranks_agree():
    words = ("synth", "--num-samples", SAMPLES, "--questions", EACH, "--size", 32, 32, "--seed", 3, "--output")
    made(*words, "asks.h5")
    one = arrays("asks.h5")
    for ranks, *more in ((2,), (3, "--compress", 4)):
        made(*words, "many.h5", *more, ranks=ranks)
        many = arrays("many.h5")
        check(one.keys() == many.keys() and all(numpy.array_equal(one[k], many[k]) for k in one), f"{ranks} ranks {more}")
    return one


def names():
    with h5py.File("asks.h5") as file:
        label, kind = file["questions/label"].attrs, file["questions/type"].attrs
        check(list(label["answers"]) == [2, 8, 26, 4] and len(label["names"]) == 40, "answers of the heads")
        check(len(file["samples/findings"].attrs["thresholds"]) == 14, "findings")
        tokens = file["questions/vocabulary"][()].decode().split("\n")
        check({"[UNK]", "percolate", "a", "##z", "?"} <= set(tokens) and len(set(tokens)) == len(tokens), "vocabulary")
        return list(kind["types"]), kind["heads"]


def rows_are_fair(one, types, heads, texts):
    sample, kind, held, label = (one["questions/" + k] for k in ("sample", "type", "held_out", "label"))
    split, answer = one["index/split"][sample], label.max(1)
    check((sample == numpy.arange(SAMPLES * EACH) // EACH).all(), "rows are in the order of the samples")
    check(((label >= 0).sum(1) == 1).all() and (label.argmax(1) == heads[kind]).all(), "one answer, of the head of the type")
    check(held.any() and not held[split != 2].any(), "phrasings of tests alone")
    check(not {t for t, h in zip(texts, held) if h} & {t for t, h in zip(texts, held) if not h}, "held-out phrasings are trained")
    for part in range(3):
        for t in range(4):
            own = answer[(split == part) & (kind == t)]
            check(2 * own.sum() == len(own), f"{types[t]} in split {part}: {own.sum()} yes of {len(own)}")
    shares = numpy.bincount(kind) / len(kind)
    check(shares[types.index("percolates")] > 0.1 and shares.min() > 0.02, f"shares of types: {shares}")


def answers_are_true(one, types, texts):
    light = one["samples/x"].mean((1, 2))
    check((light > 0.5).sum() == SAMPLES / 2 and light.min() > 0.14 and light.max() < 0.86, "phases change in half of the samples")
    for text, sample, kind, label in zip(texts, one["questions/sample"], one["questions/type"], one["questions/label"]):
        share = light[sample] if "light" in text else 1 - light[sample]
        if types[kind] == "larger_phase":
            check(label[0] == (share > 0.5), text)
        if types[kind] == "fraction":
            check(label[3] == min(3, int(4 * share + 1e-9)), text)
        if types[kind] == "morphology":
            check(label[1] == one["samples/label"][sample], text)


def boxes_hold_their_phase(one):
    for x, objects in zip(one["samples/x"], one["samples/objects"]):
        for y0, x0, y1, x1, share, phase in objects[objects[:, 4] > 0]:
            box = x[round(y0 * 32):round(y1 * 32), round(x0 * 32):round(x1 * 32)] == phase
            edges = box[0].any() and box[-1].any() and box[:, 0].any() and box[:, -1].any()
            check(edges and box.sum() >= round(share * 1024), "a box is larger than its object")


def told(one, types):
    said = json.loads(made("data", "info", "asks.h5", "--json").out)["questions"]
    for t, name in enumerate(types):
        own = one["questions/type"] == t
        check(sum(said["types"][name]["answers"].values()) == own.sum(), f"data info: {name}")
        check(said["types"][name]["train"] == (own & (one["index/split"][one["questions/sample"]] == 0)).sum(), f"splits of {name}")
    check(said["questions"] == SAMPLES * EACH and said["held_out"] == one["questions/held_out"].sum(), "data info: questions")
    verified = json.loads(made("data", "verify", "asks.h5", "--json", ranks=2).out)
    check(verified["questions"] == said and "percolates" in made("data", "verify", "asks.h5").out, "data verify")
    check("percolates" in made("info", "asks.h5").out, "info")


def wrong_ones():
    kept = run("data", "split", "asks.h5")
    check(kept.status == 3 and "has questions" in kept.err, f"data split: {kept}")
    for name, at, value, words in (
            ("questions/label", 0, [99, 99, 99, 99], "question 0, of type"), ("questions/sample", 3, 119, "question 4 is not in the order"),
            ("questions/sample", 639, 128, "question 639 is about sample 128"), ("questions/text", 7, 0, "question 7 has no text"),
            ("questions/text", (7, 0), 255, "question 7 is not UTF-8"), ("questions/text", 7, 65, "question 7 does not end"),
            ("questions/type", 2, 200, "has type 200"), ("samples/findings", (5, 1), 7, "finding 1 of sample 5 is 7"),
            ("samples/objects", (4, 0, 2), 0, "object 0 of sample 4 is no box"), ("samples/objects", (4, 0, 3), 1.5, "object 0 of sample 4 is no box")):
        shutil.copy("asks.h5", "wrong.h5")
        with h5py.File("wrong.h5", "r+") as file:
            file[name][at] = value
        done = run("data", "verify", "wrong.h5")
        check(done.status == 3 and words in done.err, f"{name}: {done}")
    for name, words in (("questions/label", "questions/label"), ("questions/text", "questions/text")):
        shutil.copy("asks.h5", "wrong.h5")
        with h5py.File("wrong.h5", "r+") as file:
            values = file[name][:300].astype("i8")
            del file[name]
            file[name] = values
        done = run("data", "info", "wrong.h5", ranks=2)
        check(done.status == 3 and words in done.err, f"{name} of another type: {done}")


one = ranks_agree()
texts = [bytes(row).rstrip(b"\0").decode() for row in one["questions/text"]]
types, heads = names()
rows_are_fair(one, types, heads, texts)
answers_are_true(one, types, texts)
boxes_hold_their_phase(one)
told(one, types)
wrong_ones()
finish("questions")
