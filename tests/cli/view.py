"""merge, interpolate, info and view on every kind of file: what merge joins and refuses, what info says, that view's pictures are
pictures and the same on any number of ranks.

    view.py MESOFORGE MPIEXEC FOLDER     exit status 77: NumPy or h5py is missing
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

import runs
from hdf5 import h5py
from runs import check, finish
from samples import blobs, np, undone

MESOFORGE, MPIEXEC, FOLDER = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]


def run(*words, ranks=1, fine=False):
    """@fine: a figure with all of its pixels."""
    return runs.run(MESOFORGE, *words, ranks=ranks, mpiexec=MPIEXEC, timeout=240, env={**os.environ, "MF_COARSE": "0" if fine else "1"})


def good(*words, ranks=1, fine=False):
    rc, out, err = run(*words, ranks=ranks, fine=fine)
    check(rc == 0, "%s: %d %s" % (words, rc, err))
    return out


def resident(*words):
    """Bytes of one process at its largest."""
    pid = subprocess.Popen([MESOFORGE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
    _, status, usage = os.wait4(pid, 0)
    check(status == 0, "%s: status %d" % (words, status))
    return usage.ru_maxrss * 1024


def refused(code, sentence, *words, ranks=1):
    rc, out, err = run(*words, ranks=ranks if runs.LONG or code == 7 else 1)
    lines = [line for line in err.splitlines() if line.startswith("mesoforge: ")]
    check(rc == code and len(lines) == 1 and sentence in lines[0] and "Traceback" not in err,
          "%s: %d, want %d %r: %s" % (words, rc, code, sentence, err))


def pixels(path):
    """Rows of a PNG that cairo wrote, unfiltered; checks signature, checksums and sizes on the way."""
    data = open(path, "rb").read()
    check(data[:8] == b"\x89PNG\r\n\x1a\n", path + ": signature")
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        check(zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], path + ": crc")
        if kind == b"IHDR":
            size = struct.unpack(">IIBB", body[:10])
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, bits, colour = size
    check(bits == 8 and colour in (2, 6), path + ": colours")
    channels = 3 if colour == 2 else 4
    raw = np.frombuffer(zlib.decompress(packed), np.uint8)
    check(raw.size == height * (1 + width * channels), path + ": size")
    return width, height, raw


def picture(path, least=(50, 50)):
    width, height, raw = pixels(path)
    check(width >= least[0] and height >= least[1], "%s: %d x %d" % (path, width, height))
    check(len(np.unique(raw)) > 40, path + ": hardly a colour in it")
    return width, height


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
os.chdir(FOLDER)
rng = np.random.default_rng(5)


def smooth(shape, seed):
    return blobs(shape, [0.6, 0.4], seed)


for name, seed in (("a", 1), ("b", 2), ("c", 3)):
    np.save(name + ".npy", smooth((32, 32), seed))
np.save("three.npy", blobs((32, 32), [0.4, 0.4, 0.2], 4))
np.save("volume.npy", smooth((17, 18, 20), 6))
np.save("grey.npy", rng.random((20, 30)))
np.save("large.npy", rng.random((200, 210, 190)))
np.save("plane.npy", rng.random((400, 400)))
np.save("grey3.npy", rng.random((8, 9, 10)).astype(np.float32))
np.save("odd.npy", np.array([[5, 300], [300, -7]]))
np.save("thin.npy", np.array([[0, 1, 1, 0]], np.uint8))
good("characterize", "a.npy", "b.npy", "c.npy", "three.npy", "--limit_to", 5, "--data_folder", "d")
good("characterize", "volume.npy", "--limit_to", 5, "--data_folder", "d")
DES = {name: "d/%s_characterization.h5" % name for name in ("a", "b", "c", "three", "volume")}


def merging():
    def sides(path):
        with h5py.File(path, "r") as f:
            return {name: f[name]["s2"][...] for name in ("z", "y", "x")}

    def own(name):
        with h5py.File(DES[name], "r") as f:
            return f["all/s2"][...]

    said = json.loads(good("merge", DES["a"], DES["b"], "two.h5", "--json"))
    check(said["output"] == "two.h5" and said["replaced"] is False and said["lag"] == 5, "merge --json: %s" % said)
    got = sides("two.h5")
    check(all((got[n] == own(w)).all() for n, w in (("z", "a"), ("y", "a"), ("x", "b"))), "two files: a a b")
    out = good("merge", DES["a"], DES["b"], "two.h5", "--z_file", DES["c"], ranks=3)
    check("replaced" in out, "an older file is replaced, and that is said")
    got = sides("two.h5")
    check(all((got[n] == own(w)).all() for n, w in (("z", "a"), ("y", "b"), ("x", "c"))), "three files: a b c")
    good("merge", DES["a"], DES["b"], "--data_folder", "m")
    check(os.path.exists("m/merged_characterization.h5"), "the standard name")
    before = open("two.h5", "rb").read()
    good("characterize", "a.npy", "--limit_to", 4, "--data_folder", "lag4")
    good("characterize", "a.npy", "--limit_to", 5, "--non_periodic", "--data_folder", "open")
    good("characterize", "a.npy", "--limit_to", 5, "--spacing", 2, "--data_folder", "coarse")
    refused(3, "lags 5 and 4", "merge", DES["a"], "lag4/a_characterization.h5", "two.h5")
    refused(3, "periodic", "merge", DES["a"], "open/a_characterization.h5", "two.h5", ranks=2)
    refused(3, "their pixels are 1 (no unit) and 2 (no unit)", "merge", DES["a"], "coarse/a_characterization.h5", "two.h5")
    refused(3, "have the labels 0, 1 and 0, 1, 2;", "merge", DES["a"], DES["three"], "two.h5")
    refused(3, "three directions", "merge", DES["a"], "two.h5", "other.h5")
    refused(3, "three directions", "merge", DES["volume"], DES["a"], "other.h5")
    refused(3, "nowhere.h5", "merge", DES["a"], "nowhere.h5", "two.h5")
    refused(3, "is no two-point statistics", "merge", DES["a"], "a.npy", "two.h5")
    refused(2, "two descriptor files", "merge", DES["a"])
    refused(2, "differ", "merge", DES["a"], DES["b"], "x.h5", "--output", "y.h5")
    refused(7, "no/such", "merge", DES["a"], DES["b"], "no/such/folder.h5")
    check(open("two.h5", "rb").read() == before, "a refusal leaves the old file")
    check(not [n for n in os.listdir(".") if n.endswith(".tmp")] and not os.path.exists("other.h5"), "nothing is left")


merging()
good("match", "--microstructure_filename", "a.npy", "--limit_to", 5, "--max_iter", 12, "--output", "flat.h5")
good("match", "--microstructure_filename", "a.npy", "--limit_to", 5, "--max_iter", 5, "--add_dimension", 24,
     "--output", "cube.h5")
good("synth", "--size", 20, 30, "--output", "synth.png")
good("synth", "--size", 12, 16, 20, "--output", "synth.tif")
good("synth", "--size", 12, 16, 20, "--phases", 3, "--output", "synth.h5", "--spacing", 0.5, "--unit", "um")
with h5py.File("foreign.h5", "w") as f:
    f["entry/data"] = rng.integers(0, 2, (6, 7, 8)).astype("i4")
    f["note"] = "text"
    f["away"] = h5py.ExternalLink("a.h5", "/x")


def informing():
    def info(path, *more, ranks=1):
        return json.loads(good("info", path, "--json", *more, ranks=ranks))

    a = info("a.npy", ranks=2)
    field = np.load("a.npy")
    check(a["kind"] == "microstructure" and a["type"] == "uint8" and a["shape"] == [32, 32], "info a: %s" % a)
    check([p["voxels"] for p in a["phases"]] == [int((field == k).sum()) for k in (0, 1)], "voxels")
    grey = info("grey.npy")
    check(grey["kind"] == "array" and grey["phases"] == [] and grey["type"] == "float64", "grey")
    check(abs(grey["mean"] - np.load("grey.npy").mean()) < 1e-14, "mean")
    odd = info("odd.npy")
    check([p["label"] for p in odd["phases"]] == [-7, 5, 300], "labels of any value, ascending: %s" % odd)
    des = info(DES["three"])
    check(des["kind"] == "descriptors" and des["lag"] == 5 and des["labels"] == [0, 1, 2], "descriptors: %s" % des)
    check(abs(des["sides"]["all"]["volume_fraction"][2] - (np.load("three.npy") == 2).mean()) < 1e-15, "fraction")
    check(des["provenance"]["command"] == "characterize" and len(des["provenance"]["input_sha256"]) == 64, "provenance")
    check(set(info(DES["volume"])["sides"]) == {"z", "y", "x"}, "three sides")
    flat = info("flat.h5")
    check(flat["provenance"]["command"] == "match" and flat["results"]["output"] == "flat.h5", "results of the run")
    check(flat["convergence"][0][0] == 0 and len(flat["convergence"]) > 1, "convergence")
    synth = info("synth.h5")
    check(synth["shape"] == [12, 16, 20] and synth["spacing"] == [0.5] * 3 and synth["unit"] == "um", "synth: %s" % synth)
    check(info("synth.tif")["shape"] == [12, 16, 20] and info("synth.png")["format"] == "png", "images")
    foreign = info("foreign.h5")
    check(foreign["dataset"] == "/entry/data", "foreign, its only array: %s" % foreign)
    inside = info("foreign.h5", "--dataset", "/entry/data")
    check(inside["shape"] == [6, 7, 8] and len(inside["phases"]) == 2, "dataset: %s" % inside)
    both = json.loads(good("info", "a.npy", "grey.npy", "--json"))
    check(isinstance(both, list) and len(both) == 2, "several files make an array")
    for path in runs.some(("a.npy", "odd.npy", "grey.npy", "flat.h5", "foreign.h5", "synth.png", "synth.tif", "two.h5", *DES.values()), 3):
        check(path in good("info", path), "info %s names it" % path)
    np.save("object.npy", np.array([{}, 1], object))
    open("empty.npy", "w").close()
    open("junk.h5", "wb").write(b"\x89HDF\r\n\x1a\n" + bytes(200))
    open("text.txt", "w").write("hello, this is no image")
    for path in ("object.npy", "empty.npy", "junk.h5", "text.txt", "nowhere.npy"):
        refused(3, path, "info", path, ranks=2 if path == "junk.h5" else 1)
    refused(2, "no file", "info")


informing()


def viewing():
    def view(path, *more, ranks=1, name="p.png"):
        said = json.loads(good("view", path, "--output", name, "--json", *more, ranks=ranks))
        check(said["output"] == name, "view --json")
        return picture(name), said["panels"]

    wide, panels = view("a.npy")
    check(panels == 3 and wide[0] > 2 * wide[1], "an image: image, map, curves")
    check(view("flat.h5", "--original_ms", "a.npy")[1] == 5, "original, result, map, curves, convergence")
    check(view("cube.h5", "--original_ms", "a.npy", name="one.png")[1] == 8, "the picture of a reconstruction")
    check(view("cube.h5", "--original_ms", "a.npy", ranks=3, name="many.png")[1] == 8, "the same on three ranks")
    check(open("one.png", "rb").read() == open("many.png", "rb").read(), "pictures do not depend on ranks")
    lag = json.loads(good("info", "cube.h5", "--json"))["results"]["lag"]
    view("cube.h5", "--original_ms", "a.npy", "--limit_to", lag, name="many.png")
    check(open("one.png", "rb").read() == open("many.png", "rb").read(), "a result is compared over the lags of its run")
    with h5py.File("cube.h5") as file:
        np.save("cube.npy", file["microstructure/phase"][...])
    view("cube.npy", "--original_ms", "a.npy", "--limit_to", 5, name="one.png")
    view("cube.npy", "--original_ms", "a.npy", "--target", DES["a"], name="many.png")
    check(open("one.png", "rb").read() != open("many.png", "rb").read(), "the map does not say whose it is")
    check(view("cube.h5")[1] == 7 and view("volume.npy")[1] == 6, "volumes without original: empty places are no panels")
    check(view("volume.npy", "--target", "two.h5")[1] == 6, "curves of a target")
    check(view("volume.npy", "--slices", 3)[1] == 12, "more slices")
    check(view("synth.h5", "--cmap", "viridis", "--noaxis", "--savefig")[1] == 6, "three phases, bare")
    check(view("three.npy")[1] == 3 and view("grey.npy")[1] == 1 and view("grey3.npy")[1] == 3, "images and values")
    np.save("fields.npy", np.random.default_rng(2).random((5, 6, 7, 3)))
    np.save("hard.npy", np.eye(3, dtype=np.float32)[np.random.default_rng(2).integers(0, 3, (5, 6, 7))])
    check(view("hard.npy")[1] == 9, "indicators of several phases")
    np.save("sheet.npy", np.random.default_rng(2).random((1, 6, 7, 2)))
    check(view("fields.npy")[1] == 9 and view("sheet.npy")[1] == 2, "fields of several phases")
    good("characterize", "three.npy", "--limit_to", 3, "--export", "S2=window.npy", "--data_folder", "exported")
    check(view("window.npy")[1] == np.prod(np.load("window.npy").shape[:2]), "windows of an array that was exported")
    small, large = (resident("view", path, "--output", "p.png") for path in ("grey3.npy", "large.npy"))
    check(large - small < 24 << 20, "planes are read, not the volume: %d bytes, %d" % (small, large))
    refused(5, "values drawn", "view", "plane.npy", "--output", "p.png", "--memory-limit", 1)
    check(view("synth.png")[1] == 1 and view("synth.png", "--threshold", "otsu")[1] == 3, "a grey image, and binarised")
    np.save("shade.npy", np.load("a.npy") * 90.0 + 20)
    check(view("a.npy", "--original_ms", "shade.npy", "--threshold", 60)[1] >= 4, "phases beside a grey original")
    check(view("synth.tif", "--labels", "0,1")[1] == 6, "a stack")
    check(view("a.npy", "volume.npy", "three.npy", "--columns", 3, name="one.png")[1] == 5, "several files: two images, three slices")
    view("a.npy", "volume.npy", "three.npy", "--columns", 3, ranks=3, name="many.png")
    check(open("one.png", "rb").read() == open("many.png", "rb").read(), "sheets do not depend on ranks")
    check(view("thin.npy")[1] >= 1, "an image too thin for correlations")
    for name in runs.some(DES, 4):
        view(DES[name])
    view("two.h5", "--target", DES["a"])
    for words in (("three.npy", "--target", DES["a"]), (DES["a"], "--original_ms", "three.npy")):
        status, _, err = run("view", *words, "--output", "p.png")
        check(status == 0 and "curves of the same label are drawn together" in err, f"other phases, {words}: {status} {err}")
    view(DES["a"], "--original_ms", "b.npy", ranks=2)
    good("view", "a.npy", "--data_folder", "v")
    picture("v/a_view.png")
    refused(2, "--symmetry", "view", "a.npy", "--symmetry", "cubic")
    refused(2, "--cmap", "view", "a.npy", "--cmap", "jet")
    refused(2, "a file is needed", "view")
    refused(2, "--slices", "view", "a.npy", "--slices", 0)
    refused(2, "--target is for one file", "view", "a.npy", "b.npy", "--target", "two.h5")
    refused(2, "--columns must be", "view", "a.npy", "b.npy", "--columns", 0)
    refused(2, "--columns is for several", "view", "a.npy", "--columns", 2)
    refused(3, "nowhere.npy", "view", "a.npy", "nowhere.npy", ranks=2)
    refused(3, "nowhere.npy", "view", "nowhere.npy", ranks=2)
    refused(3, "nowhere.npy", "view", "a.npy", "--original_ms", "nowhere.npy", ranks=2)
    refused(3, "junk.h5", "view", "junk.h5")
    refused(3, "odd.npy", "view", "odd.npy")
    os.makedirs("run", exist_ok=True)
    with open("run/metrics.jsonl", "w") as file:
        for seed in (3, 4):
            for step in (0, 10, 20, 20):
                file.write(json.dumps({"seed": seed, "step": step, "time": 0.1 * step, "loss": 1 / (step + 1),
                                       "stage": "descend"}) + "\n")
            file.write(json.dumps({"seed": seed, "step": 20, "validation": 0.5}) + "\n")  # nothing to draw
        file.write('{"seed": 4, "st')
    for name in ("run", "run/metrics.jsonl"):
        said = json.loads(good("view", name, "--output", "metrics.png", "--json", ranks=2))
        check(said["panels"] == 2, "a panel for every seed: %s" % said)
        picture("metrics.png")
    os.makedirs("run/part.2", exist_ok=True)
    shutil.copy("run/metrics.jsonl", "run/part.2/metrics.jsonl")
    for name, stem in (("run/part.2/..", "run"), ("run/", "run"), ("run/part.2", "part.2")):
        good("view", name, "--data_folder", "own")
        check(os.listdir("own") == [stem + "_view.png"], "view %s writes %s" % (name, os.listdir("own")))
        shutil.rmtree("own")
    with open("run/metrics.jsonl", "w") as file:
        for step in range(1, 60):
            file.write(json.dumps({"output": "run", "step": step, "epoch": step / 20, "loss": 3 / step, "learning_rate": 1e-3,
                                   "samples_per_second": 400 + step}) + "\n")
            if step % 20 == 0:
                file.write(json.dumps({"output": "run", "kind": "epoch", "step": step, "epoch": step / 20, "val_loss": 4 / step,
                                       "val_accuracy": None}) + "\n")
    said = json.loads(good("view", "run", "--output", "training.png", "--json"))
    check([p["title"] for p in said["drawn"]] == ["Loss", "Learning rate", "Samples per second"], "a training: %s" % said)
    picture("training.png")
    with open("run/metrics.jsonl", "w") as file:
        file.write('{"step": 1, "epoch": 1}\n')
    refused(3, "no row of metrics with a loss", "view", "run")
    with open("run/metrics.jsonl", "w") as file:
        file.write('{"step": 1}\n')
    refused(3, "no row of metrics with a loss", "view", "run")
    with open("run/metrics.jsonl", "w") as file:
        file.write("no row\n")
    refused(3, "line 1", "view", "run")
    os.remove("run/metrics.jsonl")
    refused(3, "run/metrics.jsonl", "view", "run", ranks=2)
    refused(7, "no/such", "view", "a.npy", "--output", "no/such/p.png", ranks=2)


SLICES = ("S2", "Variation", "VolumeFractions", "Patches", "FFTCrossCorrelations", "LinealPath", "LinealPathExact", "LinealPathApproximation",
          "LineLinealPathApproximation", "TwoPointCorrelations", "Correlations", "LineCorrelations", "CrossCorrelations", "StructureTensor", "SurfaceCorrelations", "Chords",
          "EulerNumber", "LocalFraction", "Boundaries", "ClusterFunction", "Clusters", "Tortuosity")


def wanted_panels(parts, pairs, levels, sides, phases, triple):
    """By the name that a title begins with: windows and their cuts, matrices, curves, numbers; then measures, P curves or one panel of bars."""
    places = levels * sides
    found = {"FFTCorrelations": parts * (places + sides), "TwoPointCorrelations": parts * (places + sides), "StructureTensor": parts * (4 * places + sides),
             "FFTCrossCorrelations": pairs * (places + sides), "CrossCorrelations": pairs * places, "Variation": sides, "VolumeFractions": sides, "Patches": sides,
             "EulerNumber": 2 * sides, "Boundaries": 2 * sides, "Clusters": 4 * sides, "Tortuosity": 6 * sides}
    for name in ("LinealPath", "LinealPathExact", "LinealPathApproximation", "LineLinealPathApproximation", "Correlations", "LineCorrelations", "SurfaceCorrelations",
                 "Chords", "LocalFraction", "ClusterFunction"):
        found[name] = parts * places
    for name in ("autocovariance", "variogram", "surface_correlation", "local_fraction", "cluster_function"):
        found[name] = phases
    return {**found, "surface": 1, "euler": 1, "clusters": phases + 2, "chords": phases + 1, "boundaries": 1 + triple, "tortuosity": 2}


def drawn_panels(path, *more, ranks=1):
    """How many by name; every one has something in it, inside of its axes."""
    said = json.loads(good("view", path, "--output", "drawn.png", "--json", *more, ranks=ranks, fine=True))
    width, height, raw = pixels("drawn.png")
    rows = raw.reshape(height, 1 + 3 * width)
    check((rows[:, 0] == 2).all(), "rows are the ones above them and a difference")
    page = undone(rows[:, 1:]).reshape(height, width, 3)
    check(said["panels"] == len(said["drawn"]), "panels: %s" % said["panels"])
    found, seen = {}, set()
    for one in said["drawn"]:
        left, top, wide, tall = one["box"]
        inside = page[round(top + 0.13 * tall):round(top + 0.84 * tall), round(left + 0.18 * wide):round(left + 0.77 * wide)]
        check((inside != 255).any(2).mean() > 0.002 and (inside != inside[0, 0]).any(), "%s: %s is empty" % (path, one))
        check(0 <= left and left + wide <= width + 1 and 0 <= top and top + tall <= height + 1, "%s lies on the page" % one)
        name = one["title"].replace(",", " ").split()[0]
        found[name] = found.get(name, 0) + 1
        seen.add((one["title"], left, top))
    check(len(seen) == said["panels"], "no two panels in one place")
    return found, said


def describing():
    """Every descriptor and every measure of a file has its panels."""
    five = blobs((40, 44), [0.3, 0.25, 0.2, 0.15, 0.1], 9)
    np.save("five.npy", five)
    for name, lag, words, parts, pairs, levels, sides, phases, triple in runs.some((
            ("five", 4, SLICES, 4, 4, 3, 1, 4, 1), ("three", 4, SLICES, 3, 3, 3, 1, 3, 1), ("a", 5, SLICES, 2, 1, 2, 1, 2, 0),
            ("volume", 4, (*SLICES, "S2_3D", "CrossS2_3D"), 2, 1, 1, 3, 2, 0)), 4):
        good("characterize", name + ".npy", "--limit_to", lag, "--measures", "all", "--descriptor_types", *words, "--output", "every.h5")
        found, said = drawn_panels("every.h5", ranks=2 if name == "volume" else 1)
        want = wanted_panels(parts, pairs, levels, sides, phases, triple)
        with h5py.File("every.h5", "r") as file:
            ways = [axis["mean"] for phase in json.loads(file["results"][()])["measures"] for axis in phase["tortuosity"].values()]
        want["tortuosity"] -= all(way is None for way in ways)
        if sides == 3:
            want.update(S2_3D=2 * (3 + 1), CrossS2_3D=3 + 1)
        check(found == want, "%s: %s, want %s" % (name, found, {k: v for k, v in want.items() if found.get(k) != v}))
        left = 0
        if name == "five":  # of five phases one, of ten pairs six; of the measures one phase
            whole = {**wanted_panels(5, 10, levels, sides, 5, triple), "tortuosity": want["tortuosity"]}
            left = sum(whole.values()) - sum(want.values())
        if sides == 1:
            check(said["left_out"] == left, "%s: %d are left out, want %d" % (name, said["left_out"], left))
        else:
            check(said["left_out"] > 0, "coarser levels of three directions are left out")
    said = run("view", "every.h5", "--output", "drawn.png")
    check("more panels are left out" in said[2], "a line says what is left out: %s" % (said,))
    if not runs.LONG:
        return
    good("characterize", "b.npy", "--limit_to", 4, "--descriptor_types", "S2", "LinealPath", "--output", "some.h5")
    good("characterize", "a.npy", "--limit_to", 5, "--descriptor_types", *SLICES, "--output", "every.h5")
    alone, _ = drawn_panels("every.h5")
    beside, said = drawn_panels("every.h5", "--target", "some.h5")
    rms = {one["title"].split()[0] for one in said["drawn"] if "rms" in one["title"]}
    check(alone == beside and rms == {"FFTCorrelations", "FFTCrossCorrelations"}, "of another L: rms of windows of lags alone: %s" % rms)
    good("characterize", "b.npy", "--limit_to", 5, "--descriptor_types", "S2", "LinealPath", "--output", "some.h5")
    said = drawn_panels("every.h5", "--target", "some.h5")[1]
    check({one["title"].split()[0] for one in said["drawn"] if "rms" in one["title"]} == {"FFTCorrelations", "FFTCrossCorrelations", "LinealPath", "LinealPathExact"},
          "of one L: what both have")


def axes_of_arrays():
    """Every array is drawn as what it is: as its file says, its values, or --axes; what was guessed is said, once."""
    def drawn(path, *more, ranks=1):
        rc, out, err = run("view", path, "--output", "axes.png", "--json", *more, ranks=ranks)
        check(rc == 0, "view %s: %d %s" % (path, rc, err))
        picture("axes.png")
        lines = [line for line in err.splitlines() if " is read as [" in line]
        return [one["title"] for one in json.loads(out)["drawn"]] if rc == 0 else [], lines

    def read_as(path, meaning, other, *more):
        """The panels' titles; what a line says, and what it says instead (None: there is no line)."""
        titles, lines = drawn(path, *more)
        check(len(lines) == (meaning is not None) and all(" is read as %s" % meaning in line and "--axes %s:" % other in line for line in lines),
              "%s %s: %s, want %s" % (path, more, lines, meaning))
        return titles

    def begins(titles, *words):
        check(len(titles) == len(words) and all(t.startswith(w + ":") or t == w for t, w in zip(titles, words)), "%s, want %s" % (titles, words))

    phases = ["phase 0", "phase 1", "phase 2"]
    # what we write says it: a gradient and the field on its way, an image's and a volume's
    three = ("match", "--microstructure_filename", "three.npy", "--limit_to", 5)
    good(*three, "--max_iter", 0, "--save_gradient", "slope.npy")
    os.makedirs("steps", exist_ok=True)
    good(*three, "--max_iter", 8, "--outfile_data_steps", 4, "--data_folder", "steps", "--output", "steps/out.npy")
    good(*three, "--max_iter", 0, "--add_dimension", 12, "--save_gradient", "slope3.npy")
    step = sorted(name for name in os.listdir("steps") if "iteration" in name)[0]
    for path in ("slope.npy", "steps/" + step):
        check(np.load(path).shape == (32, 32, 3), "%s: %s" % (path, np.load(path).shape))
        begins(read_as(path, None, None), *phases)
    check(len(read_as("slope3.npy", None, None)) == 9, "three slices of three phases")
    np.save("again.npy", np.load("slope.npy"))
    check((np.load("again.npy") == np.load("slope.npy", mmap_mode="r")).all(), "NumPy reads it, mapped too")
    begins(read_as("again.npy", "[y][x][phase]", "zyx"), *phases)
    begins(read_as("again.npy", None, None, "--axes", "yxp"), *phases)
    check(len(read_as("again.npy", None, None, "--axes", "zyx")) == 3, "--axes wins over the shape")
    check(len(read_as("slope.npy", None, None, "--axes", "zyx")) == 3, "--axes wins over the file")
    # descriptors as arrays
    names = ("S2", "FFTCrossCorrelations", "LinealPathExact", "Variation")
    good("characterize", "three.npy", "--limit_to", 3, "--descriptor_types", *names, "--export", *("%s=e_%s.npy" % (n, n) for n in names), "--data_folder", "exported")
    levels = np.load("e_S2.npy").shape[1]
    begins(read_as("e_S2.npy", None, None), *("phase %d, level %d" % (p, l) for p in range(3) for l in range(levels)))
    begins(read_as("e_FFTCrossCorrelations.npy", None, None),
           *("phases %s, level %d" % (p, l) for p in ("0, 1", "0, 2", "1, 2") for l in range(levels)))
    begins(read_as("e_LinealPathExact.npy", None, None), *phases)
    begins(read_as("e_Variation.npy", None, None), "Values")
    for name, meaning, other, word in (("S2", "[phase][level][row][column]", "zyxp", "pluv"), ("LinealPathExact", "[phase][level][entry]", "zyx", "ple"),
                                       ("Variation", "[y][x]", "pl", "pl")):
        np.save("again.npy", np.load("e_%s.npy" % name))
        titles = read_as("again.npy", meaning, other)
        check(name == "Variation" or titles[-1].startswith("phase or pair 2"), "nobody says whether it is of pairs: %s" % titles)
        read_as("again.npy", None, None, "--axes", word)
    good("characterize", "volume.npy", "--limit_to", 4, "--descriptor_types", "S2", "S2_3D", "CrossS2_3D", "--export", "S2_3D=e_3.npy", "CrossS2_3D=e_x3.npy",
         "--data_folder", "exported")
    begins(read_as("e_3.npy", None, None), *("phase %d, lag %d along z" % (p, d) for p in range(2) for d in range(4)))
    begins(read_as("e_x3.npy", None, None), *("lag %d along z" % d for d in range(4)))
    good("characterize", "three.npy", "--limit_to", 3, "--compat", "mcrpy", "--descriptor_types", "S2", "LinealPath", "--export", "LinealPath=e_path.npy",
         "--data_folder", "exported")
    check(np.load("e_path.npy").ndim == 6, "MCRpy's shape")
    begins(read_as("e_path.npy", None, None), *("phase or pair %d" % p for p in range(3)))
    begins(read_as("e_path.npy", None, None, "--axes", "ple"), *phases)
    # what values say, in either order of axes
    soft = np.random.default_rng(3).random((24, 20, 3))
    soft /= soft.sum(2, keepdims=True)
    hard = np.eye(3, dtype=np.uint8)[np.random.default_rng(3).integers(0, 3, (24, 20))]
    for array in runs.some((soft, np.asfortranarray(soft), soft.astype(">f4"), hard, hard > 0), 3):
        np.save("phases.npy", array)
        begins(read_as("phases.npy", "[y][x][phase]", "zyx"), *phases)
        np.save("phases.npy", np.moveaxis(array, 2, 0))
        begins(read_as("phases.npy", "[phase][y][x]", "zyx"), *phases)
    np.save("phases.npy", np.random.default_rng(3).integers(0, 256, (24, 20, 3)).astype(np.uint8))
    begins(read_as("phases.npy", "[y][x][phase]", "zyx"), *phases)
    np.save("long.npy", np.concatenate([soft[:, :, :1], 1 - soft[:, :, :1]], 2)[:5, :6])
    begins(read_as("long.npy", "[y][x][phase]", "zyx"), "phase 0", "phase 1")
    plate = np.zeros((16, 16, 16), np.uint8)
    plate[:, :, 3] = 1
    np.save("plate.npy", plate)
    check(len(read_as("plate.npy", "[z][y][x]", "yxp")) == 6, "a layer one voxel thick is no phase of an image")
    for more in (("--labels", "0,1"), ("--threshold", "0.5")):
        check(len(drawn("plate.npy", *more)[0]) >= 3, "what is cut into phases is places: plate.npy %s" % (more,))
    np.save("cubes.npy", np.random.default_rng(3).normal(size=(3, 24, 24, 24)))
    read_as("cubes.npy", "[phase][z][y][x]", "zyxp")  # lags are 2L - 1: odd
    # volumes that could be nothing else are drawn without a word, others with one
    for path, meaning in (("grey3.npy", "[z][y][x]"), ("large.npy", None), ("volume.npy", None), ("a.npy", None), ("plane.npy", None)):
        read_as(path, meaning, "yxp")
    np.save("five.npy", np.zeros((2, 3, 4, 5, 6)) + 0.5)
    refused(3, "its 5 axes", "view", "five.npy", "--output", "p.png", ranks=2)
    refused(2, "--axes yx is of 2 axes", "view", "long.npy", "--axes", "yx", ranks=2)
    refused(2, "--axes: 'xyz' is not one of", "view", "long.npy", "--axes", "xyz")
    np.save("wide.npy", np.concatenate([soft[:, :, :1], 1 - soft[:, :, :1]], 2))
    refused(2, "--threshold makes phases of an image or a volume", "view", "wide.npy", "--threshold", 0.5, ranks=2)
    refused(2, "--axes is for arrays", "view", DES["a"], "--axes", "pl")
    check(len(read_as("long.npy", None, None, "--threshold", 0.5, "--axes", "zyx")) >= 3, "a volume that is cut")


def scales():
    """Pictures of one array have one scale; a sheet takes every array, on any number of ranks."""
    def colours(path, *more):
        said = json.loads(good("view", path, "--output", "scale.png", "--json", "--axes", "yxp", *more, fine=True))
        width, height, raw = pixels("scale.png")
        rows = raw.reshape(height, 1 + 3 * width)
        page = undone(rows[:, 1:]).reshape(height, width, 3)
        boxes = [[round(v) for v in one["box"]] for one in said["drawn"]]
        return [tuple(page[top + tall // 2, left + wide // 2]) for left, top, wide, tall in boxes], [one["title"] for one in said["drawn"]]

    flat = np.zeros((24, 24, 3)) + np.array([0.25, 0.5, 0.5])
    flat[0, 0] = 0, 1, 0.5
    np.save("flat.npy", flat)
    (a, b, c), _ = colours("flat.npy")
    check(b == c and a != b, "equal values have equal colours: %s %s %s" % (a, b, c))
    check(all(t.endswith("0 to 1") for t in colours("flat.npy", "--noaxis")[1]), "without colour bars titles say the scale")
    sheet = ("view", "fields.npy", "a.npy", "slope.npy", "e_S2.npy", "e_LinealPathExact.npy", "grey.npy", "volume.npy", "--columns", 5, "--json", "--output")
    said = json.loads(good(*sheet, "one.png"))
    levels = np.load("e_S2.npy").shape[1]
    want = {"fields": 9, "a": 1, "slope": 3, "e_S2": 3 * levels, "e_LinealPathExact": 3, "grey": 1, "volume": 3}
    found = {}
    for one in said["drawn"]:
        name = one["title"].split(",")[0].split(":")[0]
        found[name] = found.get(name, 0) + 1
    check(found == want, "a sheet draws each as it is alone: %s, want %s" % (found, want))
    good(*sheet, "many.png", ranks=3)
    check(open("one.png", "rb").read() == open("many.png", "rb").read(), "sheets of arrays do not depend on ranks")
    refused(2, "holds descriptors", "view", "a.npy", DES["a"], "--output", "p.png", ranks=2)
    refused(3, "its 5 axes", "view", "a.npy", "five.npy", "--output", "p.png", ranks=2)


def interpolating():
    """Every value lies on the straight line; what only one file has is left out."""
    def values(path):
        found = {}
        with h5py.File(path, "r") as f:
            f.visititems(lambda name, data: found.update({name: data[...]}) if isinstance(data, h5py.Dataset) else None)
        return found

    extra = ("--descriptor_types", "S2", "Variation", "LinealPath")
    good("characterize", "a.npy", "b.npy", "--limit_to", 5, "--data_folder", "i", *extra)
    ends = ["i/%s_characterization.h5" % name for name in "ab"]
    a, b = map(values, ends)
    said = json.loads(good("interpolate", *ends, "--n_steps", 4, "--output", "i/step.h5", "--json", ranks=2))
    check(said["outputs"] == ["i/step_%d.h5" % k for k in range(4)] and said["n_steps"] == 4, "interpolate --json: %s" % said)
    for k, path in enumerate(said["outputs"]):
        got, t = values(path), k / 3
        wanted = set(a) - (set() if k in (0, 3) else {"all/example"})
        check(set(got) == wanted, "step %d has %s" % (k, sorted(got)))
        for name in wanted - {"all/example"}:
            check(np.allclose(got[name], (1 - t) * a[name] + t * b[name], rtol=1e-14, atol=1e-15), "step %d: %s" % (k, name))
    check((values("i/step_3.h5")["all/example"] == b["all/example"]).all(), "the last has the second's example")
    good("reconstruct", "--descriptor_filename", "i/step_1.h5", "--size", 16, 16, "--limit_to", 5, "--max_iter", 5, "--output", "i/mean.npy")
    good("interpolate", DES["a"], DES["volume"], "--n_steps", 3, "--data_folder", "i")
    mean, volume = values("i/des_interpolated_1.h5"), values(DES["volume"])
    for side in "zyx":
        check(np.allclose(mean[side + "/s2"], 0.5 * (values(DES["a"])["all/s2"][:, :mean[side + "/s2"].shape[1]] + volume[side + "/s2"])),
              "an image and a volume, side " + side)
    rc, out, err = run("interpolate", ends[0], DES["b"], "--n_steps", 2, "--data_folder", "i")
    check(rc == 0 and "only descriptors that both files have" in err, "what is left out is said: " + err)
    refused(2, "--n_steps 1", "interpolate", *ends, "--n_steps", 1, ranks=2)
    refused(2, "two descriptor files", "interpolate", ends[0])
    refused(3, "lags 5 and 4", "interpolate", ends[0], "lag4/a_characterization.h5")
    refused(3, "phases", "interpolate", DES["a"], DES["three"])
    shutil.copy(ends[1], "i/over_1.h5")
    refused(2, "over_1.h5", "interpolate", ends[0], "i/over_1.h5", "--n_steps", 3, "--output", "i/over.h5")
    check(not os.path.exists("i/over_0.h5"), "names are looked at before the first is written")
    refused(7, "no/such", "interpolate", *ends, "--output", "no/such/step.h5")


viewing()
describing()
axes_of_arrays()
scales()
interpolating()
finish("view")
