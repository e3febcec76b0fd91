"""Questions of other programs: data import --questions. What a script wrote as CSV, JSON lines and JSON stands in the set, on any number of ranks;
what is wrong is refused with its line. A set that data export writes comes back with its hash. usage: asked.py MESOFORGE MPIEXEC"""
import json
import os
import shutil
import sys
import tempfile

import runs
from runs import check, finish, optional, some

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
import lookalike as like
import png

run, made = runs.tools(program, mpiexec)
HEADS = {"yes_no": ["no", "yes"], "kind": ["effusion, small", "opacity", "tube"], "place": ["heart", "left lung", "right lung"],
         "severity": ["mild", "none", "severe"]}


def arrays(path):
    with h5py.File(path) as file:
        found = {}
        file.visititems(lambda name, one: found.update({name: one[()]}) if isinstance(one, h5py.Dataset) and len(one.shape) else None)
        names = {f"{array}.{k}": numpy.atleast_1d(file[array].attrs[k]).tolist() for array, k in (("questions/type", "types"), ("questions/type", "heads"), ("questions/label", "heads"),
                                                                            ("questions/label", "answers"), ("questions/label", "names"))}
        return {**found, **names}


def same(one, other, without=()):
    return one.keys() == other.keys() and all(numpy.array_equal(one[k], other[k]) for k in one if k not in without)


def texts(one):
    return [bytes(t).rstrip(b"\0").decode() for t in one["questions/text"]]


def told(one):
    """Every question with the sum of its image's pixels, in words."""
    names, per_head, types = one["questions/label.names"], one["questions/label.answers"], one["questions/type.types"]
    found = []
    for text, sample, kind, label, grade in zip(texts(one), *(one["questions/" + k] for k in ("sample", "type", "label", "grade"))):
        head = label.argmax()
        found.append((int(one["samples/x"][sample].astype(int).sum()), text, types[kind], names[sum(per_head[:head]) + label[head]], chr(grade).strip("\0")))
    return sorted(found)


def wanted():
    rows = like.rows()
    return sorted((int(png.read("look/" + r["image_id"]).astype(int).sum()), r["question"], r["question_type"],
                   r["answer"].lower() if r["answer"] in ("Yes", "No") else r["answer"], r["grade"]) for r in rows)


def as_written():
    like.make("look")
    words = ("data", "import", "look", "--questions", "look/questions.csv", "--scenes", "look/scenes.jsonl", "--output")
    made(*words, "look.h5")
    one = arrays("look.h5")
    check(told(one) == wanted(), "questions are others than in the table")
    for ranks, form in ((2, "questions.jsonl"), (3, "questions.csv")):
        made("data", "import", "look", "--questions", "look/" + form, "--scenes", "look/scenes.jsonl", "--output", "many.h5", ranks=ranks)
        check(same(one, arrays("many.h5")), f"{form} on {ranks} ranks")
    made("data", "import", "look", "--questions", "look/questions.json", "--scenes", "look/findings.csv", "--output", "nested.h5")
    check(told(arrays("nested.h5")) == wanted(), "questions of a list of images are others")
    return one


def in_order(one):
    """Samples come in the order of the file, rows in that of the samples, types in the order of the alphabet, heads in ours."""
    rows, images = like.rows(), []
    for r in rows:
        images += [r["image_id"]] if r["image_id"] not in images else []
    check(numpy.array_equal(one["samples/x"], [png.read("look/" + i) for i in images]), "samples")
    check(texts(one) == [r["question"] for i in images for r in rows if r["image_id"] == i], "rows")
    check(one["questions/type.types"] == sorted(like.ANSWERS) and one["questions/label.heads"] == list(HEADS), "types and heads")
    check(one["questions/label.names"] == sum(HEADS.values(), []), f"answers: {one['questions/label.names']}")
    check([one["questions/label.heads"][h] for h in one["questions/type.heads"]] == [like.HEADS[t] for t in sorted(like.ANSWERS)], "heads of the types")
    known = {"train": 0, "validate": 1, "test": 2}
    numbers = [int(i.split("/s")[1].split("/")[0]) - 500 for i in images]
    check(list(one["index/split"]) == [known[like.split_of(n)] for n in numbers], "splits")
    elsewhere = {r["question"] for r in rows if r["split"] != "test"}
    check([t not in elsewhere for t in texts(one)] == list(one["questions/held_out"] == 1) and one["questions/held_out"].any(), "held out")
    return numbers


def scenes(one, numbers):
    for sample, i in enumerate(numbers):
        boxes = sorted(like.boxes(i), key=lambda b: -(b[2] - b[0]) * (b[3] - b[1]))[:8]
        want = numpy.zeros((8, 6), "f4")
        for k, (x0, y0, x1, y1) in enumerate(boxes):
            want[k] = [y0 / like.SIZE, x0 / like.SIZE, y1 / like.SIZE, x1 / like.SIZE, (x1 - x0) * (y1 - y0) / like.SIZE**2, 0]
        check(numpy.array_equal(one["samples/objects"][sample], want), f"objects of image {i}")
        findings = [255 if v in (-1, None) else v for v in like.scene(i)["findings"].values()]
        check(list(one["samples/findings"][sample]) == findings, f"findings of image {i}")
    said = json.loads(made("data", "info", "look.h5", "--json").out)["questions"]
    grades = [r["grade"] for r in like.rows()]
    check(said["grades"] == {g or "none": grades.count(g) for g in ("A", "B", "")}, f"grades: {said['grades']}")
    for name, kind in said["types"].items():
        count = list(kind["answers"].values())
        check(kind["majority"] == max(count) / sum(count), f"the most frequent answer of {name}")
    check("%)" in made("data", "info", "look.h5").out, "its share in words")


HEAD = "file,question,answer,question_type,split\n"
FOLDER = "look/files/p10/p10000000/s500"
IMAGE = "00000000-aaaa.png"


def write(path, text):
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def refused(says, name, text, *more, status=3, where=FOLDER, ranks=1):
    write(name, text)
    done = run("data", "import", where, "--questions", name, "--output", "never.h5", *more, ranks=ranks)
    check(done.status == status and says in done.err and done.err.count("\n") == 1 and not os.path.exists("never.h5"), f"{says}: {done}")


def wrong_rows():
    good = f"{IMAGE},is it?,yes,is_normal,train\n"
    for says, row in some((
            ("line 3 of 'q.csv' has the question type 'is_norml', which no head answers; did you mean 'is_normal'?", f"{IMAGE},is it?,yes,is_norml,train"),
            ("line 3 of 'q.csv' has the question type 'colour', which no head answers; give it one", f"{IMAGE},is it?,yes,colour,train"),
            ("line 3 of 'q.csv' has the answer 'yess', which the head 'yes_no' does not have; did you mean 'yes'?", f"{IMAGE},is it?,yess,is_normal,train"),
            ("line 3 of 'q.csv' is about 'b.png', which is not in 'look/files/p10/p10000000/s500'; 1 picture is missing", "b.png,is it?,yes,is_normal,train"),
            ("'b.png', which is not in 'look/files/p10/p10000000/s500'; 2 pictures are missing", "b.png,is it?,yes,is_normal,train\nc.png,is it?,no,is_normal,train"),
            ("line 3 of 'q.csv' puts '00000000-aaaa' into the split test, and it is in train", "00000000-aaaa,is it?,yes,is_normal,test"),
            ("line 3 of 'q.csv' has the split 'tst'; write train", f"{IMAGE},is it?,yes,is_normal,tst"),
            ("line 5 of 'q.csv' has an empty question", f"\n\n{IMAGE}, ,yes,is_normal,train"), ("line 3 of 'q.csv' has no answer", f"{IMAGE},is it?,,is_normal,train"),
            ("line 3 of 'q.csv' has no question type", f"{IMAGE},is it?,yes,,train"), ("line 3 of 'q.csv' names no image", ",is it?,yes,is_normal,train"),
            ("line 3 of 'q.csv' has 4 cells", f"{IMAGE},is it?,yes,is_normal"),
            ("'q.csv' has no question for the head 'place' in the train split", "../s501/00000001-aaaa.png,where?,here,where_is_finding,test"),
            ("the answer 'xxxxxxxx", f"{IMAGE},where?,{'x' * 90},where_is_finding,train"))):
        refused(says, "q.csv", HEAD + good + row + "\n", ranks=2 if "line 5" in says else 1)
    refused("line 2 of 'q.csv' has letters that are not UTF-8 (byte 0xFF)", "q.csv", HEAD.encode() + b"a.png,\xff?,yes,is_normal,train\n")
    refused("'q.csv' has no column 'question_type', which questions need (columns: 'file', 'question', 'answer')", "q.csv", "file,question,answer\na,b,c\n")
    refused("line 2 of 'q.csv' has the grade '7', which is no letter", "q.csv", "file,question,answer,type,grade\n" + f"{IMAGE},is it?,yes,is_normal,7\n")
    refused("'q.csv' has no questions; if it is about images", "q.csv", "image,Edema\na,1\n")


def wrong_json():
    row = {"image": IMAGE, "question": "is it?", "answer": "yes", "type": "is_normal"}
    for says, value in some((("several answers", {**row, "answer": ["yes", "no"]}), ("a question has no objects", {**row, "objects": []}), ("has no answer", {**row, "answer": None}),
                        ("has an empty question", {**row, "question": " \n"}), ("a text has a zero character", {**row, "question": "is\0it?"}),
                        ("this must be an object", [1]), ("names no image", {"objects": []}), ("four numbers", {"image": IMAGE, "objects": [[1, 2, 3]]}))):
        write("q.jsonl", json.dumps(row) + "\n" + json.dumps(value) + "\n")
        done = run("data", "import", FOLDER, "--questions", "q.jsonl", "--output", "never.h5")
        check(done.status == 3 and "line 2 of 'q.jsonl'" in done.err and says in done.err, f"{says}: {done}")
    refused("item 2 of 'q.json': this must be an object", "q.json", json.dumps([row, 1]))
    refused("line 2 of 'q.jsonl' is not JSON", "q.jsonl", json.dumps(row) + "\n{'image'}\n")
    refused("'q.json' is not JSON", "q.json", b'[{"image": "\xff"}]')


def wrong_scenes():
    asked = HEAD + f"{IMAGE},is it?,yes,is_normal,train\n"
    for says, value in some((("has the box [9, 2, 3, 4] of '00000000-aaaa', which is empty or turned round", {"objects": [[9, 2, 3, 4]]}),
                        ("has the box [1, 2, 3, 25] of '00000000-aaaa', which leaves the image of 24 x 24 pixels", {"objects": [{"box": [1, 2, 3, 25]}]}),
                        ("has an object of 1000 pixels", {"objects": [{"box": [1, 2, 3, 4], "area": 1000}]}), ("area and phase", {"objects": [{"box": [1, 2, 3, 4], "phase": -1}]}),
                        ("the finding 'Edema' must be 1, 0, -1 or null", {"findings": {"Edema": 2}}), ("line 2 of 's.jsonl' has objects of '00000000-aaaa' again", {"objects": []}),
                        ("line 2 of 's.jsonl' has findings of '00000000-aaaa' again", {"findings": {"Edema": 1}}), ("'s.jsonl' has questions; --scenes is about images", json.loads('{"question": "?", "answer": "no", "type": "is_normal"}')))):
        write("s.jsonl", (json.dumps({"image": "00000000-aaaa", **value}) + "\n") * 2)
        refused(says, "q.csv", asked, "--scenes", "s.jsonl")
    write("s.csv", "image,Edema\n00000000-aaaa,maybe\n")
    refused("line 2 of 's.csv': the finding 'Edema' is 'maybe'", "q.csv", asked, "--scenes", "s.csv")


def wrong_types():
    asked = HEAD + f"{IMAGE},which?,steel,metal,train\n"
    for says, text in some((("'t.yaml' has an unknown key 'question_type'; did you mean question_types", "question_type: {metal: kind}"),
                       ("t.yaml:3:3: this key stands twice", "question_types:\n  metal: kind\n  metal: place"),
                       ("t.yaml:1:", "- metal"), ("t.yaml:2:1: not YAML", "question_types: {metal: kind\n"), ("'metal' of question_types must be the name of a head", "question_types: {metal: [kind]}"),
                       ("'kind' of heads must be a list of answers", "question_types: {metal: kind}\nheads: {kind: steel}"), ("the head 'kind' has the answer 'iron' twice", "question_types: {metal: kind}\nheads: {kind: [iron, iron]}"),
                       ("has the answer 'steel', which the head 'kind' does not have", "question_types: {metal: kind}\nheads: {kind: [iron, lead]}"), ("must be a number, the threshold", "findings: {a: b}"))):
        write("t.yaml", text)
        refused(says, "q.csv", asked, "--question-types", "t.yaml")
    write("t.yaml", "question_types: {metal: category, size: severity}\nheads: {category: [iron, steel]}\n")
    write("q.csv", asked)
    made("data", "import", FOLDER, "--questions", "q.csv", "--question-types", "t.yaml", "--output", "metal.h5")
    metal = arrays("metal.h5")
    check(metal["questions/label.names"] == ["iron", "steel"] and list(metal["questions/label"][0]) == [1] and metal["questions/label.heads"] == ["kind"], "given answers")
    write("words.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nwhich\n?\n")
    made("data", "import", FOLDER, "--questions", "q.csv", "--question-types", "t.yaml", "--vocabulary", "words.txt", "--output", "metal.h5")
    with h5py.File("metal.h5") as file:
        check(file["questions/vocabulary"][()].decode() == open("words.txt").read(), "a given vocabulary")
    for says, text in some((("'words.txt' lacks the special token '[UNK]'", "[CLS]\n[SEP]\n"), ("has the token 'a' in line 1 and again in line 2", "a\na\n"), ("'words.txt' is no vocabulary", b"\xff\n"))):
        write("words.txt", text)
        refused(says, "q.csv", asked, "--question-types", "t.yaml", "--vocabulary", "words.txt")


def arrays_and_long_texts():
    """Samples of an array have numbers. Objects are found in two phases, unless a file says them."""
    x = numpy.zeros((3, 8, 8), "u1")
    x[:, 2:5, 1:7] = 1
    numpy.save("x.npy", x)
    rows = [{"sample": k, "question": "é" * 3000 if k else "is it?", "answer": True, "type": "is_normal"} for k in (2, 0, 2)]
    write("q.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    write("s.jsonl", json.dumps({"image": 1, "objects": [[0, 0, 8, 4]]}) + "\n")
    done = made("data", "import", "x.npy", "--phases", 2, "--questions", "q.jsonl", "--scenes", "s.jsonl", "--train", 1, "--validation", 0, "--output", "x.h5", ranks=2)
    check("'q.jsonl': 2 questions are cut after 2047 bytes, the first in line 1" in done.err, f"a long text: {done}")
    found = arrays("x.h5")
    check(list(found["questions/sample"]) == [0, 2, 2] and texts(found)[1] == "é" * 1023, "questions of an array")
    check(numpy.allclose(found["samples/objects"][0, :2], [[0, 0, 1, 1, 46 / 64, 0], [2 / 8, 1 / 8, 5 / 8, 7 / 8, 18 / 64, 1]]), "found objects")
    check(numpy.array_equal(found["samples/objects"][1, :2], [[0, 0, .5, 1, .5, 0], [0] * 6]), "a given object")
    refused("line 2 of 'q.csv' is about '3'; samples of 'x.npy' are called 0 to 2", "q.csv", HEAD + "3,is it?,yes,is_normal,train\n", where="x.npy")
    numpy.save("v.npy", numpy.zeros((2, 8, 8, 8), "u1"))
    refused("'v.npy' holds volumes", "q.csv", HEAD + "0,is it?,yes,is_normal,train\n", where="v.npy")
    write("t.csv", f"file,split\n{IMAGE},train\n")
    refused("line 2 of 'q.csv' is about 'z.png', which 't.csv' does not name", "q.csv", HEAD + "z.png,is it?,yes,is_normal,train\n", "--table", "t.csv")
    write("t.csv", "file\na/1.png\nb/1.png\nb/2.png\n")
    for k in "a/1", "b/1", "b/2":
        os.makedirs("ab/" + k[0], exist_ok=True)
        png.write(f"ab/{k}.png", x[0])
    refused("line 2 of 'q.csv' is about '1.png', which 't.csv' does not name", "q.csv", HEAD + "1.png,is it?,yes,is_normal,train\n", "--table", "t.csv", where="ab")
    refused("line 2 of 'q.csv' is about 'a/2.png', which 't.csv' does not name", "q.csv", HEAD + "a/2.png,is it?,yes,is_normal,train\n", "--table", "t.csv", where="ab")
    write("q.csv", HEAD + "2.jpg,is it?,yes,is_normal,\na/1,is it?,yes,is_normal,\nb/1.tif,is it?,yes,is_normal,\n")
    made("data", "import", "ab", "--table", "t.csv", "--questions", "q.csv", "--train", 1, "--validation", 0, "--output", "ab.h5")
    check(list(arrays("ab.h5")["questions/sample"]) == [0, 1, 2], "names with other endings")
    write("q.csv", HEAD + "b/2.jpg,is it?,yes,is_normal,\na/1,is it?,yes,is_normal,\n")
    made("data", "import", "ab", "--questions", "q.csv", "--train", 1, "--validation", 0, "--output", "ab.h5")
    check(len(arrays("ab.h5")["samples/x"]) == 2, "pictures that questions name")
    write("t.csv", f"file,split\n{IMAGE},train\n")
    refused("line 2 of 'q.csv' puts '00000000-aaaa.png' into the split test, and it is in train", "q.csv", HEAD + f"{IMAGE},is it?,yes,is_normal,test\n", "--table", "t.csv")
    refused("--tile cuts these", "q.csv", HEAD, "--tile", 8, 8, status=2)
    done = run("data", "import", "x.npy", "--scenes", "s.jsonl")
    check(done.status == 2 and "--scenes is about questions" in done.err, f"scenes alone: {done}")


def hashes(path):
    said = json.loads(made("data", "info", path, "--json").out)
    return said["hash"], said["questions"]["hash"]


def again(name, source, *more, ranks=1):
    """Imports what data export wrote. @source: the samples, and what the names of the files beside begin with."""
    samples, beside, table = source
    made("data", "import", samples, "--table", table, "--questions", beside + "questions.csv", "--scenes", beside + "scenes.jsonl", "--question-types",
         beside + "question_types.json", "--vocabulary", beside + "vocab.txt", "--output", name, *more, ranks=ranks)
    return arrays(name)


def there_and_back():
    made("synth", "--num-samples", 40, "--questions", 3, "--size", 20, 12, "--seed", 3, "--output", "made.h5")
    made("data", "export", "made.h5", "--output", "made.npy", ranks=2)
    one, classes = arrays("made.h5"), ",".join(json.loads(made("data", "info", "made.h5", "--json").out)["classes"])
    back = again("back.h5", ("made.npy", "made.", "made.csv"), "--phases", 2, "--classes", classes, ranks=3)
    check(hashes("back.h5") == hashes("made.h5"), "questions that were exported and imported are others")
    check(all(numpy.array_equal(back[k], one[k]) for k in one if k.startswith("questions/") and k != "questions/text"), "arrays of questions")
    made("data", "export", "look.h5", "--output", "pictures")
    again("back.h5", ("pictures", "pictures/", "pictures/table.csv"))
    check(hashes("back.h5") == hashes("look.h5"), "questions with grades that were exported and imported are others")
    made("data", "export", "look.h5", "--split", "test", "--output", "part.npy")
    part = again("part.h5", ("part.npy", "part.", "part.csv"))
    look = arrays("look.h5")
    check(sum(look["index/split"][look["questions/sample"]] == 2) == len(part["questions/sample"]) and (part["index/split"] == 2).all(), "questions of a split")
    check("--tree does not write" in made("data", "export", "look.h5", "--tree", "png", "--output", "tree").err, "questions beside a tree")
    check("has questions" in run("data", "split", "look.h5").err, "data split")


def phases(one):
    """A phase of training sees questions of some grades, in every split."""
    grade, held, sample = one["questions/grade"], one["questions/held_out"], one["questions/sample"]
    split, first = one["index/split"][sample], numpy.searchsorted(sample, sample)
    together = min(4, -(-len(sample) // len(set(sample))))  # those of an image, which are one sample of the training
    group = first + (numpy.arange(len(sample)) - first) // together
    for phase, worst in ("pretrain", "B"), ("finetune", "A"):
        done = made("train", "vqa", "--data", "look.h5", "--phase", phase, "--arch", "vqa:width=8,text-width=16,heads=2", "--max-steps", 1, "--results-dir", phase,
                    "--no-plots", ranks=2 if worst == "A" else 1)
        count = [len(set(group[(grade > 0) & (grade <= ord(worst)) & (split == k) & ((k == 2) | (held == 0))])) for k in range(3)]
        check(f"{count[0]} samples to learn from, {count[1]} for validation, {count[2]} for the test" in done.err, f"{phase} {count}: {done.err}")
    said = made("train", "vqa", "--data", "look.h5", "--phase", "finetune", "--print-config").out
    check("learning-rate: 5e-05  # --phase" in said, f"the rate of a phase: {said}")
    done = run("train", "vqa", "--data", "made.h5", "--phase", "finetune")
    check(done.status == 3 and "questions have no grades" in done.err, f"a phase without grades: {done}")


def learns_without_scenes():
    """Questions alone are learnt and answered, too: without findings, and without objects."""
    made("data", "import", "look", "--questions", "look/questions.csv", "--output", "bare.h5")
    words = ("--arch", "vqa:width=8,text-width=16,heads=2", "--max-steps", 1, "--no-plots", "--results-dir")
    for data, more in ("bare.h5", ()), ("look.h5", ("--findings-weight", 0)):
        made("train", "vqa", "--data", data, *more, *words, "of " + data, ranks=2)
        scored = json.loads(made("eval", f"of {data}/model.safetensors", "--data", data, "--split", "all", "--json").out)
        check(scored["findings"] == {} and set(scored["types"]) == set(like.ANSWERS), f"{data} {more}: {scored}")


def broken_sets():
    """What other programs may write into a set."""
    for name, at, value, says in (("questions/grade", 5, 7, "question 5 has grade 7, not A to Z"), ("questions/label", (4, slice(None)), 40, "question 4, of type "),
                                  ("samples/objects", (2, 0, slice(0, 4)), [.5, 0, .25, 1], "object 0 of sample 2 is no box in the image: y 0.5 to 0.25, x 0 to 1"),
                                  ("questions/type.heads", 3, 9, "no head answers questions of type 'B10_is_abnormal_subcat'"), ("questions/type", 3, 40, "question 3 has type 40")):
        shutil.copy("look.h5", "broken.h5")
        with h5py.File("broken.h5", "r+") as file:
            if "." in name:
                array, key = name.split(".")
                values = file[array].attrs[key].copy()
                values[at] = value
                file[array].attrs[key] = values
            else:
                file[name][at] = value
        done = run("data", "verify", "broken.h5", ranks=2 if at == 5 else 1)
        check(done.status == 3 and says in done.err, f"{name}: {done}")


one = as_written()
scenes(one, in_order(one))
there_and_back()
phases(one)
learns_without_scenes()
broken_sets()
wrong_rows()
wrong_json()
wrong_scenes()
wrong_types()
arrays_and_long_texts()
finish("asked")
