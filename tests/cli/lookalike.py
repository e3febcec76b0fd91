"""A small look-alike of a set of questions about X-ray images: pictures in folders of patients, questions in a CSV and as JSON lines, scene graphs
and findings. Everything is made up; only names of columns, keys and types are those of such sets. lookalike.py FOLDER makes it."""
import csv
import json
import os
import sys

import numpy
import png

SIZE = 24
IMAGES = 12
FINDINGS = ("Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Enlarged Cardiomediastinum", "Fracture", "Lung Lesion", "Lung Opacity",
            "Pleural Effusion", "Pneumonia", "Pneumothorax", "Pleural Other", "Support Devices", "No Finding")
YES_NO = ("B10_is_abnormal_subcat", "B11_is_normal_subcat", "B13_has_devices", "C03_is_abnormal_region", "C04_is_normal_region", "C08_has_region_device",
          "D02_has_finding", "D06_has_device")
PLACE = ("C01_describe_region", "C02_describe_abnormal_region", "D03_where_is_finding", "D07_where_is_device")
SEVERITY = ("D04_how_severe_is_finding",)
KIND = ("A_indication", "B08_describe_subcat", "B09_describe_abnormal_subcat", "B12_describe_device", "C07_describe_region_device",
        "D01_describe_finding", "D05_describe_device")
ANSWERS = {**{t: ("Yes", "No") for t in YES_NO}, **{t: ("left lung", "right lung", "heart") for t in PLACE}, **{t: ("none", "mild", "severe") for t in SEVERITY},
           **{t: ("opacity", "tube", "effusion, small") for t in KIND}}
HEADS = {**{t: "yes_no" for t in YES_NO}, **{t: "place" for t in PLACE}, **{t: "severity" for t in SEVERITY}, **{t: "kind" for t in KIND}}


def name_of(i):
    return f"files/p1{i // 4}/p1000{i // 2:04d}/s{500 + i}/{i:08x}-aaaa.png"


def split_of(i):
    return ("train", "train", "train", "train", "validate", "test")[i % 6]


def rows():
    """Some images have many questions, some one, none of them in the order of the images."""
    found = []
    for i in range(IMAGES):
        for k, kind in enumerate(ANSWERS):
            if i % 4 == 3 and k != i % 20 or i == 7:
                continue
            text = f"Is it so in the {'upper' if i % 5 else 'lower'} part, of {kind}?" if split_of(i) != "test" or k % 2 else f"A new phrase, {kind} µ?"
            found.append({"image_id": name_of(i), "question": text, "answer": ANSWERS[kind][(i + k) % len(ANSWERS[kind])], "question_type": kind,
                          "split": split_of(i), "grade": "AB"[(i + k) % 2] if k else "", "study": i})
    return found[::2] + found[1::2]


def boxes(i):
    """[x0, y0, x1, y1] in pixels."""
    return [[k, i % 3, k + 3 + i, SIZE - k] for k in range(i % 11)]


def scene(i):
    """Every other image has a list of objects, the others observations of a scene graph."""
    one = {"image": name_of(i), "findings": {f: (1, 0, -1, None)[(i + k) % 4] for k, f in enumerate(FINDINGS)}}
    if i % 2:
        one["objects"] = [{"bbox": box, "name": "lung"} for box in boxes(i)]
    else:
        stem = os.path.basename(name_of(i)).removesuffix(".png")
        one["observations"] = {f"O{k:02d}": {"name": "opacity", "regions": [{"region": "lungs"}], "localization": {stem: {"bboxes": [box]}, "other": {"bboxes": [[0, 0, 1, 1]]}}}
                               for k, box in enumerate(boxes(i))}
    return one


def write_csv(path, records):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(records[0]))
        out.writeheader()
        out.writerows(records)


def write_lines(path, records):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def nested(records):
    """The same questions as a list of images."""
    found = [{"image": name_of(i), "split": split_of(i), "questions": []} for i in range(IMAGES)]
    for r in records:
        own = {k: v for k, v in r.items() if k not in ("image_id", "split", "study")}
        found[r["study"]]["questions"].append({**own, "answer": [{"text": own["answer"]}]})
    return [f for f in found if f["questions"]]


def make(folder):
    random = numpy.random.default_rng(5)
    for i in range(IMAGES):
        path = os.path.join(folder, name_of(i))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        png.write(path, random.integers(0, 256, (SIZE, SIZE)))
    asked = rows()
    write_csv(os.path.join(folder, "questions.csv"), asked)
    write_lines(os.path.join(folder, "questions.jsonl"), asked)
    with open(os.path.join(folder, "questions.json"), "w", encoding="utf-8") as file:
        json.dump(nested(asked), file, indent=1)
    write_lines(os.path.join(folder, "scenes.jsonl"), [scene(i) for i in range(IMAGES)])
    write_csv(os.path.join(folder, "findings.csv"), [{"image": name_of(i), **{f: "" if v is None else float(v) for f, v in scene(i)["findings"].items()}} for i in range(IMAGES)])


if __name__ == "__main__":
    make(sys.argv[1])
