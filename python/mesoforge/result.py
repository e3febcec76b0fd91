"""Results of calls."""

import ctypes
import json

import numpy as np

from .library import Array, byref, lib


def _copied(described):
    shape, kind = described.shape[: described.ndim], np.dtype(described.type.decode())
    values = (ctypes.c_char * (int(np.prod(shape)) * kind.itemsize)).from_address(described.data)
    return np.frombuffer(values, kind).reshape(shape).copy()


class Result:
    """What a call gives: `arrays` by name, their `axes`, and `figures`, which is what the program prints with --json.
    All are copies, so results can be pickled."""

    def __init__(self, handle):
        self.figures = json.loads(lib.mesoforge_result_json(handle))
        self.arrays = {}
        self.axes = {}
        self.slab = None
        described = Array()
        while lib.mesoforge_result_array(handle, len(self.arrays), byref(described)):
            name = described.name.decode()
            self.arrays[name] = _copied(described)
            if described.planes:
                self.slab = (described.first, described.planes)
            self.axes[name] = tuple(described.axes.decode().split())

    def __getitem__(self, name):
        return self.arrays[name]

    def __repr__(self):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"{type(self).__name__}({shapes})"


class Characterization(Result):
    """The descriptors of an image or a volume, by the names of the data sets in the program's file ("all/s2",
    docs/FILES.md)."""


class Structure(Result):
    """A structure with the statistics of another: `phase` [z][y][x] or [y][x] has the numbers of phases, `array` their
    labels. In a session with slabs=True they are planes of this rank, and `slab` has the number of the first one and
    that of all planes; else `slab` is None."""

    @property
    def phase(self):
        """The number of the phase of each voxel."""
        return self.arrays["phase"]

    @property
    def array(self):
        """The label of each voxel, as in the image."""
        return self.arrays["labels"][self.phase]
