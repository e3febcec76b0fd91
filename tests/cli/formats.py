"""Volumes of other programs: VTK's image data and rectilinear grids, NRRD, DREAM.3D. Files written here by hand are read
with the right order of axes and spacing; files that the program writes on several ranks are read here by hand.

    formats.py MESOFORGE MPIEXEC ...       exit status 77: NumPy or h5py is missing
"""
import base64
import glob
import gzip
import json
import os
import re
import struct
import sys
import tempfile
import zlib

from hdf5 import dream3d_box, h5py
from runs import check, finish, measure, refuses, run, some
from samples import blobs, np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
SPACING = (0.5, 0.25, 0.125)  # z y x
VOLUME = blobs((5, 6, 7), [0.5, 0.3, 0.2], 1)
IMAGE = blobs((9, 8), [0.6, 0.4], 2)


# -- VTK, as its documentation of the XML formats says --

VTK = {"uint8": "UInt8", "int8": "Int8", "uint16": "UInt16", "int32": "Int32", "int64": "Int64", "float32": "Float32", "float64": "Float64"}


def packed(data, coding, order, wide):
    """Bytes of one array as they stand in the file."""
    size = order + ("Q" if wide else "I")
    number = lambda *n: b"".join(struct.pack(size, k) for k in n)
    if coding == "zlib":
        block = 64
        blocks = [data[i:i + block] for i in range(0, len(data), block)]
        parts = [zlib.compress(b) for b in blocks]
        return number(len(blocks), block, len(blocks[-1]) % block, *map(len, parts)), b"".join(parts)
    return number(len(data)), data


def vtk(name, a, spacing=SPACING, kind="ImageData", where="CellData", how="appended", coding="none", order="<", wide=True,
        head="", names=("phase",), split=False):
    """@how: appended, base64 (appended), binary (inline), ascii."""
    a = a if a.ndim == 3 else a[None]
    n = np.array(a.shape[::-1]) - (where == "PointData")
    extent = " ".join(f"0 {k}" for k in n)
    arrays, tail = [], b""

    def array(values, title):
        nonlocal tail
        values = np.ascontiguousarray(values)
        tag = f'<DataArray type="{VTK[values.dtype.name]}" Name="{title}" NumberOfComponents="1" format='
        if how == "ascii":
            return tag + '"ascii">\n' + " ".join(map(str, values.ravel())) + "\n</DataArray>"
        first, rest = packed(values.astype(values.dtype.newbyteorder(order)).tobytes(), coding, order, wide)
        text = first + rest if how == "appended" else base64.b64encode(first) + base64.b64encode(rest) if coding == "zlib" or split else base64.b64encode(first + rest)
        if how == "binary":
            return tag + '"binary">\n  ' + text.decode() + "\n</DataArray>"
        at, tail = len(tail), tail + text
        return tag + f'"appended" offset="{at}"/>'

    body = f'<{where} Scalars="{names[0] if len(names) == 1 else ""}">' + "".join(array(a, title) for title in names) + f"</{where}>"
    if kind == "RectilinearGrid":
        body += "<Coordinates>" + "".join(array(np.arange(k + 1) * s + 3.0, "xyz"[i]) for i, (k, s) in enumerate(zip(n, spacing[::-1]))) + "</Coordinates>"
    space = f' Origin="1 2 3" Spacing="{spacing[2]} {spacing[1]} {spacing[0]}"' if kind == "ImageData" else ""
    text = (f'<?xml version="1.0"?>\n{head}<VTKFile type="{kind}" version="1.0" byte_order="{"Little" if order == "<" else "Big"}Endian"'
            f' header_type="UInt{64 if wide else 32}"' + (' compressor="vtkZLibDataCompressor"' if coding == "zlib" else "") + ">\n"
            f'<{kind} WholeExtent="{extent}"{space}>\n<!-- a > b --><Piece Extent="{extent}">{body}</Piece></{kind}>\n').encode()
    if tail:
        text += f'<AppendedData encoding="{"raw" if how == "appended" else "base64"}">\n  _'.encode() + tail + b"\n</AppendedData>"
    open(name, "wb").write(text + b"</VTKFile>\n")
    return name


def read_vtk(name):
    """A file of ours."""
    text = open(name, "rb").read()
    n = list(map(int, re.search(rb'WholeExtent="0 (\d+) 0 (\d+) 0 (\d+)"', text).groups()))
    start = text.index(b"_", text.index(b"<AppendedData")) + 1
    size, = struct.unpack("<Q", text[start:start + 8])
    check(size == n[0] * n[1] * n[2], f"{name}: {size} bytes for {n}")
    spacing = re.search(rb'Spacing="([^"]*)"', text)
    if spacing:
        spacing = tuple(map(float, spacing.group(1).split()))[::-1]
    else:
        axes = re.findall(rb'Name="([xyz])" format="ascii">([^<]*)<', text)
        at = {k: np.array(v.split(), float) for k, v in axes}
        check([len(at[k]) for k in (b"x", b"y", b"z")] == [k + 1 for k in n], f"{name}: coordinates")
        spacing = tuple(float(np.diff(at[k])[0]) for k in (b"z", b"y", b"x"))
    check(text.endswith(b"</AppendedData>\n</VTKFile>\n"), f"{name} has no end")
    return np.frombuffer(text, np.uint8, size, start + 8).reshape(n[::-1]), spacing


# -- NRRD --

UNIT = '"um"'

def nrrd(name, a, spacing=SPACING, type="uint8", encoding="raw", endian="little", data=None, more=""):
    values = a.astype(np.dtype(type).newbyteorder("<" if endian == "little" else ">")).tobytes()
    if encoding == "gzip":
        values = gzip.compress(values)
    if encoding == "ascii":
        values = "\n".join(map(str, a.ravel())).encode()
    text = (f"NRRD0005\n# by hand\ntype: {type}\ndimension: {a.ndim}\nsizes: {' '.join(map(str, a.shape[::-1]))}\n"
            f"spacings: {' '.join(str(s) for s in spacing[:-a.ndim - 1:-1])}\nunits: {' '.join([UNIT] * a.ndim)}\n"
            f"key:=value\nendian: {endian}\nencoding: {encoding}\n{more}")
    if data:
        open(data, "wb").write(values)
        open(name, "w").write(text + f"data file: {data}\n")
    else:
        open(name, "wb").write(text.encode() + b"\n" + values)
    return name


def read_nrrd(name):
    head, _, values = open(name, "rb").read().partition(b"\n\n")
    fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    if "data file" in fields:
        values = open(fields["data file"], "rb").read()
    check(fields["type"] == "uint8" and fields["encoding"] == "raw", f"{name}: {fields}")
    return np.frombuffer(values, np.uint8).reshape(list(map(int, fields["sizes"].split()))[::-1]), tuple(map(float, fields["spacings"].split()))[::-1]


# -- DREAM.3D --

def dream3d(name, a, version=7, spacing=SPACING, arrays=("Phases",), wrong=0):
    a = a if a.ndim == 3 else a[None]
    n = np.array(a.shape[::-1], np.uint64)
    n[0] += wrong
    with h5py.File(name, "w") as f:
        if version == 7:
            box = dream3d_box(f, "SyntheticVolume", n, spacing[::-1])
        else:
            f.attrs["FileVersion"] = f"{version}.0"
            box = f.create_group("DataStructure/Geometry")
            box.attrs["_DIMENSIONS"], box.attrs["_SPACING"] = n, np.array(spacing[::-1], "f4")
        cells = box.create_group("CellData" if version == 7 else "Cell Data")
        for k in arrays:
            cells.create_dataset(k, data=a[..., None].astype("i4"))
        cells.create_dataset("EulerAngles", data=np.zeros((*a.shape, 3), "f4"))
    return name


def read_dream3d(name):
    with h5py.File(name) as f:
        box = f["DataContainers/ImageDataContainer"]
        cells, geometry = box["CellData"], box["_SIMPL_GEOMETRY"]
        a = cells["Phases"]
        check(f.attrs["FileVersion"] == b"7.0" and "DataContainerBundles" in f, f"{name}: {dict(f.attrs)}")
        check(geometry.attrs["GeometryType"] == 0 and geometry.attrs["GeometryType"].dtype == "u4" and geometry.attrs["GeometryTypeName"] == b"ImageGeometry", f"{name}: geometry")
        check(cells.attrs["AttributeMatrixType"] == 3 and list(cells.attrs["TupleDimensions"]) == list(geometry["DIMENSIONS"]) == list(a.shape[2::-1]), f"{name}: extents")
        check(a.attrs["ObjectType"] == b"DataArray<int32_t>" and a.dtype == "<i4" and a.shape[3] == 1 and a.attrs["ComponentDimensions"] == 1, f"{name}: array")
        return a[..., 0].astype(np.uint8), tuple(float(s) for s in geometry["SPACING"][:][::-1])


# -- the tests --

def reads(name, a, spacing, *words):
    """What the program makes of a file: characterised as the same values in .npy, with the file's spacing."""
    told = run(PROGRAM, "info", name, "--json", *words)
    if not check(told.status == 0, f"info {name}: {told.err}"):
        return
    said = json.loads(told.out)
    if "datasets" not in said:
        check(said["shape"] == list(a.shape) and np.allclose(said["spacing"], spacing[-a.ndim:], rtol=1e-6), f"info {name}: {told.out}")
    same = f"same{abs(hash((a.tobytes(), spacing)))}.h5"
    if not os.path.exists(same):
        np.save("same.npy", a)
        measure(PROGRAM, "characterize", "same.npy", "--limit_to", 2, "--output", same, "--spacing", *spacing[-a.ndim:])
    measure(PROGRAM, "characterize", name, "--limit_to", 2, "--output", "a.h5", *words)
    with h5py.File("a.h5") as one, h5py.File(same) as other:
        check(np.allclose(one.attrs["spacing"], other.attrs["spacing"], rtol=1e-6), f"{name}: spacing {one.attrs['spacing']}")
        for side in set(other) - {"results", "convergence"}:
            check(np.array_equal(one[side]["s2"], other[side]["s2"]), f"{name}: S2 of side {side}")


def read_all():
    a = VOLUME
    reads(vtk("raw.vti", a), a, SPACING)
    reads(vtk("big.vti", a.astype("int32"), order=">", wide=False, coding="zlib", how="base64"), a, SPACING)
    reads(vtk("text.vti", a.astype("float64"), how="ascii", where="PointData"), a, SPACING)
    reads(vtk("zlib.vti", a.astype("uint16"), coding="zlib"), a, SPACING)
    reads(vtk("inline.vti", a.astype("int64"), how="binary", split=True, wide=False), a, SPACING)
    reads(vtk("two.vti", a, names=("grain", "phase")), a, SPACING, "--dataset", "phase")
    reads(vtk("flat.vti", IMAGE), IMAGE, SPACING)
    text = open("text.vti").read()  # VTK's writer names a compressor, and does not compress text
    open("named.vti", "w", encoding="utf-8").write("\ufeff" + text.replace(' header_type=', ' compressor="vtkLZ4DataCompressor" header_type=', 1))
    reads("named.vti", a, SPACING)
    reads(vtk("grid.vtr", a, kind="RectilinearGrid"), a, SPACING)
    reads(vtk("coded.vtr", a.astype("float32"), kind="RectilinearGrid", how="binary", coding="zlib"), a, SPACING)
    reads(nrrd("a.nrrd", a), a, SPACING)
    reads(nrrd("big.nrrd", a, type="int16", endian="big", encoding="gzip"), a, SPACING)
    reads(nrrd("text.nrrd", a, encoding="ascii"), a, SPACING)
    reads(nrrd("apart.nhdr", a, type="double", data="apart.raw", more="byte skip: -1\n"), a, SPACING)
    reads(nrrd("image.nrrd", IMAGE, type="uint16"), IMAGE, SPACING)
    upright = np.ascontiguousarray(IMAGE[:, None, :])
    reads(vtk("upright.vti", upright, (0.5, 0, 0.125)), IMAGE, (1, 0.5, 0.125))
    one = open(nrrd("one.nrrd", IMAGE[..., None], (0.5, 0.25, 9)), "rb").read()
    open("one.nrrd", "wb").write(one.replace(b"key:=", b"kinds: scalar space domain\nkey:="))
    reads("one.nrrd", IMAGE, (1, 0.5, 0.25))
    whole = open(nrrd("members.nrrd", a, encoding="gzip"), "rb").read().partition(b"\n\n")[0]
    open("members.nrrd", "wb").write(whole + b"\n\n" + gzip.compress(a.tobytes()[:77]) + gzip.compress(b"") + gzip.compress(a.tobytes()[77:]))
    reads("members.nrrd", a, SPACING)
    reads(dream3d("six.dream3d", a), a, SPACING)
    reads(dream3d("nx.dream3d", a, 8, arrays=("grain",)), a, SPACING)
    reads(dream3d("flat.dream3d", IMAGE), IMAGE, SPACING, "--dataset", "Phases")


READERS = {".vti": read_vtk, ".vtr": read_vtk, ".nrrd": read_nrrd, ".nhdr": read_nrrd, ".dream3d": read_dream3d}


def write_all():
    """The same bytes of values on any number of ranks, and back again."""
    np.save("in.npy", blobs((16, 16), [0.6, 0.4], 3))
    words = ["smooth", "deep.npy", "--strength", 1]
    np.save("deep.npy", blobs((7, 6, 8), [0.5, 0.3, 0.2], 4))
    for shape, source in (((7, 6, 8), "deep.npy"), ((16, 16), "in.npy")):
        words = ["smooth", source, "--strength", 1]
        measure(PROGRAM, *words, "--output", "want.npy")
        want = np.load("want.npy")
        for ending, read in READERS.items():
            for ranks in some((3, 1) if len(shape) == 3 else (1, 3)):
                name = f"out{ending}"
                measure(PROGRAM, *words, "--output", name, ranks=ranks, mpiexec=MPIEXEC)
                got, spacing = read(name)
                check(np.array_equal(got.reshape(want.shape), want) and np.allclose(spacing, 1), f"{name} of {shape} on {ranks} ranks")
            reads(name, want, (1, 1, 1), *(("--dataset", "Phases") if ending == ".dream3d" else ()))
            for left in glob.glob("out.*"):
                os.remove(left)
    for ending, read in READERS.items():
        name = f"spaced{ending}"
        measure(PROGRAM, "match", "in.npy", "--limit_to", 3, "--max_iter", 4, "--no_polish", "--spacing", 0.5, 0.25, "--unit", "um", "--output", name)
        check(np.allclose(read(name)[1][-2:], (0.5, 0.25)), f"{name}: {read(name)[1]}")


def refuse_all():
    """Cut off, hostile, or not understood: one sentence, and 3."""
    cases = []

    def refused(name, says):
        cases.append((3, ["characterize", name, "--limit_to", 2], says))

    def changed(name, source, old, new):
        text = open(source, "rb").read()
        check(old in text, f"{source} has no {old}")
        open(name, "wb").write(text.replace(old, new, 1))
        return name

    for source in ("raw.vti", "zlib.vti", "big.vti", "text.vti", "inline.vti", "grid.vtr", "a.nrrd", "big.nrrd", "text.nrrd", "six.dream3d"):
        whole = open(source, "rb").read()
        for part in (0.3, 0.8):
            open(f"{part}{source}", "wb").write(whole[:int(part * len(whole))])
            refused(f"{part}{source}", "")
    wide = b'WholeExtent="0 7 0 6 0 5"'
    refused(changed("long.vti", "raw.vti", wide + b' Origin="1 2 3"', wide.replace(b"5", b"500000000") + b' Origin="1 2 3"'), "several pieces")
    text = open("raw.vti", "rb").read().replace(b"0 7 0 6 0 5", b"0 7 0 6 0 50000000")
    open("huge.vti", "wb").write(text)
    refused("huge.vti", "its header says")
    open("bomb.vti", "wb").write(open("zlib.vti", "rb").read().replace(b"0 7 0 6 0 5", b"0 7 0 6 0 50000000"))
    refused("bomb.vti", "damaged")
    refused(changed("lz4.vti", "zlib.vti", b"vtkZLibData", b"vtkLZ4Data"), "vtkLZ4DataCompressor")
    refused(changed("poly.vti", "raw.vti", b'type="ImageData"', b'type="PolyData"'), "PolyData")
    refused(changed("vector.vti", "raw.vti", b'Components="1"', b'Components="3"'), "3 components")
    refused(vtk("many.vti", VOLUME, names=("grain", "orientation")), "grain, orientation")
    open("not.vti", "w").write('<?xml version="1.0"?><svg/>')
    refused("not.vti", "no VTK file")
    open("a.xdmf", "w").write('<?xml version="1.0"?><Xdmf/>')
    refused("a.xdmf", "is XDMF, which describes values in another file")
    grid = vtk("uneven.vtr", VOLUME.astype("float64"), kind="RectilinearGrid", how="ascii")
    refused(changed("uneven2.vtr", grid, b"3.125", b"3.15"), "equal distances")
    refused(changed("type.nrrd", "a.nrrd", b"type: uint8", b"type: block"), "'block'")
    refused(changed("coding.nrrd", "a.nrrd", b"encoding: raw", b"encoding: bzip2"), "'bzip2'")
    refused(changed("sizes.nrrd", "a.nrrd", b"sizes: 7 6 5", b"sizes: 7 6 5000000000"), "its header says")
    refused(changed("negative.nrrd", "a.nrrd", b"sizes: 7 6 5", b"sizes: 7 -6 5"), "an extent is 0, too large or no number")
    refused(changed("bomb.nrrd", "big.nrrd", b"sizes: 7 6 5", b"sizes: 700 600 500"), "damaged")
    big = open("big.nrrd", "rb").read()
    for name, content in (("sum", big[:-8] + bytes([big[-8] ^ 1]) + big[-7:]), ("checksum", big[:-5])):
        open(f"{name}.nrrd", "wb").write(content)
        refused(f"{name}.nrrd", "damaged")
    for source in ("big.nrrd", "text.nrrd"):
        refused(changed(f"more{source}", source, b"sizes: 7 6 5", b"sizes: 7 6 4"), "more values than its extents")
    for name, line in (("vector", "kinds: vector domain domain"), ("none", "space directions: none (1,0) (0,1)")):
        refused(changed(f"{name}.nrrd", "a.nrrd", b"key:=", line.encode() + b"\nkey:="), "not spatial")
    for type, value in (("uint8", "300"), ("uint8", "-1"), ("int8", "128"), ("uint64", "18446744073709551616"), ("int64", "-9223372036854775809"), ("int16", "1" * 70), ("float", "0." + "1" * 70)):
        text = nrrd("values.nrrd", VOLUME, encoding="ascii", type="uint8")
        refused(changed(f"{type}{value[:3]}.nrrd", changed("typed.nrrd", text, b"type: uint8", f"type: {type}".encode()), b"\n\n0\n" if open(text, "rb").read().count(b"\n\n0\n") else b"\n\n1\n", f"\n\n{value}\n".encode()), "damaged")
    open("away.nhdr", "w").write(open("apart.nhdr").read().replace("data file: apart.raw", "data file: ../apart.raw"))
    refused("away.nhdr", "not one file of its folder")
    open("gone.nhdr", "w").write(open("apart.nhdr").read().replace("apart.raw", "gone.raw"))
    refused("gone.nhdr", "gone.raw")
    refused(dream3d("wrong.dream3d", VOLUME, wrong=1), "does not have the extents of its geometry")
    refused(dream3d("several.dream3d", VOLUME, arrays=("A", "B")), "CellData/A")
    refuses(PROGRAM, cases, ranks=(1,))
    refuses(PROGRAM, cases[::9], ranks=(3,), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(2, ["smooth", "deep.npy", "--output", "x.vtu"], ".vti"), (7, ["smooth", "deep.npy", "--output", "no/x.nhdr"], "no/x")], ranks=(1,))


def stack_of_pages(order, large, pages=3, n=8, light=1):
    """A TIFF of so many pages of n x n bytes, its headers behind all pixels, and where the last of each page's header ends."""
    entry, offset = ("HHQQ", "Q") if large else ("HHII", "I")
    head, entries = (16 if large else 8), [(256, 4, 1, n), (257, 4, 1, n), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, light), (277, 3, 1, 1), (278, 4, 1, n), (279, 4, 1, n * n)]
    whole, ends = b"".join(bytes([k % 2] * n * n) for k in range(pages)), []
    at = head + len(whole)
    whole = struct.pack(f"{order}2sHHHQ" if large else f"{order}2sHI", b"II" if order == "<" else b"MM", *([43, 8, 0] if large else [42]), at) + whole
    for k in range(pages):
        tags = sorted([*entries, (273, 4, 1, head + k * n * n)])
        end = at + struct.calcsize("<" + ("Q" if large else "H")) + len(tags) * struct.calcsize("<" + entry)
        whole += struct.pack(order + ("Q" if large else "H"), len(tags))
        for tag, kind, count, value in tags:  # a short value lies at the left of its place
            place = struct.pack(order + ("H" if kind == 3 else "I"), value).ljust(struct.calcsize(offset), b"\0")
            whole += struct.pack(order + entry[:-1], tag, kind, count) + place
        at = end + struct.calcsize(offset)
        whole += struct.pack(order + offset, at if k + 1 < pages else 0)
        ends.append(end)
    return whole, ends


def cut_stacks():
    """A stack of pages is whole or damaged, also where it is cut in the bytes that say that no page follows."""
    measure(PROGRAM, "synth", "--size", 8, 8, 8, "--correlation-length", 2, "--output", "stack.tif")
    own, ends = open("stack.tif", "rb").read(), []
    check(own[:4] == b"II*\0", "a classic TIFF")
    at = struct.unpack("<I", own[4:8])[0]
    while at:
        ends.append(at + 2 + 12 * struct.unpack("<H", own[at:at + 2])[0])
        at = struct.unpack("<I", own[ends[-1]:ends[-1] + 4])[0]
    check(len(ends) == 8, f"pages: {len(ends)}")
    for kind, (whole, ends) in {"own": (own, ends), **{f"{order}{large}": stack_of_pages(order, large) for order in "<>" for large in (0, 1)}}.items():
        open("whole.tif", "wb").write(whole)
        done = run(PROGRAM, "info", "whole.tif")
        check(done.status == 0 and f"{len(ends)} x 8 x 8" in done.out, f"{kind}: {done}")
        cases = [n for end in ends for n in range(end - 1, end + (8 if kind[-1] == "1" else 4))]
        for n in cases:
            open(f"cut{n}.tif", "wb").write(whole[:n])
        refuses(PROGRAM, [(3, ["info", f"cut{n}.tif"], "damaged") for n in some(cases, 4)], ranks=(1,))


def coloured():
    """An array that may be an image of colours is said to be a volume."""
    np.save("colours.npy", np.random.default_rng(1).integers(0, 2, (16, 16, 3)).astype(np.uint8))
    np.save("thin.npy", np.random.default_rng(1).integers(0, 2, (16, 16, 2)).astype(np.uint8))
    for name, says in (("colours.npy", True), ("thin.npy", False)):
        done = run(PROGRAM, "characterize", name, "--limit_to", 1, "--output", "c.h5")
        check(done.status == 0 and ("is read as a volume of 16 x 16 x" in done.err) == says, f"{name}: {done}")
    for pages in (1, 2, 5):
        open("few.tif", "wb").write(stack_of_pages("<", 0, pages=pages)[0])
        done = run(PROGRAM, "info", "few.tif")
        check(done.status == 0 and ("its pages are so few that they may be channels" in done.err) == (pages == 2), f"{pages} pages: {done}")


def turned_over():
    """One line says that white-is-zero was turned over, of the file that is measured and of one that is only looked at."""
    open("white.tif", "wb").write(stack_of_pages("<", 0, pages=2, light=0)[0])
    for words in (["info", "white.tif", "--json"], ["characterize", "white.tif", "--limit_to", 1, "--threshold", 254, "--output", "c.h5"]):
        done = run(PROGRAM, *words)
        check(done.status == 0 and done.err.count("is white-is-zero, so its values were inverted") == 1, f"{words}: {done}")
        if words[-1] == "--json":
            check(json.loads(done.out)["minimum"] == 254 and json.loads(done.out)["mean"] == 254.5, f"white: {done.out}")


def turned_png():
    """The note of a camera in a PNG (EXIF) that it lies on its side is said."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    for turn in (1, 6):
        exif = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, turn, 0, 0)
        open("turned.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)) + chunk(b"eXIf", exif)
                                       + chunk(b"IDAT", zlib.compress(b"\0\0\1\0\1" * 4)) + chunk(b"IEND", b""))
        done = run(PROGRAM, "info", "turned.png")
        check(done.status == 0 and ("its orientation tag asks" in done.err) == (turn == 6), f"turned by {turn}: {done}")


def of_many_files():
    """Every verb that reads tells what its reader changed, of many files once for each kind."""
    says = "it is white-is-zero, so its values were inverted"
    os.mkdir("pictures")
    for name in "abc":
        open(f"pictures/{name}.tif", "wb").write(stack_of_pages("<", 0, pages=1, light=name == "b")[0])
    open("pictures.csv", "w").write("file,label\na.tif,0\nb.tif,1\nc.tif,1\n")
    files = [f"pictures/{name}.tif" for name in "abc"]
    runs = [["data", "import", "pictures", "--table", "pictures.csv", "--train", 1, "--validation", 0, "--output", "set.h5"],
            ["train", "classify", "--data", "set.h5", "--arch", "mlp", "--epochs", 1, "--no-plots", "--results-dir", "model"],
            ["infer", "classify", "model/model.safetensors", *files], ["info", *files], ["view", *files, "--output", "sheet.png"],
            ["characterize", *files, "--labels", "0,255", "--limit_to", 1, "--data_folder", "."]]
    for words in runs:
        for ranks in (1, 2) if words[0] == "infer" else (1,):
            done = run(PROGRAM, *words, ranks=ranks, mpiexec=MPIEXEC)
            lines = [line for line in done.err.splitlines() if says in line]
            check(done.status == 0 and (words[0] == "train" or lines == [f"warning: 'pictures/a.tif' and 1 more file: {says}: white is now the largest value"]), f"{words}: {done}")
    check("'pictures/a.tif' and 2 more files: label 0 is phase 0" in done.err, f"labels of three files: {done.err}")
    check(says in run(PROGRAM, "data", "import", files[0], "--output", "one.h5").err, "one picture")


def spare_values():
    """Values beside a header are replaced together with it, and never alone."""
    nrrd("header.nhdr", IMAGE, data="scan.raw")
    open("other.raw", "wb").write(b"mine")
    open("other.nhdr", "w").write(open("header.nhdr").read())
    os.mkdir("own.raw")
    words = ["smooth", "header.nhdr", "--strength", 1, "--output"]
    cases = [(2, [*words, "scan.nhdr"], "is the input"), (7, [*words, "other.nhdr"], "other.raw"), (7, [*words, "own.nhdr"], "own.raw")]
    refuses(PROGRAM, cases + [(7, ["synth", "--size", 32, 32, "--output", "scan.nhdr"], "scan.raw")], ranks=(1,))
    refuses(PROGRAM, cases[:2], ranks=(3,), mpiexec=MPIEXEC)
    check(open("scan.raw", "rb").read() == IMAGE.tobytes() and open("other.raw", "rb").read() == b"mine", "values were overwritten")
    for _ in range(2):
        measure(PROGRAM, *words, "pair.nhdr")
    measure(PROGRAM, "match", "in.npy", "--limit_to", 3, "--max_iter", 2, "--no_polish", "--unit", 'u"\nsizes: 1 1', "--output", "unit.nrrd")
    check(read_nrrd("unit.nrrd")[0].shape == (16, 16), "a unit forges a line")
    refuses(PROGRAM, [(2, [*words, "a\nsizes: 1 1.nhdr"], "cannot name")], ranks=(1,))
    refuses(PROGRAM, [(2, ["smooth", "pair.nhdr", "--strength", 1, "--output", "pair.nhdr"], "is the input")], ranks=(1,))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    read_all()
    write_all()
    refuse_all()
    cut_stacks()
    coloured()
    turned_over()
    turned_png()
    of_many_files()
    spare_values()
    os.chdir("/")
finish("formats")
