"""Descriptor files through h5py: ours read there, and hostile ones refused here.

usage: io_target_file.py PROGRAM FOLDER   (PROGRAM: tests/io_target_file)"""
import os
import shutil
import subprocess
import sys

try:
    import h5py
    import numpy as np
except ImportError:
    sys.exit(77)

program, folder = sys.argv[1:3]
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("failed:", what)


def run(*words):
    """Runs the program; its lines as (code, text)."""
    done = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, timeout=120)
    check(done.returncode == 0, "it ran: %s" % done.returncode)
    lines = done.stdout.decode().splitlines()
    return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
os.chdir(folder)
check(subprocess.run([program], timeout=60).returncode == 0, "round trip")
good = "io_target_file_1.h5"  # one side, four phases


def reads_with_h5py():
    with h5py.File(good, "r") as f:
        check(f.attrs["schema"] == "descriptors" and f.attrs["schema_version"] == 1, "schema")
        check(list(f.attrs["labels"]) == [-3, 7, 17, 27] and f.attrs["lag"] == 3, "labels, lag")
        check(f.attrs["unit"] == "\u00b5m" and f.attrs["source"] == 'a/b "c".npy', "texts")
        check(list(f.attrs["spacing"]) == [0.25, 0.5, 0.75], "spacing")
        check(f["all/s2"].shape == (4, 2, 5, 5) and f["all/s2"].dtype == np.float64, "s2")
        check(f["all/cross"].shape == (6, 2, 5, 5), "cross")
        check(f["all/variation"].shape == (4, 2) and f["all/fraction"].shape == (4, 2), "variation, fraction")
        check(f["all/lineal_path"].shape == (4, 2, 13) and f["all/two_point_soft"].attrs["axes"] == "phase level entry", "further ones")
        check(f["all/example"].shape == (6, 7) and f["all/example"][0, 0] == -1, "example")
        check(list(f["all"].attrs["slice_shape"]) == [100, 50] and f["all"].attrs["slices"] == 7, "slices")
        check(f["convergence"].shape == (1, 3) and f.attrs["command"] == "characterize", "provenance")
        check("definitions" in f.attrs and f["all/s2"].attrs["axes"] == "phase level du dv", "definitions")


reads_with_h5py()


spoilt = []


def bad(name, change):
    """A copy of the good file that `change` spoils must be refused with one sentence that names the file."""
    path = "bad_%s.h5" % name
    shutil.copy(good, path)
    with h5py.File(path, "r+") as f:
        change(f)
    spoilt.append(path)


def replace(f, path, data=None, **more):
    del f[path]
    f.create_dataset(path, data=data, **more)


bad("schema", lambda f: f.attrs.__setitem__("schema", "microstructure"))
bad("schema_type", lambda f: f.attrs.__setitem__("schema", 3))
bad("no_schema", lambda f: f.attrs.__delitem__("schema"))
bad("version", lambda f: f.attrs.__setitem__("schema_version", 99))
bad("lag_huge", lambda f: f.attrs.__setitem__("lag", 2**62))
bad("lag_negative", lambda f: f.attrs.__setitem__("lag", -1))
bad("lag_zero", lambda f: f.attrs.__setitem__("lag", 0))
bad("lag_text", lambda f: f.attrs.__setitem__("lag", "three"))
bad("lag_other", lambda f: f.attrs.__setitem__("lag", 4))
bad("labels_many", lambda f: f.attrs.__setitem__("labels", np.arange(1000)))
bad("labels_twice", lambda f: f.attrs.__setitem__("labels", [1, 1, 2, 3]))
bad("labels_few", lambda f: f.attrs.__setitem__("labels", [1, 2]))
bad("labels_none", lambda f: f.attrs.__delitem__("labels"))
bad("spacing_zero", lambda f: f.attrs.__setitem__("spacing", [0.0, 1, 1]))
bad("spacing_nan", lambda f: f.attrs.__setitem__("spacing", [np.nan, 1, 1]))
bad("spacing_two", lambda f: f.attrs.__setitem__("spacing", [1.0, 1]))
bad("unit_long", lambda f: f.attrs.__setitem__("unit", "m" * 5000))
bad("no_group", lambda f: f.__delitem__("all"))
bad("no_s2", lambda f: f.__delitem__("all/s2"))
bad("s2_rank", lambda f: replace(f, "all/s2", np.zeros((4, 50))))
bad("s2_text", lambda f: replace(f, "all/s2", np.full((4, 2, 5, 5), b"x")))
bad("s2_nan", lambda f: f["all/s2"].__setitem__((0, 0, 0, 0), np.nan))
bad("s2_large", lambda f: f["all/s2"].__setitem__((3, 1, 4, 4), 1e300))
bad("s2_compound", lambda f: replace(f, "all/s2", np.zeros((4, 2, 5, 5), [("a", "f8"), ("b", "i4")])))
bad("levels_none", lambda f: replace(f, "all/s2", np.zeros((4, 0, 5, 5))))
bad("levels_many", lambda f: replace(f, "all/s2", np.zeros((4, 99, 5, 5))))
bad("never_written", lambda f: replace(f, "all/s2", shape=(4, 2, 5, 5), dtype="f8"))
bad("absurd", lambda f: replace(f, "all/s2", shape=(4, 2, 2**40, 5), dtype="f8", chunks=(1, 1, 5, 5)))
bad("fraction_shape", lambda f: replace(f, "all/fraction", np.zeros(3)))
bad("variation_shape", lambda f: replace(f, "all/variation", np.zeros((4, 3))))
bad("cross_shape", lambda f: replace(f, "all/cross", np.zeros((5, 2, 5, 5))))
bad("lineal_shape", lambda f: replace(f, "all/lineal_path", np.zeros((4, 2, 12))))
bad("lineal_nan", lambda f: f["all/lineal_path"].__setitem__((1, 1, 5), np.nan))
bad("lineal_rank", lambda f: replace(f, "all/lineal_path_sharp", np.zeros((4, 2, 5, 5))))
bad("soft_nan", lambda f: f.attrs.__setitem__("soft_threshold", [np.nan, 10]))
bad("soft_three", lambda f: f.attrs.__setitem__("soft_threshold", [0.5, 10, 3]))
bad("soft_steep", lambda f: f.attrs.__setitem__("soft_threshold", [0.5, 101]))
bad("soft_steep", lambda f: f.attrs.__setitem__("soft_threshold", [0.5, 1e9]))
bad("example_rank", lambda f: replace(f, "all/example", np.zeros(5)))
bad("example_empty", lambda f: replace(f, "all/example", np.zeros((0, 5))))
bad("example_large", lambda f: replace(f, "all/example", np.zeros((2, 513))))
bad("example_absurd", lambda f: replace(f, "all/example", shape=(2**40, 2**20), dtype="f8", chunks=(1, 5)))
bad("example_phase", lambda f: f["all/example"].__setitem__((0, 0), 4))
bad("example_below", lambda f: f["all/example"].__setitem__((0, 0), -2))
bad("example_between", lambda f: f["all/example"].__setitem__((0, 0), 0.5))
bad("example_nan", lambda f: f["all/example"].__setitem__((0, 0), np.nan))
bad("slice_small", lambda f: f["all"].attrs.__setitem__("slice_shape", [1, 1]))
bad("slice_negative", lambda f: f["all"].attrs.__setitem__("slice_shape", [-5, 50]))


def outside(f):
    with h5py.File("elsewhere.h5", "w") as other:
        other["s2"] = np.zeros((4, 2, 5, 5))
    del f["all/s2"]
    f["all/s2"] = h5py.ExternalLink("elsewhere.h5", "s2")


bad("external_link", outside)
bad("soft_link", lambda f: (f.__setitem__("b", f["all"]), f.__delitem__("all"),
                            f.__setitem__("all", h5py.SoftLink("/b"))))


for path, (rc, text) in zip(spoilt, run("load", *spoilt)):
    check(rc == 3 and path in text, "%s: %s %r" % (path, rc, text))
    print("%-26s %s" % (path, text))


def compressed():
    """What h5py users write: chunks and deflate, float32 and big-endian are welcome."""
    shutil.copy(good, "packed.h5")
    with h5py.File("packed.h5", "r+") as f:
        data = f["all/s2"][...]
        replace(f, "all/s2", data.astype(">f4"), compression="gzip", shuffle=True)
        f.attrs["lag"] = np.int16(3)
        f.attrs["unit"] = np.bytes_(b"mm")
    rc, text = run("load", "packed.h5")[0]
    check(rc == 0 and text == "4 phases, 1 sides, lag 3, centre %.17g" % np.float32(data[0, 0, 2, 2]), "packed: %s" % text)


compressed()


def damaged():
    """Truncated and flipped files: refused, or read; never a crash, never more than one line each."""
    whole = open(good, "rb").read()
    rng = np.random.default_rng(1)
    cuts, flips = [], []
    for n in [0, 1, 8, 100, len(whole) // 2, len(whole) * 9 // 10]:
        cuts.append("cut_%d.h5" % n)
        open(cuts[-1], "wb").write(whole[:n])
    for trial in range(60):
        bytes_ = bytearray(whole)
        for at in rng.integers(0, len(whole), 1 + trial % 20):
            bytes_[at] = rng.integers(0, 256)
        flips.append("flip_%d.h5" % trial)
        open(flips[-1], "wb").write(bytes_)
    got = run("load", ".", *cuts, *flips)
    check(len(got) == 1 + len(cuts) + len(flips), "one line each")
    check(all(rc == 3 for rc, _ in got[:1 + len(cuts)]), "cut: %s" % got[:1 + len(cuts)])
    check(all(rc in (0, 3) for rc, _ in got), "flipped: %s" % got)


damaged()


def imports():
    rng = np.random.default_rng(2)
    for shape in [(32, 32), (31, 45), (8, 9)]:
        x = (rng.random(shape) < 0.4).astype(float)
        s2 = np.fft.fftshift(np.fft.ifft2(np.abs(np.fft.fft2(x)) ** 2).real) / x.size
        np.save("s2.npy", s2[..., None] if shape[0] == 31 else s2)
        most = min(min(n // 2, n - 1 - n // 2) for n in shape) + 1
        for rc, text in run("import", *(w for lag in (1, 2, most) for w in ("s2.npy", lag))):
            check(rc == 0 and abs(float(text.split()[-1]) - x.mean()) < 1e-12, "import %s: %s" % (shape, text))
        for rc, text in run("import", "s2.npy", 0, "s2.npy", most + 1):
            check(rc == 2 and "1 to %d" % most in text, "import: %s" % text)
    np.save("shift.npy", np.fft.ifftshift(s2))
    np.save("nan.npy", np.full((9, 9), np.nan))
    np.save("cube.npy", np.zeros((9, 9, 9)))
    names = ["shift.npy", "nan.npy", "cube.npy", good]
    for name, (rc, text) in zip(names, run("import", *(w for name in names for w in (name, 3)))):
        check(rc == 3, "import %s: %s %s" % (name, rc, text))
        print("%-26s %s" % (name, text))


imports()
sys.exit(failures != 0)
