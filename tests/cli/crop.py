"""--crop and --crop-bar: a part of an image has the results of a file that holds that part alone, also under a mask, in every
format and on any number of ranks. Data bars are found, nothing else is taken for one, and grey pictures get a command to type.

    crop.py MESOFORGE MPIEXEC ...       exit status 77: NumPy or h5py is missing
"""
import os
import shlex
import struct
import sys
import tempfile
import zlib

from hdf5 import h5py
from runs import check, finish, measure, refuses, run
from samples import blobs, digest, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
BLOCKS = {"1": "010 110 010 010 111", "0": "111 101 101 101 111", "k": "101 110 100 110 101", "V": "101 101 101 101 010", "m": "000 111 111 101 101", "x": "000 101 010 101 000", " ": "000 000 000 000 000"}


def png(name, grey):
    """An 8-bit grey picture; with a third axis one of colours."""
    piece = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 2 * (grey.ndim == 3), 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in grey.astype("u1"))
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b""))
    return name


def photo(rows, columns, seed=1):
    """Two phases as a camera sees them."""
    noise = np.random.default_rng(seed).standard_normal((rows, columns))
    return np.clip(70 + 100 * blobs((rows, columns), [0.6, 0.4], seed, 3) + 12 * noise, 0, 255).astype("u1")


def bar(rows, columns, ground, ink, words="10kV x100", line=True):
    """A strip with text, and with a line beside it that shows a length."""
    strip = np.full((rows, columns), ground, "u1")
    size = 2 if rows >= 16 else 1
    for k, letter in enumerate(words):
        glyph = np.array([[int(bit) for bit in row] for row in BLOCKS[letter].split()], bool)
        at = (slice((rows - 5 * size) // 2, (rows + 5 * size) // 2), slice(6 + 4 * size * k, 6 + 4 * size * k + 3 * size))
        strip[at][np.kron(glyph, np.ones((size, size), bool))] = ink
    if line:
        strip[rows // 2 - 1:rows // 2 + 1, 12 + 4 * size * len(words):columns - 8] = ink
    return strip


def described(file, *words, ranks=1):
    """All numbers of a characterisation, and where its part of an image is."""
    told = measure(PROGRAM, "characterize", file, "--limit_to", 4, "--output", "t.h5", *words, ranks=ranks, mpiexec=MPIEXEC)
    with h5py.File("t.h5") as read:
        return told and {name: read["all"][name][:].tobytes() for name in read["all"]}, read.attrs.get("crop", ())


def same_as_its_part():
    """Against a file that NumPy has cut."""
    y, x, rows, columns = 5, 9, 40, 50
    part, words = (slice(y, y + rows), slice(x, x + columns)), ["--crop", y, x, rows, columns]
    grey = photo(60, 80)
    want, none = described(save(".", "part.npy", grey[part]), "--threshold", "otsu")
    check(len(none) == 0, f"an attribute crop of a whole image: {none}")
    files = [png("whole.png", grey), save(".", "whole.npy", grey), save(".", "fortran.npy", np.asfortranarray(grey)), save(".", "wide.npy", grey.astype(">u2")), save(".", "real.npy", np.asfortranarray(grey.astype("f8")))]
    with h5py.File("chunks.h5", "w") as file:
        file.create_dataset("grey", data=grey, chunks=(7, 11), compression="gzip")
    for k, file in enumerate([*files, "chunks.h5"]):
        got, crop = described(file, "--threshold", "otsu", *words, ranks=1 + k % 4)
        check(got == want and list(crop) == words[1:], f"{file} on {1 + k % 4} ranks: other numbers than of its part, or crop {crop}")
    labels = blobs((60, 80), [0.5, 0.3, 0.2], 2)
    check(described(save(".", "labels.npy", labels), *words)[0] == described(save(".", "cut.npy", labels[part]))[0], "labels: other numbers than of the part")
    mask = np.random.default_rng(3).random((60, 80)) < 0.1
    masked = described("labels.npy", "--mask", save(".", "mask.npy", mask), *words, ranks=3)[0]
    check(masked == described("cut.npy", "--mask", save(".", "cut_mask.npy", mask[part]))[0], "under a mask: other numbers than of the part")
    outside = np.where(np.isin(np.arange(60 * 80).reshape(60, 80), np.arange(60 * 80).reshape(60, 80)[part]), labels, np.nan)
    check(described(save(".", "nan.npy", outside), *words)[0] == described("cut.npy")[0], "what is not a number outside of the part is read")
    outside[y + 2, x + 3] = np.nan
    refuses(PROGRAM, [(3, ["characterize", save(".", "nan.npy", outside), *words], f"the first at [{y + 2}][{x + 3}]")], ranks=(2,), mpiexec=MPIEXEC)
    runs = [run(PROGRAM, "match", file, *more, "--limit_to", 4, "--max_iter", 4, "--descriptor_types", "S2", "Variation", "--output", name, ranks=n, mpiexec=MPIEXEC)
            for file, more, name, n in (("cut.npy", [], "a.npy", 1), ("labels.npy", words, "b.npy", 2))]
    check(digest("a.npy") == digest("b.npy"), f"match of a part: other bits than of a file of it: {runs[1].err}")


def bars():
    """What is cut, and what must not be: (the picture, rows cut at the top, at the bottom)."""
    grey, flat = photo(120, 160), photo(120, 160)
    y, x = np.mgrid[:120, :160]
    flat[((y - 130) / 30.0) ** 2 + ((x - 80) / 200.0) ** 2 < 1] = 0
    pores = photo(120, 160, 4)
    pores[blobs((120, 160), [0.5, 0.5], 5, 12) == 1] = 0
    framed = bar(20, 160, 0, 255)
    framed[[0, -1]] = framed[:, [0, -1]] = 255
    close = bar(10, 160, 40, 255, line=False)
    close[0] = 255
    layers = np.repeat((np.arange(120) // 12 % 2 * 200).astype("u1")[:, None], 160, 1)
    black, white = bar(16, 160, 0, 255), bar(16, 160, 255, 0)
    dark = np.zeros((40, 160))
    for left in (30, 70, 110):
        dark[10:20, left:left + 8] = 200
    cases = {"black": ([grey, black], 0, 16), "white": ([grey, white], 0, 16), "top": ([black, grey], 16, 0), "both": ([black, grey, white], 16, 16),
             "no line": ([grey, bar(16, 160, 40, 255, line=False)], 0, 16), "low": ([grey, bar(9, 160, 0, 255)], 0, 9), "framed": ([grey, framed], 0, 20), "text at a line": ([grey, close], 0, 10),
             "margin": ([grey, black, np.full((3, 160), 255)], 0, 19), "two colours": ([grey, white, black], 0, 32), "an odd row below": ([grey, black, grey[:1]], 0, 17),
             "pores above": ([pores, black], 0, 16), "none": ([grey], 0, 0), "flat pore at the edge": ([flat], 0, 0), "flat pores": ([pores], 0, 0),
             "two flat phases": ([blobs((120, 160), [0.3, 0.7], 5, 6) * 200], 0, 0), "layers": ([layers], 0, 0), "no text": ([grey, np.zeros((16, 160))], 0, 0), "spots in a dark field": ([dark, grey], 0, 0)}
    for k, (name, (parts, top, bottom)) in enumerate(cases.items()):
        whole = np.vstack(parts).astype("u1")
        n = len(whole) - top - bottom
        file = png("bar.png", whole) if k % 3 else save(".", "bar.npy", np.asarray(whole * (100 if k % 2 else 1), "u2" if k % 2 else "u1", order="CF"[k % 2]))
        said = run(PROGRAM, "characterize", file, "--threshold", "otsu", "--crop-bar", "--limit_to", 4, "--dry-run", ranks=1 + k % 4, mpiexec=MPIEXEC)
        if top or bottom:
            check(said.status == 0 and f"(the same: --crop {top} 0 {n} 160)" in said.err and f"{file}: 1 x {n} x 160" in said.out, f"{name}: {said.err} {said.out}")
        else:
            check(said.status == 3 and "has no data bar" in said.err and "--crop Y X" in said.err, f"{name}: {said.status} {said.err}")
    for name, parts in (("fills", [bar(120, 160, 0, 255)]), ("most", [grey[:40], bar(60, 160, 0, 255)])):
        refuses(PROGRAM, [(3, ["characterize", png("bar.png", np.vstack(parts)), "--threshold", "otsu", "--crop-bar"], "more than a quarter")], ranks=(1, 2), mpiexec=MPIEXEC)


def advised():
    """A picture as it comes from the microscope: the sentence has the command, which runs, and says what it cut; the same bits as
    of the part, with --crop, on any number of ranks."""
    grey = photo(64, 64)
    png("my steel.png", np.vstack([grey, bar(12, 64, 0, 255, words="10k")]))
    png("plain.png", grey)
    quick = ["--limit_to", 4, "--max_iter", 4, "--descriptor_types", "S2", "Variation"]
    for file, words in (("my steel.png", ["--threshold otsu --crop-bar", "its last 12 rows look like a data bar"]), ("plain.png", ["--threshold otsu"])):
        said = run(PROGRAM, "match", file, *quick, "--output", "like.png", ranks=2, mpiexec=MPIEXEC)
        command = said.err.strip().split("try: ")[-1].splitlines()[0]
        check(said.status == 3 and all(w in said.err for w in words) and command.endswith(words[0]) and not os.path.exists("like.png"), f"{file}: {said.status} {said.err}")
        typed = shlex.split(command)
        check(typed[:3] == ["mesoforge", "match", file], f"the command: {command}")
        done = run(PROGRAM, *typed[1:])
        check(done.status == 0 and os.path.getsize("like.png") > 0, f"{command}: {done.err}")
        os.remove("like.png")
    runs = {name: run(PROGRAM, "match", file, "--threshold", "otsu", *more, *quick, "--output", name, ranks=n, mpiexec=MPIEXEC)
            for name, file, more, n in (("a.h5", "plain.png", [], 1), ("b.h5", "my steel.png", ["--crop-bar"], 3), ("c.h5", "my steel.png", ["--crop", 0, 0, 64, 64], 2))}
    fields = [h5py.File(name)["microstructure/phase"][:].tobytes() for name in runs]
    check(fields[0] == fields[1] == fields[2], f"other bits of a part than of a file of it: {[r.err for r in runs.values()]}")
    said = measure(PROGRAM, "info", "b.h5")
    check(said and said["results"]["crop"] == [0, 0, 64, 64], "the result does not say what it is of")
    coloured = np.repeat(np.vstack([grey, bar(12, 64, 0, 255, words="10k")])[..., None], 3, 2)
    coloured[-12:, :, 1] = 0
    said = run(PROGRAM, "characterize", png("logo.png", coloured), "--threshold", "otsu", "--limit_to", 4, "--output", "t.h5", ranks=2, mpiexec=MPIEXEC)
    check(said.status == 3 and "is a colour image" in said.err and "look like a data bar; if the bar alone has colours, try: mesoforge characterize logo.png" in said.err, f"colours in the bar alone: {said.err}")
    check(described("logo.png", "--threshold", "otsu", "--crop-bar", ranks=2)[0] == described("plain.png", "--threshold", "otsu")[0], "colours in the bar alone: other numbers than without it")
    coloured[:9, :9, 1] = 0
    refuses(PROGRAM, [(3, ["characterize", png("logo.png", coloured), "--threshold", "otsu", "--crop-bar"], "is a colour image")], ranks=(1,))
    left = run(PROGRAM, "match", "my steel.png", "--threshold", "otsu", *quick, "--dry-run")
    check("counts as material; try: --crop-bar" in left.err, f"a bar that counts: {left.err}")
    for more in (["--crop", 0, 0, 64, 64], ["--crop-bar"]):
        check("counts as material" not in run(PROGRAM, "match", "my steel.png", "--threshold", "otsu", *more, *quick, "--dry-run").err, f"{more}: a bar is still seen")
    a, b = (measure(PROGRAM, "compare", file, "a.h5", "--threshold", "otsu", "--limit_to", 4, *more) for file, more in (("plain.png", []), ("my steel.png", ["--crop_bar"])))
    check(a and b and a["results"] == b["results"], "compare with a part: other numbers than with a file of it")
    seen = [run(PROGRAM, "view", "a.h5", "--original_ms", "my steel.png", "--threshold", "otsu", *more, "--output", "v.png") for more in ([], ["--crop_bar"], ["--crop", 0, 0, 64, 64])]
    check([s.status for s in seen] == [0, 0, 0] and "are cut off" in seen[1].err, f"view: {seen}")
    plan = measure(PROGRAM, "plan", "match", "my steel.png", "--threshold", "otsu", "--crop-bar", *quick)
    check(plan and "shape: 1 x 64 x 64 (z y x)" in plan["problem"], f"plan: {plan}")
    unread = [run(PROGRAM, "plan", "match", *more, "--crop", 0, 0, 8, 8) for more in (["t.h5"], ["--size", 64, 64])]
    check(all(s.status == 0 and "--crop has no effect: no image is read" in s.err for s in unread), f"plans without an image: {unread}")
    config = run(PROGRAM, "match", "my steel.png", "--crop", 0, 0, 64, 64, "--print-config").out
    check("crop: [0, 0, 64, 64]" in config, f"--print-config: {config}")


def labelled():
    """A bar under labels: a word where they are read, the options without one where its text alone is no label. view and smooth
    cut it, too."""
    three = blobs((64, 80), [0.4, 0.3, 0.3], 3)
    text = bar(12, 80, 0, 1, words="10k")
    for name, parts in (("two", [three > 0, text]), ("three", [three, 2 * text]), ("spread", [100 * three, 255 * text]), ("plain", [three])):
        png(f"{name}.png", np.vstack(parts).astype("u1"))
    saw = "its last 12 rows look like a data bar"
    for name, words, status, says in (("two", [], 0, saw + ", which counts as material; try: --crop-bar"), ("three", [], 0, saw + ", which counts"),
                                      ("spread", [], 3, f"{saw}; try: mesoforge match spread.png --dry-run --labels 0,100,200 --crop-bar"),
                                      ("spread", ["--labels", "0,100,200"], 3, f"{saw}; try: mesoforge match spread.png --labels 0 100 200 --dry-run --crop-bar")):
        said = run(PROGRAM, "match", f"{name}.png", "--dry-run", *words, ranks=1 + len(words), mpiexec=MPIEXEC)
        check(said.status == status and says in said.err, f"{name} {words}: {said.status} {said.err}")
    check("data bar" not in run(PROGRAM, "match", "plain.png", "--dry-run").err, "labels without a bar")
    smooth = [run(PROGRAM, "smooth", *words, "--output", f"s{k}.npy") for k, words in enumerate((["plain.png"], ["three.png", "--crop_bar"], ["three.png", "--crop", 0, 0, 64, 80]))]
    check(all(s.status == 0 for s in smooth) and np.array_equal(np.load("s0.npy"), np.load("s1.npy")) and np.array_equal(np.load("s0.npy"), np.load("s2.npy")), f"smooth: {smooth}")
    for k, words in enumerate((["plain.png"], ["three.png", "--crop_bar"], ["three.png", "--crop", 0, 0, 64, 80], ["spread.png", "--crop_bar", "--axes", "yx"])):
        view = run(PROGRAM, "view", *words, "--output", f"v{k}.png", "--json")
        check(view.status == 0 and ("are cut off" in view.err) == ("--crop_bar" in words) and view.err.count("are cut off") <= 1, f"view: {view.out} {view.err}")
        check("64 \u00d7 80" in view.out, f"view of a part: {view.out}")
    refuses(PROGRAM, [(2, ["view", "three.png", "spread.png", "--crop_bar"], "for one file"), (2, ["view", "plain.png", "--crop", 0, 0, 65, 80], "not inside"), (3, ["view", "plain.png", "--crop_bar"], "has no data bar")], "--output", "no.png", ranks=(1, 2), mpiexec=MPIEXEC)


def refused():
    """One sentence, and the code of options or of files."""
    image, deep, one, large = "image.npy", "deep.npy", "one.npy", "large.npy"
    for name, array in ((image, blobs((20, 24), [0.6, 0.4], 1)), (deep, blobs((20, 24, 22), [0.6, 0.4], 1)), (one, np.zeros((20, 24), "u1")), (large, np.zeros((30, 30), "u1"))):
        np.save(name, array)
    half = blobs((20, 24), [0.6, 0.4], 1)
    half[:, :12] = 0
    save(".", "half.npy", half)
    cases = [(2, [image, "--crop", 0, 0, 21, 24], "not inside 'image.npy', which has 20 x 24 pixels"), (2, [image, "--crop", 10, 20, 10, 5], "not inside"), (2, [image, "--crop", 2**62, 0, 10, 10], "not inside"),
             (2, [image, "--crop", 0, 0, 10], "takes four values"), (2, [image, "--crop", 0, 0, 0, 10], "at least 1"), (2, [image, "--crop", -1, 0, 10, 10], "at least 0"), (2, [image, "--crop", 0, 0, 8, 8, "--crop-bar"], "leave one of them out"),
             (3, [deep, "--crop", 0, 0, 8, 8], "has 3 axes"), (3, [deep, "--crop-bar"], "has 3 axes"), (3, [image, "--crop", 0, 0, 16, 16, "--mask", large], "'large.npy' has 30 x 30 pixels"), (2, [image, "--crop", 0, 0, 3, 24, "--limit_to", 4], "limit_to")]
    refuses(PROGRAM, [(code, [("match", "characterize")[k % 2], *words], says) for k, (code, words, says) in enumerate(cases)], "--output", "no.h5", ranks=(1, 3), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(3, ["match", one], "only one phase"), (3, ["match", "half.npy", "--crop", 0, 0, 12, 12], "only one phase")], "--output", "no.h5", ranks=(1, 2), mpiexec=MPIEXEC)
    small, wide = "is none in slices of 20 x 20 or an example of 8 x 24", save(".", "wide.npy", blobs((128, 128), [0.6, 0.4], 1))
    refuses(PROGRAM, [(2, ["match", image, "--crop", 0, 0, 8, 24, "--size", 20, 20, "--limit_to", 4, "--descriptor_types", "S2", "Patches"], small), (5, ["match", wide, "--memory-limit", 10], "nothing fits into memory")],
            "--output", "no.h5", ranks=(1, 2), mpiexec=MPIEXEC)
    check(not os.path.exists("no.h5"), "something was written")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (same_as_its_part, bars, advised, labelled, refused):
        part()
    os.chdir("/")
finish("crop")
