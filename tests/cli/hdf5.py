"""h5py, for tests that look into HDF5 files; without it a test is skipped. And a foreign file that several tests write."""
import sys

try:
    import h5py
except ImportError:
    print("no h5py")
    sys.exit(77)
from samples import np


def dream3d_box(file, title, dims, spacing=(1, 1, 1)):
    """The group of an image geometry as DREAM.3D's file version 7 has it, without cells; @dims, @spacing: x y z."""
    file.attrs["FileVersion"] = b"7.0"
    box = file.create_group(f"DataContainers/{title}")
    geometry = box.create_group("_SIMPL_GEOMETRY")
    geometry.attrs["GeometryTypeName"] = b"ImageGeometry"
    geometry["DIMENSIONS"], geometry["ORIGIN"], geometry["SPACING"] = np.array(dims, "i8"), np.zeros(3, "f4"), np.array(spacing, "f4")
    return box
