"""Answers to questions about images: infer answer says of a file and of a set what eval scores, on any number of ranks; who does not look;
refusals. usage: answer.py MESOFORGE MPIEXEC"""
import csv
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
import lookalike as like

run, made = runs.tools(program, mpiexec)
MODEL, TINY = "run/model.safetensors", "vqa:width=8,depth=2,heads=2,text-width=16,text-depth=1"


def answers(*words, ranks=1):
    return json.loads(made("infer", "answer", MODEL, *words, "--json", ranks=ranks).out)["answers"]


def begin():
    made("synth", "--num-samples", 60, "--questions", 4, "--size", 24, 24, "--seed", 5, "--output", "asked.h5")
    shutil.copy("asked.h5", "turned.h5")
    with h5py.File("turned.h5", "r+") as file:  # types in another order than in the model's file, which has them head by head
        kind = file["questions/type"]
        names, heads = kind.attrs["types"][::-1].copy(), kind.attrs["heads"][::-1].copy()
        kind[...] = len(names) - 1 - kind[()]
        kind.attrs.modify("types", names)
        kind.attrs.modify("heads", heads)
    made("train", "vqa", "--data", "turned.h5", "--arch", TINY, "--max-steps", 8, "--batch-size", 32, "--results-dir", "run")
    with h5py.File("asked.h5") as file:
        x = file["samples/x"][()]
        numpy.save("x.npy", x[3])
        numpy.save("wide.npy", numpy.concatenate([x[3], x[4]], 1))
        return file["questions/type"][()], list(file["questions/type"].attrs["types"])


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def answers_are_those_of_eval():
    """Objects of a set are those that it says, also where others would be found."""
    shutil.copy("asked.h5", "moved.h5")
    with h5py.File("moved.h5", "r+") as file:
        file["samples/objects"][...] = numpy.roll(file["samples/objects"][()], 1, 0)
    made("eval", MODEL, "--data", "moved.h5", "--output", "eval.csv", "--plot", "sheet.png")
    scored = rows_of("eval.csv")[::5]
    asked = answers("moved.h5", "--question", *(r["question"] for r in scored), "--batch-size", 16)
    check(len(asked) == 60 * len(scored), f"{len(asked)} answers about 60 samples and {len(scored)} questions")
    for k, row in enumerate(scored):
        said = asked[int(row["sample"]) * len(scored) + k]
        check((said["question"], said["type"], said["answer"]) == (row["question"], row["type"], row["predicted"]), f"{said}, not {row}")
        check(abs(said["probability"] - float(row["probability"])) < 1e-5, f"probability of {said}, not {row}")
        check(abs(sum(said["probabilities"].values()) - 1) < 1e-5, f"probabilities of {said}")
    check(os.path.getsize("sheet.png") > 10000, "the sheet of images and answers")


def files_and_ranks():
    words = ("x.npy", "asked.h5", "wide.npy", "--question", "is the dark phase connected?", "what is the morphology?")
    one = answers(*words)
    for ranks in 2, 3:
        check(answers(*words, ranks=ranks) == one, f"answers on {ranks} ranks")
    check(answers(*words, "--zero", 3, ranks=3) == one, "ranks cut the weights, and share the samples")
    check(answers(*words, "--device", "shadow", "--offload-weights", "host") == one, "weights in host memory")
    check(len(one) == 2 * 62 and [a["type"] for a in one[:2]] == ["connected", "morphology"], "an answer for each sample and question")
    check(all(abs(one[k]["probabilities"][a] - p) < 1e-6 for k in range(2) for a, p in one[8 + k]["probabilities"].items()), "a file and the same sample of a set")
    mean = {k: (one[8]["probabilities"][k] + one[10]["probabilities"][k]) / 2 for k in one[8]["probabilities"]}
    check(one[-2]["tiles"] == 2 and all(abs(one[-2]["probabilities"][k] - v) < 1e-6 for k, v in mean.items()), "the mean over tiles")
    text = made("infer", "answer", MODEL, "wide.npy", "--question", "is the dark phase connected?", "--output", "said.csv")
    check("is the dark phase connected? " in text.out and "(mean of 2 tiles)" in text.out, f"text: {text}")
    check("the mean over its tiles" in text.err, "a warning of tiles")
    check(rows_of("said.csv")[0]["type"] == "connected", "a table of answers")


def objects_of_one_set():
    """Grey images without boxes have no objects, also behind a set that has some."""
    like.make("look")
    made("data", "import", "look", "--questions", "look/questions.csv", "--scenes", "look/scenes.jsonl", "--output", "look.h5")
    made("train", "vqa", "--data", "look.h5", "--arch", TINY, "--max-steps", 8, "--batch-size", 8, "--results-dir", "grey")
    shutil.copy("look.h5", "bare.h5")
    with h5py.File("bare.h5", "r+") as file:
        del file["samples/objects"]
    words = ("--question", like.rows()[0]["question"], "--type", like.rows()[0]["question_type"], "--batch-size", 3, "--json")
    seen, alone, both = ([a["probability"] for a in json.loads(made("infer", "answer", "grey/model.safetensors", *files, *words).out)["answers"]]
                         for files in (("look.h5",), ("bare.h5",), ("look.h5", "bare.h5")))
    check(both == seen + alone and seen != alone, "objects of another set")


def types_of_words():
    check(answers("x.npy", "--question", "xyz", "--type", "fraction")[0]["type"] == "fraction", "--type")
    two = answers("x.npy", "--question", "xyz", "uvw", "--type", "largest", "aligned")
    check([a["type"] for a in two] == ["largest", "aligned"], "a --type for each question")
    words = "is the red phase the larger one of the red, odd pixels of the image?", "is the dark phase the larger one?"
    check([a["unknown_words"] for a in answers("x.npy", "--question", *words)] == [["red", "odd"], []], "unknown words")
    done = run("infer", "answer", MODEL, "x.npy", "--question", *words, ranks=2)
    check(done.err.count("does not know: ") == 1 and "does not know: red, odd; " in done.err, f"unknown words: {done.err}")
    check(", dark, " in done.err.split("have the words: ")[1], f"known words: {done.err}")
    done = run("infer", "answer", MODEL, "x.npy", "--question", "is the dark phase connected? " * 350)
    check(done.status == 0 and "are cut" in done.err and "(connected)" in done.out and len(done.out) < 300, f"10,000 characters: {done.err}")
    done = run("infer", "answer", MODEL, "x.npy", "--question", "\u4e2d" * 10000, "--type", "aligned")
    check(done.status == 0 and "the first 16383 are read" in done.err, f"30,000 bytes: {done.err}")


def refusals():
    numpy.save("small.npy", numpy.zeros((8, 8), "u1"))
    numpy.save("three.npy", numpy.arange(576).reshape(24, 24) % 3)
    good = "is the dark phase connected?"
    for status, said, *words in (
            (2, "question 2 is empty", "x.npy", "--question", good, " "), (2, "is not UTF-8: byte 4", "x.npy", "--question", os.fsdecode(b"is \xff")),
            (2, "--type names 2 types, and there is 1 question", "x.npy", "--question", good, "--type", "aligned", "largest"),
            (3, "is [1 8 8]", "small.npy", "--question", good), (3, "has 3 phases", "three.npy", "--question", good),
            (2, "--batch-size 0", "x.npy", "--question", good, "--batch-size", 0)):
        done = run("infer", "answer", MODEL, *words, ranks=1 + len(said) % 2)
        check(done.status == status and said in done.err and not done.out, f"{words}: {done}")


def who_does_not_look(kind, types):
    one, two = (json.loads(made("eval", MODEL, "--data", "asked.h5", "--json", ranks=r).out) for r in (1, 2))
    check(one["blind"] == two["blind"] and one["types"] == two["types"], "eval on 2 ranks")
    check({k: set(v) for k, v in one["blind"].items()} == {k: set(types) for k in ("majority", "measures", "question", "image")}, "blind")
    with h5py.File("asked.h5") as file:
        sample, label, held = (file["questions/" + k][()] for k in ("sample", "label", "held_out"))
        split = file["index/split"][()][sample]
    for t, name in enumerate(types):
        train, test = (label[(kind == t) & (split == s) & ((held == 0) | (s == 2))].max(1) for s in (0, 2))
        right = (test == numpy.bincount(train).argmax()).mean() if len(test) and len(train) else None
        got = one["blind"]["majority"][name]
        check(got == right or abs(got - right) < 1e-12, f"majority of {name}: {got}, not {right}")
    check(one["blind"]["measures"]["morphology"] is None and any(one["blind"]["measures"].values()), "measures: nobody guesses a class that he is told")
    text = made("eval", MODEL, "--data", "asked.h5", "--split", "validation").out
    check("\nlight_fraction >= 0.5 " in text, f"findings: {text}")
    shutil.copy("asked.h5", "none.h5")
    with h5py.File("none.h5", "r+") as file:
        del file["samples/findings"]
    check(">=" not in made("eval", MODEL, "--data", "none.h5", "--plot", "none.png").out, "findings of a set that has none")
    check("majority: the most frequent answer of the train split" in text and "with a grey image" in text, f"eval as text: {text}")


kinds, names = begin()
answers_are_those_of_eval()
files_and_ranks()
objects_of_one_set()
types_of_words()
refusals()
who_does_not_look(kinds, names)
finish("answer")
