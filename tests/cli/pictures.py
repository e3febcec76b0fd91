"""From pictures to pictures: data import, a generator, data export and view, of grey values, colours and phases. usage: pictures.py MESOFORGE MPIEXEC"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
import png

random = numpy.random.default_rng(11)
run, made = runs.tools(program, mpiexec)


def refused(says, *words, status=3):
    done = run(*words)
    check(done.status == status and says in done.err and done.err.count("\n") == 1, f"{words}: {done}")


def x_of(path):
    with h5py.File(path) as file:
        return file["samples/x"][()]


def hash_of(path):
    return json.loads(made("data", "info", path, "--json").out)["hash"]


def folder(name, x, bits=8):
    """Pictures whose names are not in the order of their numbers."""
    os.makedirs(name)
    for k, one in enumerate(x):
        png.write(f"{name}/{len(x) - k:03d}.png", one, bits)


def exported(path):
    return numpy.array([png.read(f"{path}/{name}") for name in sorted(os.listdir(path)) if name.endswith(".png")])


def there_and_back():
    """Each channel of each pixel comes back, with and without a table, and on any number of ranks."""
    colours = random.integers(0, 256, (20, 16, 16, 3), dtype=numpy.uint8)
    colours[:, :8] = colours[:, :1, :1] // 2  # even parts, so that a network has something to learn
    folder("colours", colours)
    refused("'colours/001.png' is a colour image; try: --colours, or convert it to grey", "data", "import", "colours")
    for ranks in (1, 2):
        made("data", "import", "colours", "--colours", "--output", "colours.h5", ranks=ranks)
        check(numpy.array_equal(x_of("colours.h5"), colours[::-1]), f"colours on {ranks} ranks")
    made("data", "export", "colours.h5", "--output", "back", ranks=2)
    check(numpy.array_equal(exported("back"), colours[::-1]), "exported colours")
    made("data", "import", "back", "--table", "back/table.csv", "--colours", "--output", "again.h5")
    check(hash_of("again.h5") == hash_of("colours.h5"), "colours that were exported and imported are others")
    check("'back/table.csv' is there and was not read" in made("data", "import", "back", "--colours", "--output", "again.h5").err, "a table that is not read")
    grey = random.integers(0, 256, (5, 16, 16), dtype=numpy.uint8)
    folder("mixed", grey)
    png.write("mixed/000.png", colours[0])
    made("data", "import", "mixed", "--colours", "--output", "mixed.h5")
    check(numpy.array_equal(x_of("mixed.h5"), [colours[0], *numpy.repeat(grey[::-1, ..., None], 3, -1)]), "grey among colours")
    folder("deep", colours[:5].astype("u2") * 200, 16)
    made("data", "import", "deep", "--colors", "--output", "deep.h5")
    check(numpy.array_equal(x_of("deep.h5"), colours[4::-1].astype("f4") * 200), "colours of 16 bits")
    made("data", "import", "colours/003.png", "--colours", "--train", 1, "--validation", 0, "--output", "one.h5")
    check(numpy.array_equal(x_of("one.h5")[0], colours[17]), "one picture")
    os.makedirs("outer/inner")
    refused("holds no PNG or TIFF; a --table", "data", "import", "outer")
    numpy.save("x.npy", grey)
    refused("'x.npy' is neither PNG nor TIFF", "data", "import", "x.npy", "--colours")
    refused("--phases are no colours", "data", "import", "colours", "--colours", "--phases", 2, status=2)


def tiles():
    image = random.integers(0, 256, (70, 90, 3), dtype=numpy.uint8)
    png.write("large.png", image)
    words = "--tile", 16, "--stride", 8, "--output", "tiles.h5"
    for crop, part in (((), image), (("--crop", 3, 5, 60, 80), image[3:63, 5:85])):
        made("data", "import", "large.png", "--colours", *words, *crop, ranks=2)
        places = {part[y:y + 16, x:x + 16].tobytes() for y in range(0, part.shape[0] - 15, 8) for x in range(0, part.shape[1] - 15, 8)}
        x = x_of("tiles.h5")
        check(len(x) > 20 and all(one.tobytes() in places for one in x), f"tiles of colours, {crop}")
    with h5py.File("tiles.h5") as file:
        names, real = list(file["samples/properties"].attrs["names"]), file["samples/properties"][()]
    check(names == [f"{what}_{colour}" for colour in ("red", "green", "blue") for what in ("mean", "deviation")], names)
    want = numpy.stack([x.mean((1, 2)), x.std((1, 2))], -1).reshape(len(x), 6)
    check(numpy.allclose(real, want, rtol=1e-5), "means and deviations of colours")
    refused("is a colour image; try: --colours", "data", "import", "large.png", *words)
    refused("--colours keeps colours", "data", "import", "large.png", "--colours", "--threshold", "otsu", *words, status=2)


def phases():
    """Values that are phases are named, as of tiles. Two phases are exported black and white."""
    x = random.integers(0, 2, (6, 8, 8), dtype=numpy.uint8)
    folder("phases", x * 255)
    refused("which is none of the phases 0 to 1; try: --labels 0,255", "data", "import", "phases", "--phases", 2)
    made("data", "import", "phases", "--labels", "255,0", "--output", "phases.h5")
    check(numpy.array_equal(x_of("phases.h5"), 1 - x[::-1]), "labels of phases")
    refused("holds 255, which --labels does not name", "data", "import", "phases", "--labels", "0,254")
    made("data", "export", "phases.h5", "--range", 0, 1, "--output", "white")
    check(numpy.array_equal(exported("white"), 255 * (1 - x[::-1])), "phases in black and white")


def reals():
    """One scale for all pictures: the range of all values, or the one that is asked for."""
    x = random.normal(0, 1, (7, 8, 8)).astype("f4")
    numpy.save("reals.npy", x)
    made("data", "import", "reals.npy", "--output", "reals.h5")
    for words, low, high in ((("--range", -1, 0.5), -1, 0.5), ((), x.min(), x.max())):
        done = made("data", "export", "reals.h5", *words, "--output", "levels", ranks=3)
        want = 255 * (x.astype("f8").clip(low, high) - low) / (high - low)
        check(abs(exported("levels") - want).max() < 0.501 and ("become black to white" in done.err) == (not words), f"levels: {done}")
    refused("--range takes two values", "data", "export", "reals.h5", "--range", 2, 1, "--output", "levels", status=2)
    for shape, says in (((3, 8, 8, 2), "images of 2 channels"), ((3, 8, 8, 8), "has volumes")):
        numpy.save("no.npy", numpy.zeros(shape, "u1"))
        made("data", "import", "no.npy", "--output", "no.h5")
        refused(says, "data", "export", "no.h5", "--output", "levels", status=2)


def generates():
    """Who learns from bytes makes bytes: the whole numbers next to what the same network makes that learnt from reals."""
    numpy.save("same.npy", x_of("colours.h5").astype("f4"))
    made("data", "import", "same.npy", "--output", "same.h5")
    for name, ranks in (("colours", 2), ("same", 1)):
        made("train", "unet", "--data", f"{name}.h5", "--arch", "unet:width=8,depth=2,blocks=1,attention=4,patch=2", "--effective-batch", 8, "--max-steps", 2,
             "--made-samples", 0, "--average", 0, "--no-plots", "--results-dir", name)
        made("generate", "--model", name, "--steps", 4, "--num-samples", 11, "--output", f"{name}-made.h5", ranks=ranks)
    x, real = x_of("colours-made.h5"), x_of("same-made.h5")
    check(x.dtype == numpy.uint8 and x.shape == (11, 16, 16, 3), f"made: {x.dtype} {x.shape}")
    check(numpy.array_equal(x, numpy.rint(real).clip(0, 255)) and len(numpy.unique(x)) > 50 and not numpy.array_equal(x[..., 0], x[..., 1]), "bytes are no rounded reals")
    made("data", "export", "colours-made.h5", "--output", "made")
    check(numpy.array_equal(exported("made"), x), "made pictures")


def planned():
    """Without a set, --channels says what a network of colours needs."""
    of = [json.loads(made("plan", "train", "unet", *words, "--device", "cpu", "--json").out)["bytes"]["arrays"]
          for words in (("--data", "colours.h5"), ("--size", 16, 16, "--channels", 3, "--classes", 1, "--num-samples", 16))]
    check(all(of[0][key] == of[1][key] for key in ("parameters, gradients, moments", "activations")), f"planned: {of}")


def tree():
    """The files of DMD2's programs: each sample has its own, and they follow from the set alone."""
    os.makedirs("data")
    for words, says in ((["--export", "npz"], "there are no activations"), (["--export", "png,pdf"], "some of png, npz, json")):
        refused(says, "generate", "--model", "colours", "--output", "data/none.h5", "--device", "cpu", *words, status=2)
    made("generate", "--model", "colours", "--steps", 2, "--num-samples", 11, "--layers", "encoder_bottleneck,midblock", "--export", "png,npz,json",
         "--output", "data/imagenet.h5", ranks=2)
    with open("data/metadata/imagenet/dataset_info.json") as file:
        info = json.load(file)
    check(info["num_samples"] == 11 and info["layers"] == ["encoder_bottleneck", "midblock"] and info["conditioning_sigma"] == 80, info)
    with h5py.File("data/imagenet.h5") as file:
        for k, one in enumerate(info["samples"]):
            check(one["sample_id"] == k and numpy.array_equal(png.read("data/" + one["image_path"]), file["samples/x"][k]), one)
            with numpy.load("data/" + one["activation_path"]) as arrays:
                same = [numpy.array_equal(arrays[name], file["activations"][name][k].reshape(1, -1)) for name in info["layers"]]
                check(all(same) and arrays["midblock"].dtype == "f4" and sorted(arrays.files) == info["layers"], one)
        with open("data/activations/imagenet/sample_000010.json") as shapes:
            check(json.load(shapes)["layers"]["midblock"] == list(file["activations/midblock"].shape[1:]), "extents")
    made("data", "export", "data/imagenet.h5", "--tree", "png,npz,json", "--output", "again", ranks=3)
    for folder, _, names in os.walk("again"):
        for name in names:
            path = os.path.join(folder, name)
            check(open(path, "rb").read() == open(path.replace("again", "data", 1), "rb").read(), f"{path} is another one")
    made("data", "export", "phases.h5", "--tree", "png,json", "--split", "train", "--output", "grey")
    with open("grey/metadata/phases/dataset_info.json") as file:
        rows = json.load(file)["samples"]
    check(all(numpy.array_equal(png.read("grey/" + one["image_path"]), 255 * x_of("phases.h5")[one["sample_id"]]) for one in rows) and len(rows) == 5, "a tree of phases")
    refused("has no activations for .npz", "data", "export", "phases.h5", "--tree", "npz", "--output", "grey", status=2)
    refused("try: --output FOLDER/", "data", "export", "phases.h5", "--tree", "png", "--output", "x.npy", status=2)
    with open("taken", "w"):
        done = run("data", "export", "phases.h5", "--tree", "png", "--output", "taken")
    check(done.status == 7 and "taken" in done.err, done)


def views():
    """A set is drawn: each colour of its even samples is on the page."""
    x = numpy.zeros((3, 16, 16, 3), "u1")
    x[:] = numpy.array([(200, 30, 60), (0, 0, 255), (90, 180, 10)])[:, None, None]
    numpy.save("even.npy", x)
    made("data", "import", "even.npy", "--output", "even.h5")
    made("view", "even.h5", "--output", "even.png", ranks=2)
    page = png.read("even.png")
    check(all((page == one[0, 0]).all(-1).sum() > 1000 for one in x), "colours on the page")
    refused("--threshold is for one microstructure", "view", "even.h5", "--threshold", "otsu", "--output", "no.png", status=2)


there_and_back()
tiles()
phases()
reals()
generates()
planned()
tree()
views()
finish("pictures")
