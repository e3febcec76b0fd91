"""data import --tile: samples cut from micrographs. Every tile is where it should be, tiles of two splits share no pixel, and properties are
those of the tile. usage: tiles.py MESOFORGE MPIEXEC"""
import json
import os
import sys
import tempfile

import png
import runs
from runs import check, finish, optional

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
h5py, numpy = optional("h5py"), optional("numpy")
if not h5py or not numpy:
    sys.exit(77)
random = numpy.random.default_rng(8)


def run(*words, **more):
    return runs.run(program, *words, mpiexec=mpiexec, **more)


def made(*words, **more):
    done = run(*words, **more)
    check(done.status == 0, f"{words}: {done}")
    return done


def arrays(path):
    """All arrays of a file, by name."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, one: found.update({name: one[()]}) if isinstance(one, h5py.Dataset) else None)
        found["names"] = [str(name) for name in file["samples/properties"].attrs["names"]]
        found["phases"] = file["samples/x"].attrs.get("phases", 0)
    return found


def same(one, other):
    a, b = arrays(one), arrays(other)
    check(a.keys() == b.keys() and all(numpy.array_equal(a[k], b[k]) for k in a), f"{one} and {other} differ")


def blobs(*shape):
    """A field of phases 0 and 1 with features of a few pixels, whose tiles are all different."""
    field = random.normal(0, 1, shape)
    for axis in (0, 1):
        field = sum(numpy.roll(field, k, axis) for k in range(4))
    return (field > 2).astype("u1")


def places(x, images, tile, stride):
    """Image, y and x of every sample; each is found at one place."""
    at = {}
    for i, image in enumerate(images):
        for y in range(0, image.shape[0] - tile[0] + 1, stride[0]):
            for k in range(0, image.shape[1] - tile[1] + 1, stride[1]):
                at.setdefault(image[y:y + tile[0], k:k + tile[1]].tobytes(), []).append((i, y, k))
    check(all(len(found) == 1 for found in at.values()), "the tiles of this test are not all different")
    found = [at.get(sample.tobytes(), [None])[0] for sample in x]
    check(None not in found and len(set(found)) == len(x), "samples are no tiles, or a tile comes twice")
    return found, len(at)


def best_of(extent, tile, stride):
    """How near all pairs of cuts come to 80/10/10."""
    count = [(extent[a] - tile[a]) // stride[a] + 1 for a in (0, 1)]
    gap = [-(-tile[a] // stride[a]) - 1 for a in (0, 1)]
    along = 1 if count[1] >= count[0] else 0
    n, m, skip, pass_ = count[along], count[1 - along], gap[along], gap[1 - along]
    found = []
    for first in range(1, n - skip):
        for across in range(1, m - pass_):
            parts = numpy.array([first * m, (n - first - skip) * across, (n - first - skip) * (m - across - pass_)])
            found.append(abs(parts / parts.sum() - (0.8, 0.1, 0.1)).max())
    return min(found)


def apart(path, images, tile, stride, said, share=(0.8, 0.1, 0.1)):
    """No pixel is in two splits, and what is left out is said."""
    set_ = arrays(path)
    found, all_ = places(set_["samples/x"], images, tile, stride)
    seen = [numpy.full(image.shape, -1) for image in images]
    for (i, y, k), split in zip(found, set_["index/split"]):
        part = seen[i][y:y + tile[0], k:k + tile[1]]
        check(((part == -1) | (part == split)).all(), f"{path}: a pixel is in two splits")
        part[:] = split
    left = all_ - len(found)
    check(f"{left} tile{'s' if left > 1 else ''} between two splits" in said if left else "between" not in said, f"{path}: {left} are left out: {said}")
    count = numpy.bincount(set_["index/split"], minlength=3)
    return abs(count / count.sum() - share).max(), found


def through(phase):
    """Does a path lead from face to face along x?"""
    reached = numpy.zeros_like(phase)
    reached[:, 0] = phase[:, 0]
    for _ in range(phase.size):
        grown = reached.copy()
        for axis in (0, 1):
            for by in (1, -1):
                moved = numpy.roll(reached, by, axis)
                edge = [slice(None)] * 2
                edge[axis] = 0 if by == 1 else -1
                moved[tuple(edge)] = False
                grown |= moved
        grown &= phase
        if (grown == reached).all():
            break
        reached = grown
    return reached[:, -1].any()


def measured(path):
    """Properties against counts in each tile, which is not periodic."""
    set_ = arrays(path)
    phases = set_["phases"]
    for p in range(1, phases):
        column = {name: set_["samples/properties"][:, k] for k, name in enumerate(set_["names"])}
        of = lambda word: column[word if phases == 2 else f"{word}_{p}"]
        x = set_["samples/x"] == p
        check(abs(of("volume_fraction") - x.mean((1, 2))).max() < 1e-6, "volume fractions")
        faces = (x[:, 1:] != x[:, :-1]).mean((1, 2)) + (x[:, :, 1:] != x[:, :, :-1]).mean((1, 2))
        check(abs(of("interface_density") - faces).max() < 1e-6, "interfaces")
        for lag in [lag for lag in (1, 2, 4, 8, 16) if 2 * (lag + 1) <= min(x.shape[1:])]:
            s2 = ((x[:, lag:] & x[:, :-lag]).mean((1, 2)) + (x[:, :, lag:] & x[:, :, :-lag]).mean((1, 2))) / 2
            check(abs(of(f"s2_{lag}") - s2).max() < 1e-6, f"S2 at {lag}")
        way = [through(one) for one in x]
        check((of("percolates_x") == way).all() and ((of("straightness_x") > 0) == way).all(), "percolation")
    way = [through(one) for one in set_["samples/x"] == 0]
    check(((column["matrix_straightness_x"] > 0) == way).all(), "percolation of phase 0")


def cut():
    image = blobs(90, 101)
    numpy.save("image.npy", image)
    words = ("data", "import", "image.npy", "--tile", 16, 20, "--stride", 5, 4, "--output")
    said = made(*words, "one.h5").err
    far, found = apart("one.h5", [image], (16, 20), (5, 4), said)
    check(abs(far - best_of((90, 101), (16, 20), (5, 4))) < 1e-12, f"shares are {far} from the wish")
    check("samples/label" not in arrays("one.h5"), "labels that nobody gave")
    measured("one.h5")
    for ranks in (2, 3, 4):
        made(*words, "many.h5", *(("--compress", 4) if ranks == 3 else ()), ranks=ranks)
        same("one.h5", "many.h5")
    made("verify", "one.h5")
    told = json.loads(made("info", "one.h5", "--json").out)
    check(told["kind"] == "dataset" and told["phases"] == 2 and told["shape"] == [16, 20], told)
    dry = json.loads(made(*words, "never.h5", "--dry-run", "--json").out)
    check(dry["samples"] == told["samples"] and not os.path.exists("never.h5"), dry)
    made("train", "regress", "--data", "one.h5", "--target", "volume_fraction", "--arch", "mlp", "--width", 4, "--epochs", 1, "--no-plots", "--no-events", "--results-dir", "r")
    made(*words[:-1], "--train", 0.7, "--validation", 0, "--output", "two.h5")
    check(set(arrays("two.h5")["index/split"]) == {0, 2}, "two splits")
    apart("grid.h5", [image], (30, 30), (30, 30), made("data", "import", "image.npy", "--tile", 30, "--stride", 30, "--output", "grid.h5").err)
    check(len(arrays("grid.h5")["samples/x"]) == 9, "tiles side by side: none is left out")
    made("data", "split", "grid.h5", "--output", "divided.h5")
    for ranks in (1, 2):
        done = run("data", "split", "one.h5", "--output", "no.h5", ranks=ranks)
        check(done.status == 3 and "overlap, and other splits would share pixels; try: data import --tile" in done.err and not os.path.exists("no.h5"), done)


def several():
    """Each of them is cut; small ones go to one split; classes are those of images."""
    os.makedirs("folder")
    images = [blobs(60, 80), blobs(70, 50), blobs(20, 24), blobs(18, 18)]
    images[1][blobs(70, 50) == 1] = 2
    for name, image in zip("abcd", images):
        numpy.save(f"folder/{name}.npy", image)
    words = ("data", "import", "folder", "--tile", 16, "--stride", 3, "--classes", "iron,steel,iron,iron", "--output")
    said = made(*words, "one.h5").err
    far, found = apart("one.h5", images, (16, 16), (3, 3), said)
    set_ = arrays("one.h5")
    check(far < 0.02 and set_["phases"] == 3 and (set_["samples/label"] == [i == 1 for i, *_ in found]).all(), f"{far}, labels")
    check(all(len({s for (i, *_), s in zip(found, set_["index/split"]) if i == k}) == (3 if k < 2 else 1) for k in range(4)), "who is cut")
    measured("one.h5")
    for ranks in (2, 3):
        made(*words, "many.h5", ranks=ranks)
        same("one.h5", "many.h5")
    made("train", "classify", "--data", "one.h5", "--arch", "mlp", "--width", 4, "--epochs", 1, "--no-plots", "--no-events", "--results-dir", "c")
    made("data", "import", "folder/c.npy", "folder/d.npy", "folder/c.npy", "--tile", 16, "--output", "small.h5")
    check(set(arrays("small.h5")["index/split"]) == {0, 1, 2}, "small images fill all splits")


def values():
    """Thresholds, labels and grey values; a part of an image."""
    grey = random.integers(0, 256, (64, 70), dtype=numpy.uint8)
    png.write("grey.png", grey)
    words = ("--tile", 16, "--stride", 6, "--output", "v.h5")
    for more, image in ((("--threshold", 99.5), grey > 99), (("--threshold", 99.5, "--crop", 3, 5, 60, 60), grey[3:63, 5:65] > 99), (("--grey-values",), grey), (("--grey-values", "--crop", 3, 5, 60, 60), grey[3:63, 5:65])):
        said = made("data", "import", "grey.png", *more, *words).err
        apart("v.h5", [image.astype("u1")], (16, 16), (6, 6), "\n".join(line for line in said.split("\n") if "split" in line))
    set_ = arrays("v.h5")
    real = numpy.column_stack([set_["samples/x"].mean((1, 2)), set_["samples/x"].std((1, 2))])
    check(set_["names"] == ["mean", "deviation"] and abs(set_["samples/properties"] / real - 1).max() < 1e-5 and not set_["phases"], "grey values")
    numpy.save("reals.npy", grey / 7)
    made("data", "import", "reals.npy", "--grey-values", *words, ranks=2)
    places(arrays("v.h5")["samples/x"], [(grey / 7).astype("f4")], (16, 16), (6, 6))
    png.write("labels.png", blobs(64, 70) * 255)
    made("data", "import", "labels.png", "--labels", "255,0", *words)
    check(abs(arrays("v.h5")["samples/x"].mean() - 0.5) > 0.1 and arrays("v.h5")["phases"] == 2, "labels")


def refused():
    png.write("small.png", numpy.zeros((12, 40)))
    numpy.save("volume.npy", numpy.zeros((20, 20, 20), "u1"))
    numpy.save("blank.npy", numpy.zeros((80, 80), "u1"))
    numpy.save("stack.npy", random.normal(0, 1, (9, 40, 40)))
    os.makedirs("empty")
    tile = ("--tile", 16)
    for status, words, says in ((3, ("small.png", *tile, "--grey-values"), "'small.png' has 12 x 40 pixels, which hold no tile of 16 x 16"), (3, ("gone.npy", *tile), "gone.npy"),
                                (3, ("volume.npy", *tile), "'volume.npy' is no image"), (3, ("blank.npy", *tile), "one phase alone"), (3, ("stack.npy", *tile, "--grey-values"), "'stack.npy' is no image"),
                                (3, ("grey.png", *tile), "--threshold otsu"), (3, ("empty", *tile), "'empty' holds no .npy, PNG or TIFF"), (3, ("image.npy", "--tile", 60), "the validation split would be empty"),
                                (3, ("image.npy", "reals.npy", *tile, "--grey-values"), "no one scale"), (3, ("folder/b.npy", *tile, "--phases", 2), "has 3 phases, more than --phases 2"),
                                (2, ("image.npy", "--stride", 8), "--stride is for tiles"), (2, ("image.npy", *tile, "--table", "t.csv"), "--table is for samples that are no tiles"),
                                (2, ("image.npy", "--tile", 4), "--tile must be 8 to"), (2, ("image.npy", "--tile", 8, 8, 8), "one value or two"), (2, ("image.npy", *tile, "--stride", 0), "--stride must be 1"),
                                (2, ("image.npy", *tile, "--labels", "y.npy"), "as 0,255, not 'y.npy'"), (2, ("image.npy", *tile, "--grey-values", "--threshold", "otsu"), "leave one of them out"),
                                (2, ("image.npy", *tile, "--classes", "a", "b"), "2 names for 1 image"), (2, ("image.npy", "grey.png", "a.npy", *tile, "--classes", "a,,b"), "--classes: name 2 is empty"),
                                (2, ("image.npy", *tile, "--classes", "a,"), "--classes: name 2 is empty"), (2, ("image.npy", "--classes", "a", "", "b"), "--classes: name 2 is empty"), (2, ("image.npy", "grey.png"), "several images are cut by --tile"), (2, tile, "no image"),
                                (2, ("image.npy", *tile, "--crop", 0, 0, 500, 500), "--crop"), (2, ("image.npy", *tile, "--output", "image.npy"), "")):
        done = run("data", "import", *words, *(() if "--output" in words else ("--output", "never.h5")))
        check(done.status == status and says in done.err and done.err.count("mesoforge: data import: ") == 1, f"{words}: {done}")
    full = run("data", "import", "image.npy", *tile, "--output", "never.h5", ranks=2, fault="io.write:visit=3:rank=1")
    check(full.status == 7 and not os.path.exists("never.h5") and not os.path.exists("never.h5.partial"), full)


cut()
several()
values()
refused()
finish("tiles")
