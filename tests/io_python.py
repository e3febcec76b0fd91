"""Files as others see them: h5py, NumPy, tifffile (and ParaView where it is) read what io_round wrote.
io_python.py MPIEXEC PROGRAM FOLDER; 77 (skipped) without h5py."""
import os
import shutil
import subprocess
import sys
from xml.etree import ElementTree

try:
    import h5py
    import numpy as np
except ImportError:
    print("no h5py or NumPy")
    sys.exit(77)

mpiexec, program, folder = sys.argv[1:4]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
z, y, x = np.ogrid[:7, :5, :6]
want = ((4 * z + y * y + 5 * x) % 3).astype("u1")


def write(name, ranks=2, what="write"):
    path = os.path.abspath(os.path.join(folder, name))
    subprocess.run([mpiexec, "-n", str(ranks), program, what, path], check=True)
    return path


def by_xdmf(path):
    """Points of the mesh, steps, and the values that the .xdmf leads to, as a reader of XDMF goes there."""
    grid = ElementTree.parse(path).find("Domain/Grid")
    item = grid.find("Attribute[@Name='phase']/DataItem")
    name, inside = item.text.strip().split(":")
    with h5py.File(os.path.join(os.path.dirname(path), name), "r") as file:
        values = file[inside][:]
    assert [int(n) for n in item.get("Dimensions").split()] == list(values.shape) and item.get("NumberType") == "UChar"
    origin, steps = ([float(x) for x in part.text.split()] for part in grid.findall("Geometry/DataItem"))
    assert not any(origin) and grid.find("Attribute").get("Center") == "Cell"
    mesh = grid.find("Topology")
    return mesh.get("TopologyType"), [int(n) for n in mesh.get("Dimensions").split()], steps, values


def text(value):
    return value.decode() if isinstance(value, bytes) else value


path = write("m.h5")
with h5py.File(path, "r") as f:
    d = f["microstructure/phase"]
    assert d.dtype == np.uint8 and (d[:] == want).all() and d.chunks is None
    assert d.attrs["axes"] == "z y x" and list(d.attrs["spacing"]) == [0.5, 0.25, 0.125] and d.attrs["unit"] == "um"
    assert list(d.attrs["labels"]) == [0, 128, 255] and list(d.attrs["phase_names"]) == ["void", "matrix", "fibre"]
    v = f["VTKHDF"]
    assert list(v.attrs["Version"]) == [1, 0] and v.attrs["Version"].dtype == np.int64
    assert v.attrs["Type"] == b"ImageData" and h5py.check_string_dtype(v.attrs.get_id("Type").dtype).length == 9
    assert list(v.attrs["WholeExtent"]) == [0, 5, 0, 4, 0, 6] and list(v.attrs["Spacing"]) == [0.125, 0.25, 0.5]
    assert list(v.attrs["Direction"]) == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert text(v["PointData"].attrs["Scalars"]) == "phase" and v["PointData/phase"] == d
    assert (f["convergence"][:] == [[1, .25, 2], [2, .5, 1]]).all()
    assert list(f["convergence"].attrs["columns"]) == ["evaluation", "seconds", "loss"]
    assert text(f["results"][()]) == '{"loss": 1.5}'
    a = f.attrs
    assert a["creator"].startswith("mesoforge ") and a["schema"] == "microstructure" and a["schema_version"] == 1
    assert a["seed"] == 3 and a["input_sha256"] == "0123" and a["command"] == "test" and a["options"] == "seed: 3\n"
    assert len(a["created"]) == 20 and a["created"].endswith("Z")
kind, points, steps, values = by_xdmf(path[:-3] + ".xdmf")
assert kind == "3DCoRectMesh" and points == [8, 6, 7] and steps == [0.5, 0.25, 0.125] and (values == want).all()

# An image: one plane, which VTKHDF has twice, as a layer between.
for name in ("flat.h5", "flat.vtkhdf"):
    flat = write(name, what="image")
    with h5py.File(flat, "r") as f:
        d, v = f["microstructure/phase"], f["VTKHDF"]
        assert d.shape == (5, 6) and (d[:] == want[0]).all() and d.attrs["axes"] == "y x"
        assert list(d.attrs["spacing"]) == [0.25, 0.125] and list(v.attrs["WholeExtent"]) == [0, 5, 0, 4, 0, 1]
        assert v["PointData/phase"].shape == (2, 5, 6) and (v["PointData/phase"][:] == want[0]).all()
        assert list(v.attrs["Spacing"])[:2] == [0.125, 0.25]
    kind, points, steps, values = by_xdmf(os.path.splitext(flat)[0] + ".xdmf")
    assert kind == "2DCoRectMesh" and points == [6, 7] and steps == [0.25, 0.125] and (values == want[0]).all()

npy = write("m.npy")
assert open(npy, "rb").read(8) == b"\x93NUMPY\x01\x00" and os.path.getsize(npy) == 128 + want.size
a = np.load(npy, allow_pickle=False)
assert a.dtype == np.uint8 and a.flags.c_contiguous and (a == want).all()
try:
    import tifffile

    assert (tifffile.imread(write("m.tif")) == want).all()
except ImportError:
    print("no tifffile")

script = """
import sys
from paraview.simple import *
from paraview import servermanager
readers = [("XDMFReader", dict(FileNames=["%(x)s"])), ("Xdmf3ReaderS", dict(FileName=["%(x)s"])),
           ("Xdmf3ReaderT", dict(FileName=["%(x)s"])), ("VTKHDFReader", dict(FileName="%(v)s"))]
for reader, where in readers:
    r = globals()[reader](**where)
    r.UpdatePipeline()
    o = servermanager.Fetch(r)
    if o.IsA("vtkCompositeDataSet"):
        walk = o.NewIterator()
        o = walk.GetCurrentDataObject()
    d = o.GetPointData() if reader == "VTKHDFReader" else o.GetCellData()
    v = d.GetArray("phase")
    want = %(want)s
    assert v.GetNumberOfTuples() == len(want), (reader, v.GetNumberOfTuples())
    assert all(v.GetValue(i) == want[i] for i in range(len(want))), reader
    b = o.GetBounds()
    n = 0 if reader == "VTKHDFReader" else 1
    for k, (size, step) in enumerate([(6, .125), (5, .25), (7, .5)]):
        assert abs(b[2 * k + 1] - b[2 * k] - (size - 1 + n) * step) < 1e-9, (reader, b)
print("paraview reads them")
"""
pvpython = shutil.which("pvpython")
if pvpython:
    body = script % {"x": path[:-3] + ".xdmf", "v": write("m.vtkhdf"), "want": want.ravel().tolist()}
    open(os.path.join(folder, "look.py"), "w").write(body)
    subprocess.run([pvpython, os.path.join(folder, "look.py")], check=True, timeout=40)
else:
    print("no pvpython: ParaView was not asked")
