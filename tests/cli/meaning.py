"""What values mean: phases side by side, units, axes of one value, labels of grains, files of other programs. Each kind is
read right, or refused with the next step.

    meaning.py MESOFORGE MPIEXEC ...       exit status 77: NumPy or h5py is missing
"""
import json
import os
import struct
import sys
import tempfile

from hdf5 import h5py
from runs import LONG, check, finish, measure, refuses, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
IMAGE, VOLUME = blobs((16, 18), [0.5, 0.3, 0.2], 1), blobs((8, 9, 10), [0.6, 0.4], 2)


def same(name, want, *words, ranks=1):
    """@name is characterised as @want, an array of phases; returns its spacing and unit."""
    right = f"right{want.shape}.h5"
    if not os.path.exists(right):
        measure(PROGRAM, "characterize", save(".", "want.npy", want.astype("u1")), "--limit_to", 2, "--output", right)
    told = measure(PROGRAM, "characterize", name, "--limit_to", 2, "--output", "is.h5", *words, ranks=ranks, mpiexec=MPIEXEC)
    if not check(told, f"{name}: not read"):
        return None
    check(told["shape"] == list(want.shape), f"{name}: {told['shape']} for {want.shape}")
    with h5py.File(right) as a, h5py.File("is.h5") as b:
        for side in set(a) & {"all", "z", "y", "x"}:
            check(np.array_equal(a[side]["s2"], b[side]["s2"]), f"{name}: S2 of side {side}")
        return list(b.attrs["spacing"]), b.attrs["unit"]


def side_by_side():
    """One value per phase, along the first axis or the last: view, characterize and match read the same phases."""
    for k, (phase, n) in enumerate(((IMAGE, 3), (VOLUME, 2))):
        hot = np.stack([phase == p for p in range(n)], -1)
        ways = list(enumerate(((-1, "u1", 1), (0, "u1", 255), (0, "f4", 1), (-1, "i4", 1))))
        for j, (axis, kind, one) in ways if LONG else ways[k::3]:
            array = np.moveaxis(hot, -1, axis).astype(kind) * np.array(one, kind)
            name = save(".", "hot.npy", np.asarray(array, order="CF"[j % 2]))
            same(name, phase, ranks=1 + 2 * ((j + k) % 2))
            drawn = run(PROGRAM, "view", name, "--output", "hot.png")
            check(drawn.status == 0 and "[phase]" in drawn.err + drawn.out, f"view {array.shape}: {drawn.err}")
    with h5py.File("hot.h5", "w") as file:
        file["a"] = hot.astype("u1")
    same("hot.h5:a", VOLUME)
    save(".", "hot.npy", hot.astype("u1"))
    said = run(PROGRAM, "match", "hot.npy", "--limit_to", 2, "--max_iter", 2, "--no_polish", "--output", "like.npy")
    check(said.status == 0 and np.load("like.npy").shape == VOLUME.shape and "[z][y][x][phase]" in said.err, f"match: {said.err}")
    mask = np.zeros(VOLUME.shape, bool)
    mask[:, :4] = True
    save(".", "mask.npy", mask)
    save(".", "torn.npy", np.where(mask[..., None], np.nan, hot.astype("f8")))
    told = measure(PROGRAM, "characterize", "torn.npy", "--mask", "mask.npy", "--limit_to", 2, "--output", "m.h5", ranks=3, mpiexec=MPIEXEC)
    check(told and abs(told["phases"][1]["volume_fraction"] - VOLUME[~mask].mean()) < 1e-12, f"masked: {told}")
    save(".", "share.npy", np.stack([0.25 + 0.5 * (IMAGE == 1), 0.75 - 0.5 * (IMAGE == 1)], -1))
    layer = save(".", "layer.npy", blobs((16, 18, 4), [0.6, 0.4], 3))
    save(".", "thin.npy", np.stack([IMAGE == 1, IMAGE != 1]).astype("u1"))
    refuses(PROGRAM, [(3, ["characterize", "share.npy"], "numpy.argmax(a, axis=-1)"), (2, ["match", "thin.npy", "--labels", "0,1"], "leave --labels out"),
                      (2, ["characterize", "hot.npy", "--threshold", "otsu"], "leave --threshold out"),
                      (3, ["characterize", "want.npy", "--mask", "hot.npy"], "one value for each voxel")], "--limit_to", 2, ranks=(1,))
    same(layer, np.load(layer))  # a volume four voxels thick


def nrrd(name, a, *lines):
    head = ["NRRD0004", "type: uchar", f"dimension: {a.ndim}", "sizes: " + " ".join(map(str, a.shape[::-1])), "encoding: raw", *lines]
    with open(name, "wb") as file:
        file.write(("\n".join(head) + "\n\n").encode() + a.astype("u1").tobytes())
    return name


def units():
    a, cases = VOLUME, []
    save(".", "u.npy", (IMAGE > 0).astype("u1"))
    for lines, spacing, unit in ((('spacings: 0.25 0.5 1.5', 'units: "um" "um" "mm"'), [1500, 0.5, 0.25], "um"),
                                 (('units: "nm" "micron" "\u00b5m"', 'spacings: 250 0.5 1.5'), [1500, 500, 250], "nm"),
                                 (('spacings: 1 2 3', 'units: "px" "px" "px"'), [3, 2, 1], "px"),
                                 (('space directions: (3,0,0) (0,4,0) (0,0,5)', 'space units: "um" "um" "mm"'), [5000, 4, 3], "um"),
                                 (('spacings: nan nan nan', 'units: "um" "um" "um"'), [1, 1, 1], "")):
        got = same(nrrd("u.nrrd", a, *lines), a)
        check(got and np.allclose(got[0], spacing) and got[1] == unit, f"{lines}: {got}")
    for k, (lines, says) in enumerate(((('spacings: 1 2 3', 'units: "um" "px" "um"'), "'um' and 'px'"), (('spacings: 1 nan 3',), "not known"),
                                       (('spacings: 1 0 3',), "axis 1 is 0"), (('spacings: 1 2 -3',), "axis 2 is -3"))):
        cases.append((3, ["characterize", nrrd(f"u{k}.nrrd", a, *lines), "--limit_to", 2], says))
        got = same(f"u{k}.nrrd", a, "--spacing", 3, 2, 1, "--unit", "nm")
        check(got == ([3, 2, 1], "nm"), f"--spacing replaces {lines}: {got}")
        told = run(PROGRAM, "info", f"u{k}.nrrd", "--json")
        check(told.status == 0 and json.loads(told.out)["spacing"] is None and says in told.out, f"info {lines}: {told}")
    with open(nrrd("latin.nrrd", a, "spacings: 1 2 3", 'units: "?" "?" "?"'), "r+b") as file:
        text = file.read().replace(b'"?"', b'"\xb5m"')
        file.seek(0)
        file.write(text)
    check(same("latin.nrrd", a)[1] == "\u00b5m", "a unit in Latin-1")
    told = run(PROGRAM, "compare", nrrd("upper.nrrd", a, "spacings: .5 .5 .5", 'units: "UM" "UM" "UM"'), nrrd("nm.nrrd", a, "spacings: 500 500 500", 'units: "nm" "nm" "nm"')).err
    check("sizes of pixels cannot be compared: 0.5 UM" in told and "'UM' is no known unit" in told, f"an unknown unit: {told}")
    for k, (vectors, says) in enumerate((("(1,0,0) (0.3,1,0) (0,0,2)", "is sheared in space (axis 1 of its space directions); resample it to the axes\n"), ("(-1,0,0) (0,1,0) (0,0,2)", "or give the lengths as 'spacings'"),
                                         ("(1,1,0) (-1,1,0) (0,0,2)", "is rotated or mirrored"), ("(0,0,1) (0,1,0) (2,0,0)", "is rotated or mirrored in space (axis 1"))):
        cases.append((3, ["characterize", nrrd(f"d{k}.nrrd", a, f"space directions: {vectors}"), "--limit_to", 2], says))
    check(same(nrrd("plane.nrrd", IMAGE, "space directions: (2,0,0) (0,0,3)"), IMAGE)[0][-2:] == [3, 2], "a plane in space")
    check("1/unit of the spacing" in run(PROGRAM, "characterize", "u.npy", "--spacing", 0.25, "--limit_to", 2, "--output", "u.h5").out, "a spacing without a unit")
    grid = "".join(f"<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 10 0 9 0 8\" Spacing=\"{{}}\"><Piece Extent=\"0 10 0 9 0 8\"><CellData>"
                   f"<DataArray type=\"UInt8\" Name=\"p\" format=\"ascii\">{' '.join(map(str, a.ravel()))}</DataArray></CellData></Piece></ImageData></VTKFile>")
    for k, spacing in enumerate(("nan 1 1", "1 0 1", "1 1 -1", "1 1")):
        open(f"v{k}.vti", "w").write('<?xml version="1.0"?>\n' + grid.format(spacing))
        cases.append((3, ["characterize", f"v{k}.vti", "--limit_to", 2], "it must be above 0"))
    with h5py.File("sized.h5", "w") as file:
        for name, size in (("a", [3, 2, 1]), ("nan", [3, np.nan, 1]), ("two", [2, 1])):
            file[name] = a.astype("u1")[None, ..., None]
            file[name].attrs["element_size_um"] = np.array(size, float)
    check(same("sized.h5:a", a) == ([3, 2, 1], "um"), "element_size_um")
    cases += [(3, ["characterize", "sized.h5:nan", "--limit_to", 2], "it must be above 0"), (3, ["characterize", "sized.h5:two", "--limit_to", 2], "element_size_um")]
    refuses(PROGRAM, cases, ranks=(1,))
    refuses(PROGRAM, cases[:1], ranks=(3,), mpiexec=MPIEXEC)


def axes():
    """Axes of one value are left out, wherever they stand; MATLAB's order is said."""
    with h5py.File("axes.h5", "w") as file:
        for name, array, more in (("a", VOLUME[None, ..., None], {"chunks": (1, 3, 4, 5, 1), "compression": "gzip"}), ("b", IMAGE[..., None], {}),
                                  ("c", IMAGE[None], {"chunks": (1, 5, 5)}), ("d", VOLUME[:, None], {})):
            file.create_dataset(name, data=array.astype("u1"), **more)
        file.create_dataset("m", data=IMAGE.T.astype("u1")).attrs["MATLAB_class"] = np.bytes_("uint8")
    for k, (name, want) in enumerate((("a", VOLUME), ("b", IMAGE), ("c", IMAGE), ("d", VOLUME))):
        same(f"axes.h5:{name}", want, ranks=1 + 2 * (k == 0))
    same(save(".", "axes.npy", np.asfortranarray(VOLUME[None, ..., None].astype("i4"))), VOLUME)
    same(nrrd("axes.nrrd", IMAGE[None], "spacings: 1 2 nan"), IMAGE)
    check("A(i,j) is read as [j][i]" in run(PROGRAM, "characterize", "axes.h5:m", "--limit_to", 2, "--output", "m.h5").err, "MATLAB's axes")
    with h5py.File("group.dream3d", "w") as file:
        box = file.create_group("DataStructure/Group/Inner/Image")
        box.attrs["_DIMENSIONS"], box.attrs["_SPACING"] = np.array([10, 9, 8], "u8"), np.array([1, 2, 3], "f4")
        box.create_dataset("Cells/Phases", data=VOLUME[..., None].astype("i4"))
        file.create_dataset("DataStructure/Group/Other/Phases", data=VOLUME[..., None].astype("i4"))
    check(same("group.dream3d", VOLUME) == ([3, 2, 1], ""), "a geometry in groups")


def declared():
    """Values that a file declares to be no data are said where they occur, and nothing else is; bits mean what _Unsigned says."""
    grey = (np.arange(256).reshape(16, 16) * 7 % 200).astype("i2")
    holed = np.where(np.arange(16) < 4, 255, grey)
    with h5py.File("n.nc", "w") as file:
        for name, array, facts in (("fill", holed.astype("u1"), {"_FillValue": np.uint8(255)}), ("none", grey, {"_FillValue": np.int16(255), "valid_range": np.array([0, 199])}),
                                   ("range", holed, {"missing_value": np.array([-5, 255], "i2"), "valid_range": np.array([7, 300], "i2")}), ("least", holed * 1.0, {"valid_max": 200.0}),
                                   ("bits", (grey + 50).astype("u1").view("i1"), {"_Unsigned": "true", "_FillValue": np.int8(-7)}), ("white", grey.astype("u1"), {"IMAGE_WHITE_IS_ZERO": 1})):
            file.create_dataset(name, data=array, chunks=(4, 16) if name == "bits" else None).attrs.update(facts)
    below = (holed < 7).sum()
    np.save("mask.npy", (holed == 255).astype("u1"))
    for name, says in (("fill", "64 values of 255, no data by its _FillValue, count like others; try: --mask"), ("none", ""), ("range", "64 values of 255, no data by its missing_value"),
                       ("range", f"{below} values outside its valid_range"), ("least", "64 values outside its valid_max"), ("white", "its attribute IMAGE_WHITE_IS_ZERO"),
                       ("bits", f"{(grey == 199).sum()} value")):
        err = run(PROGRAM, "characterize", f"n.nc:{name}", "--threshold", 100, "--limit_to", 2, "--output", "n.h5").err
        check(says in err and ("warning" in err) == bool(says), f"{name}: {err}")
        if name == "bits":
            check(f"label 1 is phase 1, volume fraction {((grey + 50) > 100).mean():.6f}" in err, f"unsigned: {err}")
    err = run(PROGRAM, "characterize", "n.nc:fill", "--mask", "mask.npy", "--threshold", 100, "--limit_to", 2, "--output", "n.h5").err
    check("count like others" not in err, f"behind a mask: {err}")
    tags = [(256, 3, 1, 16), (257, 3, 1, 16), (258, 3, 1, 8), (262, 3, 1, 1), (273, 4, 1, 400), (277, 3, 1, 1), (278, 3, 1, 16), (279, 4, 1, 256), (42113, 2, 4, int.from_bytes(b"255\0", "little"))]
    head = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + b"\0" * 4
    open("n.tif", "wb").write(head.ljust(400, b"\0") + holed.astype("u1").tobytes())
    err = run(PROGRAM, "characterize", "n.tif", "--threshold", "otsu", "--limit_to", 2, "--output", "n.h5").err
    check("64 values of 255, no data by its GDAL_NODATA" in err, f"GDAL: {err}")


def sentences():
    """What is not read is refused with the next step."""
    nrrd("apart.nhdr", VOLUME, "data file: .//sub.raw")
    VOLUME.astype("u1").tofile("sub.raw")
    head, _, _ = open("apart.nhdr", "rb").read().partition(b"\n\n")
    open("apart.nhdr", "wb").write(head + b"\n")
    same("apart.nhdr", VOLUME)
    cases = []
    open("list.nhdr", "wb").write(head.replace(b".//sub.raw", b"slice%03d.raw 1 8 1") + b"\n")
    grains = np.arange(40 * 40).reshape(40, 40) // 40 + 1
    save(".", "grains.npy", grains.astype("i4"))
    save(".", "grey.npy", grains.astype("u2"))
    cases += [(3, ["characterize", "list.nhdr"], "several data files"), (3, ["characterize", "grains.npy"], "at most 32 phases are possible; give an array of phases"),
              (3, ["characterize", "grey.npy"], "at most 32 labels are possible")]
    save(".", "holes.npy", np.where(np.arange(16) < 4, np.nan, 0) * np.ones((16, 16)))
    save(".", "plain.npy", (np.arange(256).reshape(16, 16) % 3 > 0).astype("u1"))
    cases.append((3, ["characterize", "plain.npy", "--mask", "holes.npy"], "write 0 where voxels count and 1 where not"))
    xml = b"<OME><Pixels SizeZ='2' SizeY='16' SizeX='16'>" + b"".join(b"<TiffData FirstZ='%d' IFD='0'><UUID FileName='b%d.tif'/></TiffData>" % (z, z) for z in range(2)) + b"</Pixels></OME>\0"
    for name, light, text, says in (("ome", 1, xml, "lie in several files (OME)"), ("white", 0, b"none of it\0", "it is white-is-zero")):
        tags = [(256, 3, 1, 16), (257, 3, 1, 16), (258, 3, 1, 8), (262, 3, 1, light), (270, 2, len(text), 700), (273, 4, 1, 400), (277, 3, 1, 1), (278, 3, 1, 16), (279, 4, 1, 256)]
        head = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + b"\0" * 4
        open(f"{name}.tif", "wb").write(head.ljust(400, b"\0") + np.load("plain.npy").tobytes().ljust(300, b"\0") + text)
        cases.append((3, ["characterize", f"{name}.tif"], says))
    refuses(PROGRAM, cases, ranks=(1,))
    check("--threshold" not in run(PROGRAM, "characterize", "grains.npy").err, "grain ids are no grey values")
    phase = (IMAGE[:15, :15] > 0) * 1.0
    save(".", "s2.npy", np.fft.fftshift(np.fft.ifft2(abs(np.fft.fft2(phase)) ** 2).real) / phase.size)
    done = run(PROGRAM, "reconstruct", "s2.npy", "--size", 16, 16, "--max_iter", 2, "--no_polish", "--output", "lags.npy")
    check(done.status == 0 and "allow --limit_to 8" in done.err, f"lags: {done.err}")
    refuses(PROGRAM, [(2, ["reconstruct", "s2.npy", "--size", 16, 16, "--limit_to", 9, "--output", "lags.npy"], "1 to 8, not 9")], ranks=(1,))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    side_by_side()
    units()
    axes()
    declared()
    sentences()
    os.chdir("/")
finish("meaning")
