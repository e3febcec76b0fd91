"""Results of calls."""

import ctypes
import json
import weakref

import numpy as np

from .library import Array, byref, lib


def _copied(described):
    shape = described.shape[: described.ndim]
    values = (ctypes.c_double * int(np.prod(shape))).from_address(described.data)
    return np.array(values).reshape(shape)


class Characterization:
    """The descriptors of an image or a volume.

    `arrays` has them as arrays, by the names of the data sets in the program's file ("all/s2", docs/FILES.md), and
    `axes` says what their axes are. `figures` is what the program prints with --json.
    """

    def __init__(self, handle):
        self._handle = handle
        self._finalizer = weakref.finalize(self, lib.mesoforge_result_free, handle)
        self._figures = None
        self.arrays = {}
        self.axes = {}
        described = Array()
        while lib.mesoforge_result_array(handle, len(self.arrays), byref(described)):
            name = described.name.decode()
            self.arrays[name] = _copied(described)
            self.axes[name] = tuple(described.axes.decode().split())

    @property
    def figures(self):
        """What the program prints with --json, as a dictionary."""
        if self._figures is None:
            self._figures = json.loads(lib.mesoforge_result_json(self._handle))
        return self._figures

    def __getitem__(self, name):
        return self.arrays[name]

    def __repr__(self):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"Characterization({shapes})"
