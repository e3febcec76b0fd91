"""Datasets from and to files of others: data import, export, split, verify. What is wrong is refused by name.
usage: dataset_files.py MESOFORGE MPIEXEC"""
import gzip
import json
import os
import struct
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
random = numpy.random.default_rng(4)
run, made = runs.tools(program, mpiexec)


def refused(says, *words, status=3, ranks=1):
    done = run(*words, ranks=ranks)
    check(done.status == status and says in done.err and done.err.count("\n") == 1, f"{words}: {done}")


def told(path):
    return json.loads(made("data", "info", path, "--json").out)


def idx(path, values, magic=None, cut=0):
    code = {"uint8": 8, "float32": 13, "int32": 12}[str(values.dtype)]
    head = struct.pack(">BBBB", 0, 0, code, values.ndim) if magic is None else magic
    head += b"".join(struct.pack(">I", n) for n in values.shape)
    data = head + values.astype(values.dtype.newbyteorder(">")).tobytes()
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
        file.write(data[: len(data) - cut])


def read(path, name="samples/x"):
    with h5py.File(path) as file:
        return file[name][:]


def arrays():
    cases = {"bytes": random.integers(0, 256, (23, 6, 5), dtype=numpy.uint8), "reals": random.normal(3, 2, (23, 4, 6, 5)),
             "colours": random.integers(0, 256, (23, 6, 5, 3), dtype=numpy.uint8), "wide": random.integers(0, 256, (23, 6, 5)),
             "turned": numpy.asfortranarray(random.normal(0, 1, (23, 6, 5)).astype("f4")), "big": random.normal(0, 1, (23, 6, 5)).astype(">f4")}
    label = (numpy.arange(23) % 3).astype("i8")
    numpy.save("y.npy", label)
    numpy.save("x.npy", cases["bytes"])
    dry = json.loads(made("data", "import", "x.npy", "--dry-run", "--json").out)
    check(dry == {"dry_run": True, "file": "results/x.h5", "samples": 23} and not os.path.exists("results"), dry)
    for turn, (name, x) in enumerate(cases.items()):
        numpy.save("x.npy", x)
        for ranks in (1, 2, 3) if runs.LONG else [1 + turn % 3]:
            made("data", "import", "x.npy", "--labels", "y.npy", "--classes", "a", "b", "c", "--output", "set.h5", ranks=ranks)
            same = numpy.array_equal(read("set.h5"), x.astype("f4") if x.dtype.kind == "f" else x)
            check(same and (read("set.h5", "samples/label") == label).all(), f"{name} on {ranks} ranks")
        info = told("set.h5")
        train = read("set.h5", "index/split") == 0
        check(info["classes"] == {"a": 8, "b": 8, "c": 7} and abs(info["mean"][0] - x[train][..., :1 if name == "colours" else None].mean()) < 1e-4, info)
        check(abs(info["deviation"][-1] - x[train][..., 2 if name == "colours" else slice(None)].std()) < 1e-4, info)
        made("data", "verify", "set.h5", ranks=2)
    numpy.save("x.npy", (cases["bytes"] % 3))
    made("data", "import", "x.npy", "--phases", 3, "--compress", 3, "--output", "set.h5")
    check(told("set.h5")["phases"] == 3 and numpy.array_equal(read("set.h5"), cases["bytes"] % 3), "phases")


def idx_files():
    x, y = random.integers(0, 256, (31, 7, 9), dtype=numpy.uint8), random.integers(0, 10, 31, dtype=numpy.uint8)
    for end in ("", ".gz"):
        idx("x" + end, x)
        idx("y" + end, y)
        for ranks in runs.some((1, 3) if end else (3, 1)):
            made("data", "import", "x" + end, "--labels", "y" + end, "--output", "mnist.h5", ranks=ranks)
            check(numpy.array_equal(read("mnist.h5"), x) and (read("mnist.h5", "samples/label") == y).all(), f"idx{end}")
        idx("short" + end, x, cut=3)
        refused("has 1950", "data", "import", "short" + end)
        idx("wrong" + end, x, magic=b"\1\0\x08\3" if end else b"\0\0\x07\3")
        refused("compressed by gzip" if end else "samples are read from .npy, IDX", "data", "import", "wrong" + end)
    flip("x.gz", 60)
    refused("its gzip stream is damaged", "data", "import", "x.gz")
    flip("x.gz", 60)
    with open("bad.idx", "wb") as file:
        file.write(bytes(range(1, 100)))
    refused("samples are read from .npy, IDX", "data", "import", "bad.idx")
    for name, begins, says in (("a.dm4", b"\0\0\0\4", "DigitalMicrograph"), ("a.jp2", b"\0\0\0\14jP  \r\n", "a JPEG 2000"), ("a.jpg", b"\xff\xd8\xff\xe0", "a JPEG")):
        with open(name, "wb") as file:
            file.write(begins + bytes(64))
        refused(says, "data", "import", name)
    check("--threshold" not in run("data", "import", "a.jpg").err, "an option that data import lacks")
    numpy.save("z.npy", x)
    with gzip.open("z.npy.gz", "wb") as file:
        file.write(open("z.npy", "rb").read())
    refused("is compressed by gzip, which is not read here; unpack it", "data", "import", "z.npy.gz")
    reals = random.normal(0, 1, (5, 8, 8)).astype("f4")
    idx("f", reals)
    made("data", "import", "f", "--output", "f.h5")
    check(numpy.array_equal(read("f.h5"), reals), "floats of IDX")
    with open("cut.gz", "wb") as file:
        file.write(open("x.gz", "rb").read()[:-40])
    refused("no sound IDX file", "data", "import", "cut.gz")


def round_trips():
    kinds = "gaussian", "spheres", "grains"
    made("synth", "--num-samples", 30, "--kinds", *kinds, "--size", 16, 20, "--output", "a.h5")
    for out, table, words in (("x.npy", "x.csv", ()), ("pictures", "pictures/table.csv", ())):
        for ranks in (1, 2):
            made("data", "export", "a.h5", "--output", out, ranks=ranks)
            made("data", "import", out, "--table", table, "--phases", 2, "--classes", *kinds, "--output", "b.h5", ranks=ranks)
            check(told("a.h5")["hash"] == told("b.h5")["hash"], f"{out} is another set: {told('a.h5')}, {told('b.h5')}")
    check(numpy.array_equal(numpy.load("x.npy"), read("a.h5")), "x.npy")
    made("data", "export", "a.h5", "--split", "test", "--output", "t.npy")
    check(numpy.array_equal(numpy.load("t.npy"), read("a.h5")[read("a.h5", "index/split") == 2]), "t.npy")
    refused("--range is for pictures", "data", "export", "f.h5", "--range", 0, 1, "--output", "f.npy", status=2)
    with open("named.csv", "w") as file:
        file.write("file , label\r\n" + "".join(f"{i:08d}.png,{'zb'[i % 2]}\r\n" for i in range(9)))
    made("data", "import", "pictures", "--labels", "named.csv", "--output", "c.h5")
    check(told("c.h5")["classes"] == {"b": 4, "z": 5}, told("c.h5"))
    made("synth", "--size", 12, 16, 20, "--output", "pictures/other.tif")
    with open("named.csv", "a") as file:
        file.write("other.tif,b\n")
    refused("other extents", "data", "import", "pictures", "--table", "named.csv", ranks=2)
    refused("both tables", "data", "import", "pictures", "--table", "named.csv", "--labels", "named.csv", status=2)


def splits():
    before = told("a.h5")
    made("data", "split", "a.h5", "--train", 0.5, "--validation", 0.3, "--seed", 5, "--output", "s.h5")
    after = told("s.h5")
    check(after["splits"] == {"train": 15, "validation": 9, "test": 6} and after["hash"] != before["hash"], after)
    check(numpy.array_equal(read("a.h5"), read("s.h5")) and numpy.array_equal(read("a.h5", "samples/seed"), read("s.h5", "samples/seed")), "samples changed")
    made("data", "split", "s.h5", "--seed", 0, ranks=2)
    check(told("s.h5")["hash"] == before["hash"], "the same split is the same set")
    dry = made("data", "split", "a.h5", "--seed", 9, "--dry-run", "--json", "--output", "never.h5")
    check(json.loads(dry.out) == {"dry_run": True, "file": "never.h5", "samples": 30} and not os.path.exists("never.h5"), dry)
    refused("the validation split would be empty", "data", "split", "a.h5", "--validation", 0.001)
    refused("must end with .h5", "data", "split", "a.h5", "--output", "s.npy", status=2)
    refused("no shares", "data", "split", "a.h5", "--train", 0.9, "--validation", 0.3, status=2)
    done = made("data", "split", "a.h5", "--train", 0.2, "--validation", 0.8)
    check("6 samples to learn from, and 24 for validation; in /index/split 0 is train" in done.err, done)
    done = made("data", "split", "a.h5", "--train", 1, "--validation", 0)
    check("for validation" not in done.err, done)
    check(told("a.h5")["splits"]["train"] == 30, "all of them")
    refused("has no sample in its test split", "data", "export", "a.h5", "--split", "test", "--output", "t.npy")


def wrong():
    numpy.save("x.npy", numpy.zeros((10, 4, 4), "u1"))
    numpy.save("few.npy", numpy.zeros(9, "i4"))
    refused("'few.npy' has 9 rows for 10 samples", "data", "import", "x.npy", "--labels", "few.npy", ranks=3)
    numpy.save("y.npy", numpy.array([0, 1, 2, 0, 1, 5, 0, 0, 0, 0]))
    refused("label 5 of sample 5", "data", "import", "x.npy", "--labels", "y.npy", "--classes", "a", "b", "c")
    numpy.save("y.npy", numpy.full(10, -2))
    refused("label -2 of sample 0", "data", "import", "x.npy", "--labels", "y.npy")
    nan = numpy.zeros((10, 4, 4), "f4")
    nan[7, 2, 1] = numpy.nan
    numpy.save("nan.npy", nan)
    refused("sample 7 of 'nan.npy' holds a value that is not a finite number", "data", "import", "nan.npy", ranks=2)
    refused("holds 3, which is none of the phases 0 to 1", *(lambda: (numpy.save("p.npy", numpy.full((10, 4, 4), 3, "u1")), ("data", "import", "p.npy", "--phases", 2))[1])())
    numpy.save("w.npy", numpy.full((10, 4, 4), 300))
    refused("must be 0 to 255", "data", "import", "w.npy")
    for text, says in (("a,b\n1\n", "line 2 of 't.csv' has 1 cells"), ("a\n" + "1\n" * 9 + "nan\n", "is not a finite number"), ("a\n1\n", "has 1 rows"),
                       ("split\n" + "tset\n" * 10, "is no split"), ("a\n", "no table"), ("s,s\n1,2\n", "two columns called 's'"),
                       ('a\n"1"2\n', "the quotes of cell 1 in line 2"), ('\n"a\n', "the quotes of cell 1 in line 2"), ('a,b\n"x\ny",1\n1\n', "line 4 of 't.csv' has 1 cells")):
        with open("t.csv", "w") as file:
            file.write(text)
        refused(says, "data", "import", "x.npy", "--properties", "t.csv")
    numpy.save("l.npy", numpy.arange(10) % 3)
    refused("--classes names 'a' twice", "data", "import", "x.npy", "--labels", "l.npy", "--classes", "a", "b", "a", status=2)
    refused("a name of more than 63 bytes", "data", "import", "x.npy", "--labels", "l.npy", "--classes", "a", "b", "c" * 64)
    refused("no file", "data", "verify", status=2)
    refused("is no dataset", "data", "info", made("synth", "--size", 16, 16, "--output", "v.h5") and "v.h5")
    refused("cannot open", "data", "import", "absent.npy")


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def tables():
    """As spreadsheets write them."""
    names = ["big, old", 'the "other"']
    rows = [(("x", "y")[i % 2], 0.5 + i, -i) for i in range(6)]
    plain = ["label", *('"' + n.replace('"', '""') + '"' for n in names)], *((f'"{c}"', f'"{a}"', b) for c, a, b in rows)
    numpy.save("six.npy", numpy.zeros((6, 4, 4), "u1"))
    for parts, end in ((",", "\n"), (";", "\r\n"), ("\t", "\n")):
        text = end.join(parts.join(map(str, row)) for row in plain) + end
        with open("t.csv", "wb") as file:
            file.write(b"\xef\xbb\xbf" + (text.replace(".", ",") if parts == ";" else text).encode())
        made("data", "import", "six.npy", "--table", "t.csv", "--output", "t.h5")
        with h5py.File("t.h5") as file:
            check(list(file["samples/properties"].attrs["names"]) == names and list(file["samples/label"].attrs["classes"]) == ["x", "y"], f"names with {parts!r}")
            check(numpy.array_equal(file["samples/properties"], [row[1:] for row in rows]), f"values with {parts!r}")
    made("data", "export", "t.h5", "--output", "again.npy")
    made("data", "import", "again.npy", "--table", "again.csv", "--output", "again.h5")
    check(told("again.h5")["hash"] == told("t.h5")["hash"], "a table with quotes")


def table(text, *words, code="utf-8"):
    with open("t.csv", "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode(code))
    return ("data", "import", "six.npy", "--table", "t.csv", "--output", "t.h5", *words)


def spoiled_tables():
    """What spreadsheets and pandas write; what a cell cannot mean is refused by its cause."""
    indexed = ",label,a\n" + "".join(f"{i},{c},{i / 2}\n" for i, c in enumerate(("0.0", "10.0", "", "2.0", "NA", "10.0")))
    done = made(*table(indexed + ",,\n"))
    info = told("t.h5")
    check(info["classes"] == {"0": 1, "2": 1, "10": 2} and info["properties"] == ["a"], info)
    check("column 1 has no name" in done.err and "2 rows without a label (row 3: '')" in done.err, done)
    check((read("t.h5", "samples/label") == [0, 2, -1, 1, -1, 2]).all(), read("t.h5", "samples/label"))
    made(*table("sep=;\rLabel;a;b;c\r" + '" big " ;1,5;2;x\r' * 5 + "void;1;2;x\r", "--unknown", "void", "--ignore", "b,c"))
    check(told("t.h5")["classes"] == {"big": 5} and told("t.h5")["properties"] == ["a"], told("t.h5"))
    made(*table("label,a,b,c\n" + "10,1,2,x\n20,1,3,\nNA,1,4,y\n" * 2, "--columns", "b", "--classes", "20", "NA", "10"))
    check(told("t.h5")["classes"] == {"20": 2, "NA": 2, "10": 2} and told("t.h5")["properties"] == ["b"], told("t.h5"))
    for text, code, says in (("label\n" + "a\n" * 3 + "d\xe9j\xe0\n" * 3, "latin-1", "line 5 of 't.csv' has letters that are not UTF-8 (byte 0xE9)"),
                             ("label\n" + "a\n" * 6, "utf-16", "in UTF-16"), (b"PK\3\4\0\0", "", "a workbook (.xlsx"),
                             ("label\n" + "0.5\n1\n" * 3, "utf-8", "label 0.5 of sample 0"), ('a,b\n"1,5",2\n', "utf-8", "has 1 rows"),
                             ('a,b\n' + '"1,5",2\n' * 6, "utf-8", "decimal commas"), ("a,b\n1,5,2\n", "utf-8", "needs quotes"),
                             ("a\n" + "1e60\n" * 6, "utf-8", "beyond the range of float32"), ("a,klass\n" + "1,x\n" * 6, "utf-8", "--ignore 'klass' leaves it out")):
        refused(says, *table(text, code=code))
    refused("did you mean 'length'?", *table("length,b\n" + "1,2\n" * 6, "--columns", "lenght"))
    refused("there is no --table", "data", "import", "six.npy", "--ignore", "a", status=2)
    refused("both name 'b'", *table("a,b\n" + "1,2\n" * 6, "--columns", "a", "b", "--ignore", "b"), status=2)
    refused("'label', which is no property", *table("label,b\n" + "1,2\n" * 6, "--columns", "b,label"), status=2)
    for file, says in (("/tmp/00000000.png", "an absolute path"), ("C:\\x\\00000000.png", "an absolute path"), ("a\\00000000.png", "write / for \\"),
                       ("pictures/00000000.png", "without its folder"), ("gone.png", "'pictures/gone.png', which row 1 of 't.csv' names")):
        table(f"file\n{file}\n")
        refused(says, "data", "import", "pictures", "--table", "t.csv")
    refused("'file', which names the pictures", "data", "import", "pictures", "--table", "t.csv", "--ignore", "file", status=2)
    table("filename\n00000000.png\n")
    refused("did you mean 'filename'?", "data", "import", "pictures", "--table", "t.csv")


def doubtful_cells():
    """A cell that may mean two things is refused or said."""
    for text, says in (("a;b\n2,5;1\n1.234;2\n" + "9,5;1\n" * 4, "'1.234' in row 2 of 't.csv', column 'a', has a point, and '2,5' a decimal comma"),
                       ("label;b\n" + "1.000;0,5\n2.000;1,5\n" * 3, "'1.000' in row 1 of 't.csv', column 'label', has a point"),
                       ("a;b\n" + "1.234,5;1\n" * 6, "is not a finite number; write 1234,5")):
        refused(says, *table(text))
    for text, words in (("a;label\n" + "1.5;x\n" * 6, ()), ("a;label\n" + "1,5;1.4301\n2,5;1.4571\n" * 3, ("--classes", "1.4301", "1.4571")), ("id;a\n" + "1.234;1,5\n" * 6, ())):
        made(*table(text, *words))
    for word in ("#NV", "#NA", "None", "Null", "none", "NAN", "-nan", "-1.0"):
        done = made(*table(f"label\n{word}\na\nb\n{word}\na\nb\n"))
        check("2 rows without a label (row 1: '" + word in done.err and "classes:      a 2, b 2" in done.out, done)
    done = made(*table("label\n-1.0\n1.0\n2.0\n" * 1 + "1\n2\n1\n"))
    check("1 row without a label" in done.err and "classes:      1 3, 2 2" in done.out and "one class" not in done.err, done)
    for word in ("?", "-", "--"):
        done = made(*table(f"label\n{word}\na\nb\n{word}\na\nb\n"))
        check(f"give --unknown '{word}'" in done.err, done)
    for word, more in (("NA", ()), ("void", ("--unknown", "void"))):
        check("are one number" not in made(*table(f"label\n0\n1\n{word}\n0\n1\n2\n", *more)).err, f"0 and {word}")
    done = made(*table("label\n001\n01\n1\n2\n2\n2\n"))
    check("'001' and '01' are one number, and so one class" in done.err, done)
    done = made(*table("label\n001\n01\n1\n2\n2\n2\n", "--classes", "001", "01", "1", "2"))
    check("classes:      001 1, 01 1, 1 1, 2 3" in done.out, done)


def named_pictures():
    """A table names each picture once, and all of them; what is wrong with one is said by its name."""
    os.makedirs("named/in/deep")
    for at in ("a", "b", "c", "in/d", "in/deep/e"):
        png.write(f"named/{at}.png", numpy.arange(64).reshape(8, 8) % 3, 8)
    for rows, says in (("a.png,x,train\nb.png,y,test\nc.png,x,train", "warning: 'named"), ("a.png,x,train\nb.png,y,test\n./a.png,y,test", "rows 1 and 3 name './a.png', with two labels"),
                       ("a.png,x,train\nb.png,y,test\na.png,x,test", "rows 1 and 3 name 'a.png', in two splits"), ("in/d.png,x,train\nin/d.png,x,train\na.png,y,train", "rows 1 and 2 name 'in/d.png'; it may")):
        table("file,label,split\n" + rows + "\n")
        done = made("data", "import", "named", "--table", "t.csv", "--output", "n.h5")
        check((says in done.err) != (says == "warning: 'named"), done)
        left = 0 if "c.png" in rows else 1 if "/" not in rows else 2
        check(("left out" in done.err) == bool(left) and (left == 0 or f"{left} picture{' is' if left == 1 else 's are'} not in 't.csv'" in done.err), done)
    table("file\na.png\nb.png\n")
    refused("'named/a.png' holds 2, which is none of the phases 0 to 1", "data", "import", "named", "--table", "t.csv", "--phases", 2)
    table("file|label|E\na.png|x|1\n")
    refused("has one column, 'file|label|E'; separate cells", "data", "import", "named", "--table", "t.csv")


def classes():
    """Classes are the numbers that occur, in their order."""
    numpy.save("six.npy", numpy.zeros((6, 4, 4), "u1"))
    for y, names, label, words in (([1000, 3000, 2000] * 2, ["1000", "2000", "3000"], [0, 2, 1] * 2, ()), ([1, 2, -1] * 2, ["1", "2"], [0, 1, -1] * 2, ()),
                                   ([0, 255, 3] * 2, ["0", "3"], [0, -1, 1] * 2, ("--unknown", "255")), ([[0.], [2.], [0.]] * 2, ["0", "2"], [0, 1, 0] * 2, ())):
        numpy.save("y.npy", numpy.array(y))
        made("data", "import", "six.npy", "--labels", "y.npy", "--output", "c.h5", *words)
        with h5py.File("c.h5") as file:
            check(list(file["samples/label"].attrs["classes"]) == names and list(file["samples/label"]) == label, f"classes of {y}")
    for words, says in ((("--classes", "u,v,w"), "classes:      u 2, v 2, w 2"), (("--unknown", "2,0"), "classes:      1 2")):
        numpy.save("y.npy", numpy.arange(6) % 3)
        done = made("data", "import", "six.npy", "--labels", "y.npy", "--output", "c.h5", *words)
        check(says in done.out and "no such label" not in done.err, done)
    for words, says in ((("--classes", "c,b,a"), "c 2, b,a 2"), (("--classes", "c", "b,a"), "c 2, b,a 2"), (("--unknown", "b,a"), "classes:      c 2")):
        done = run(*table("label\n" + '"b,a"\nc\n' * 3, *words))
        check((done.status == 3 and "label 'b,a' in row 1" in done.err) if words[1] == "c,b,a" else says.replace(" 2", " 3") in done.out, done)
    numpy.save("y.npy", numpy.array([0, 255, 3] * 2, "u1"))
    for words, says in (((), "give --unknown 255"), (("--unknown", 254), "has no such label")):
        done = made("data", "import", "six.npy", "--labels", "y.npy", "--output", "c.h5", *words)
        check(says in done.err and told("c.h5")["classes"] == {"0": 2, "3": 2, "255": 2}, done)
    refused("'pictures' is a folder", "data", "import", "six.npy", "--labels", "pictures")
    for y, says in (([0.25, 0.75, 1] * 2, "label 0.25 of sample 0"), ([0, numpy.nan] * 3, "label nan of sample 1"), (numpy.eye(6), "numpy.argmax")):
        numpy.save("y.npy", numpy.array(y))
        refused(says, "data", "import", "six.npy", "--labels", "y.npy")


def by_h5py(x, axes=None, **parts):
    """A set of another program; its arrays by name, with / for __."""
    with h5py.File("f.h5", "w") as file:
        file["samples/x"] = x
        if axes:
            file["samples/x"].attrs["axes"] = axes
        for name, value in parts.items():
            file[name.replace("__", "/")] = value
    return "data", "info", "f.h5"


def foreign():
    """Nothing of another program's set is cut to what this one stores."""
    x, y = numpy.zeros((6, 4, 5), "u1"), numpy.arange(6) % 2
    made(*by_h5py(x, samples__label=numpy.array([[300.], [7.], [-1.]] * 2), index__split=numpy.array([0, 1, 255] * 2, "i8"), samples__properties=numpy.ones(6, ">f8")))
    info = told("f.h5")
    check(info["classes"] == {"7": 2, "300": 2} and info["splits"] == {"train": 2, "validation": 2, "test": 0}, info)
    for says, parts in (("label 0.75 of sample 0", {"samples__label": numpy.array([.75, .25] * 3)}), ("label -2 of sample 1", {"samples__label": 0 - 2 * y}),
                        ("/index/split of sample 1 is -1", {"index__split": -y}), ("/samples/properties of sample 0 is 1e+60", {"samples__properties": numpy.full((6, 1), 1e60)}),
                        ("/index/split of sample 1 is 0.5", {"index__split": y / 2}), ("numpy.argmax", {"samples__label": numpy.eye(6)})):
        refused(says, *by_h5py(x, **parts))
    numbered = h5py.special_dtype(enum=("i4", {"ferrite": 0, "austenite": 1}))
    for says, parts in (("/index/split holds Booleans; write 0 for train", {"index__split": y > 0}), ("holds text or an enum; write numbers", {"samples__label": numpy.array([b"a", b"bc"] * 3)}),
                        ("holds text or an enum; write numbers", {"samples__label": y.astype(numbered)})):
        refused(says, *by_h5py(x, **parts))
    reals = x.astype("f4")
    reals[4, 1, 2] = numpy.inf
    split = numpy.array([0, 0, 1, 1, 2, 2])
    refused("sample 4 (test split) holds a value that is not a finite number", *by_h5py(reals, samples__label=y, index__split=split))
    made(*by_h5py(reals, index__split=numpy.where(split == 2, 255, split)))
    for axes, says in ((None, "read as volumes of 3 planes"), ("sample z y x", "")):
        done = made(*by_h5py(numpy.zeros((6, 3, 4, 5), "u1"), axes))
        check(("numpy.moveaxis(x, 1, -1)" in done.err) == bool(says) and says in done.err, done)
    by_h5py(x, samples__label=y)
    with h5py.File("f.h5", "r+") as file:
        file["samples/label"].attrs["classes"] = numpy.array([b"d\xe9j", b"b"])
    refused("is not UTF-8", "data", "info", "f.h5")
    for axes, extent, says in ((b"sample y x", (6, 2, 3), None), (["sample", "y", "x"], (6, 4, 5), None), ("Samples, y, x", (6, 4, 5), None), ("sample y x channels", (6, 4, 5, 7), None), ("sample z y x", (6, 2, 4, 3), None),
                               ("sample channel y x", (6, 3, 4, 5), "numpy.moveaxis(x, 1, -1)"), ("sample z channel y x", (6, 2, 3, 4, 5), "numpy.moveaxis(x, 2, -1)"),
                               ("sample x y", (6, 4, 5), "'sample x y'"), ("sample y x", (6, 4, 5, 3), "has 4 axes"), ("y x sample", (6, 4, 5), "in the order sample"),
                               ("sample channels", (6, 4), "in the order sample")):
        words = by_h5py(numpy.zeros(extent, "u1"), axes)
        if says:
            refused(says, *words)
        else:
            info = told("f.h5")
            check(info["shape"] == list(extent[1:3] if info["channels"] == 7 else extent[1:]) and (info["channels"] == 7) == (7 in extent), f"{axes}: {info}")


def scales():
    """Pictures of one folder have one type; arrays fit into float32, with channels last."""
    os.makedirs("mixed")
    values = numpy.arange(64).reshape(8, 8)
    for bits in (1, 8, 16):
        png.write(f"mixed/{bits}.png", values % 2, bits)
    for one, other, says in ((8, 1, "'mixed/1.png' has 1-bit values and 'mixed/8.png' uint8"), (1, 8, "'mixed/8.png' has uint8 values and 'mixed/1.png' 1-bit"),
                             (8, 16, "'mixed/16.png' has uint16 values and 'mixed/8.png' uint8")):
        table(f"file\n{one}.png\n{other}.png\n")
        refused(says, "data", "import", "mixed", "--table", "t.csv")
    table("file\n8.png\n1.png\n")
    made("data", "import", "mixed", "--table", "t.csv", "--phases", 2, "--output", "m.h5")
    for group, says in ((5, True), (2, False)):
        grey = random.integers(0, 4096, (10, 8, 8)).astype("f4")
        grey[group:] *= 16
        numpy.save("x.npy", grey)
        done = made("data", "import", "x.npy", "--output", "m.h5")
        check(("channel 0 has two scales" in done.err and "5 of 10 images" in done.err) == says, done)
    mixed = random.integers(0, 256, (9, 8, 8))
    mixed[[2, 5]] %= 2
    for x, says in ((mixed, "channel 0 has two scales: 0 to 1 in sample"), (mixed[[0, 1, 3]] // numpy.array([1, 8, 64])[:, None, None], "")):
        numpy.save("x.npy", x.astype("u1"))
        done = made("data", "import", "x.npy", "--output", "m.h5")
        check(says in done.err and ("2 of 9 images" in done.err) == bool(says), done)
    numpy.save("x.npy", numpy.full((4, 8, 8), 1e60))
    numpy.save("z.npy", numpy.arange(4) % 2)
    refused("holds 1e+60, beyond the range of float32", "data", "import", "x.npy")
    for planes, ndim, says in ((1, 2, ""), (3, 3, "volumes of 3 planes"), (5, 3, "")):
        numpy.save("x.npy", random.normal(0, 1, (4, planes, 8, 8)))
        done = made("data", "import", "x.npy", "--labels", "z.npy", "--output", "m.h5")
        check(len(told("m.h5")["shape"]) == ndim and ("numpy.moveaxis(x, 1, -1)" in done.err) == bool(says) and says in done.err, done)
        if planes > 1:
            refused("volumes of 3 planes; if these are channels, they come last: numpy.moveaxis" if says else "volumes; try", "train", "classify", "--data", "m.h5", "--arch", "vit", "--device", "cpu", status=2)


def learnable():
    """What nothing can be learnt from is said; small numbers are no constants."""
    x = random.normal(0, 1e-7, (12, 4, 5, 3)).astype("f4")
    x[..., 1] = 9.81
    x[..., 2] += 1
    numpy.save("x.npy", x)
    numpy.save("y.npy", numpy.repeat([0, 1, 2], [1, 6, 5]))
    with open("t.csv", "w") as file:
        file.write("a,b\n" + "".join(f"{i * 1e-9},1e-9\n" for i in range(12)))
    done = made("data", "import", "x.npy", "--labels", "y.npy", "--table", "t.csv", "--classes", "alone", "b", "c", "none", "--train", 0.5, "--validation", 0.2, "--output", "l.h5")
    info, train = told("l.h5"), read("l.h5", "index/split") == 0
    check(abs(info["deviation"][0] / x[train][..., 0].std() - 1) < 1e-4 and info["deviation"][1:] == [1, 1], info)
    check(info["classes_of_splits"]["train"]["b"] == (train[1:7]).sum() and sum(info["classes_of_splits"]["test"].values()) == info["splits"]["test"], info)
    check("channel 1 is 9.81 in all images" in done.err and "channel 2 is 1 in all" in done.err and "channel 0" not in done.err, done)
    check("'b' is 1e-09 in all samples" in done.err and "'a' is" not in done.err, done)
    alone = not train[0]
    check(("classes have no sample in the train split to learn from: 'alone', 'none'" if alone else "1 class has no sample in the train split to learn from: 'none'") in done.err, done)
    done = made("train", "regress", "--data", "l.h5", "--arch", "mlp", "--width", 4, "--epochs", 1, "--no-plots", "--no-events", "--results-dir", "l", "--json", "--target", "a,b")
    check("'b' is 1e-09" in done.err and "channel 1" in done.err and json.loads(done.out)["test"], done)


def damage():
    for compress in (0, 6):
        made("synth", "--num-samples", 16, "--size", 32, 32, "--compress", compress, "--output", "d.h5")
        with h5py.File("d.h5", "r") as file:
            x = file["samples/x"]
            at = x.id.get_chunk_info(9).byte_offset + 20 if compress else x.id.get_offset() + 9 * 1024 + 20
        flip("d.h5", at)
        for ranks in runs.some((1, 2, 3) if compress else (3, 2, 1), 3):
            refused("sample 9", "data", "verify", "d.h5", ranks=ranks)
    made("synth", "--num-samples", 16, "--size", 32, 32, "--output", "d.h5")
    for name, ranks in (("samples/label", 2), ("samples/properties", 1)):
        with h5py.File("d.h5", "r") as file:
            at = file[name].id.get_offset() + 20
        flip("d.h5", at)
        refused(name, "data", "split", "d.h5", "--train", 0.7, "--output", "o.h5", ranks=ranks)
        flip("d.h5", at)
    made("data", "verify", "d.h5")
    with open("d.h5", "r+b") as file:
        file.truncate(os.path.getsize("d.h5") - 1)
    check("ends without checksums" in made("data", "info", "d.h5").err, "no warning of a cut file")
    check(run("data", "verify", "d.h5").status == 3, "a cut file is sound")
    with h5py.File("d.h5", "r+") as file:
        file["samples/x"][9] = file["samples/x"][9] ^ 1
    for ranks in (1, 2):
        done = run("data", "info", "d.h5", ranks=ranks)
        check(done.status == 3 and "sample 9 differs from its checksum" in done.err and "delete /index/crc32c" in done.err, done)
    with h5py.File("d.h5", "r+") as file:
        del file["index/crc32c"]
    made("data", "info", "d.h5")
    with h5py.File("h.h5", "w") as file:  # by another program
        file["samples/x"] = random.normal(0, 1, (12, 8, 8)).astype("f4")
        file.create_dataset("samples/label", data=numpy.arange(12, dtype="i4") % 4)
    check("without checksums" in made("data", "verify", "h.h5", ranks=2).out, "a file of another program")
    with h5py.File("g.h5", "w") as file:
        x = random.normal(0, 1, (50, 8, 8)).astype("f4")
        file.create_dataset("samples/x", data=x, chunks=(7, 8, 8), compression="gzip", shuffle=True)
    made("data", "verify", "g.h5")
    made("data", "export", "g.h5", "--output", "g.npy")
    check(numpy.array_equal(numpy.load("g.npy"), x), "chunks of several samples, shuffled")


def of_h5py():
    """What h5py makes of an array: read to the bit, or refused by name."""
    x = (random.random((20, 6, 5)) < 0.5).astype("u1")

    def kept(**how):
        with h5py.File("k.h5", "w") as file:
            file.create_dataset("samples/x", **how)

    for more in ({}, {"chunks": (7, 6, 5), "compression": "gzip"}):
        kept(data=x > 0, **more)
        made("data", "export", "k.h5", "--output", "k.npy")
        check(numpy.array_equal(numpy.load("k.npy"), x), f"Booleans, {more}")
    for kind in ("f2", ">f4"):
        for more in ({}, {"chunks": (5, 6, 5)}):
            kept(data=x.astype(kind), **more)
            refused("must hold uint8 or little-endian float32", "data", "info", "k.h5")
    kept(data=x, chunks=(5, 3, 5))
    refused("chunks are not whole samples in /samples/x; try: h5repack -f NONE -l CONTI", "data", "info", "k.h5")
    with h5py.File("k.h5", "w") as file:
        d = file.create_dataset("samples/x", x.shape, "u1", chunks=x.shape, compression="gzip")
        d.id.write_direct_chunk((0, 0, 0), x.tobytes(), filter_mask=1)
    refused("chunks skip its filters (filter mask) in /samples/x", "data", "info", "k.h5")
    with h5py.File("k.h5", "w") as file:
        file["samples/x"], file["y"] = x, numpy.arange(20) % 2
        file["samples/label"] = h5py.SoftLink("/y")
    refused("/samples/label is a soft link, which is not followed", "data", "info", "k.h5")
    refused("'k.npy' is no HDF5 file", "data", "info", "k.npy")
    refused("'k.h5' is HDF5, and .npy, PNG or TIFF is needed here; try: numpy.save", "data", "import", "k.h5")
    refused("'k.h5' is HDF5, and .npy", "data", "import", "k.npy", "--labels", "k.h5")
    with h5py.File("k.h5", "w") as file:  # a field of bits, as PyTables writes Booleans
        d = h5py.h5d.create(file.create_group("samples").id, b"x", h5py.h5t.STD_B8LE, h5py.h5s.create_simple(x.shape))
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, x, mtype=h5py.h5t.NATIVE_B8)
    made("data", "export", "k.h5", "--output", "k.npy")
    check(numpy.array_equal(numpy.load("k.npy"), x), "fields of bits")
    for name in ("p.h5", "p.csv", "p.safetensors"):
        with open(name, "w") as file:
            file.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    for words in (["data", "info", "p.h5"], ["reconstruct", "p.h5"], ["data", "import", "k.npy", "--table", "p.csv"], ["info", "p.safetensors"]):
        done = run(*words)
        check(done.status == 3 and "is a pointer of Git LFS, and not the file itself" in done.err, f"{words}: {done}")


arrays()
idx_files()
round_trips()
splits()
wrong()
tables()
spoiled_tables()
doubtful_cells()
named_pictures()
classes()
foreign()
learnable()
scales()
damage()
of_h5py()
finish("dataset_files")
