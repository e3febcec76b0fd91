"""Results of calls."""

from __future__ import annotations

import base64
import ctypes
import html
import json
import os
import tempfile

import numpy as np

from .errors import UsageError
from .library import Array, byref, c_void_p, lib


class _Owner:
    """A result of the library, which ends with it."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self, free=lib.mesoforge_result_free):
        free(self.handle)


def _view(described, owner):
    """The values where they stand; they keep the owner."""
    shape, kind = described.shape[: described.ndim], np.dtype(described.type.decode())
    values = (ctypes.c_char * (int(np.prod(shape)) * kind.itemsize)).from_address(described.data)
    values.owner = owner
    return np.frombuffer(values, kind).reshape(shape)


def _rows(value, name=""):
    """Scalars of what JSON has, with their names; long lists are left out."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _rows(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for k, one in enumerate(value if len(value) <= 4 else []):
            yield from _rows(one, f"{name}[{k}]")
    elif value is not None:
        yield name, f"{value:.6g}" if isinstance(value, float) else str(value)


def _drawn(draw):
    """The bytes of a picture that draw(path) writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.png")
        draw(path)
        with open(path, "rb") as file:
            return file.read()


class Result:
    """What a call gives: `figures` are what the program prints with --json, `arrays` have names, and `axes` are theirs.
    Arrays are memory of the library, without a copy. Results can be pickled; their arrays are copied then."""

    ROWS = 24  # of the table in a notebook

    def __init__(self, handle):
        self._owner = _Owner(handle)
        self.figures = json.loads(lib.mesoforge_result_json(handle))
        self.arrays = {}
        self.axes = {}
        self.slab = None
        self._png = None
        described = Array()
        while lib.mesoforge_result_array(handle, len(self.arrays), byref(described)):
            name = described.name.decode()
            self.arrays[name] = _view(described, self._owner)
            if described.planes:
                self.slab = (described.first, described.planes)
            self.axes[name] = tuple(described.axes.decode().split())

    def __getstate__(self):
        return {**self.__dict__, "_owner": None}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def __repr__(self):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"{type(self).__name__}({shapes or ', '.join(self.figures)})"

    def _repr_html_(self):
        rows = list(_rows(self.figures))[: self.ROWS]
        cells = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(value)}</td></tr>" for key, value in rows)
        return f"<table>{cells}</table>"

    def _handle(self):
        if self._owner is None:
            raise UsageError("a result that was pickled is arrays and figures alone", "the result itself")
        return self._owner.handle

    def save(self, path: str | os.PathLike, *, session=None) -> None:
        """Writes a file; its ending chooses the format. A structure becomes .h5, .vtkhdf, .npy, .tif or, of an image,
        .png. A target becomes an .h5 file of descriptors, or its picture, .png. Other results become .json."""
        path = os.fspath(path)
        if type(self) is Result:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.figures, file, indent=2)
            return
        session = session or _session()
        with session._call_of(None):
            session._ask(lib.mesoforge_result_save, self._handle(), path.encode())


class _Picture(Result):
    """A result with a picture, which notebooks show above the figures."""

    def _repr_png_(self) -> bytes:
        if self._png is None:
            self._png = _drawn(self._draw)
        return self._png

    def _repr_html_(self):
        picture = base64.b64encode(self._repr_png_()).decode()
        return f'<img src="data:image/png;base64,{picture}" style="width:100%;max-width:60em"/>{super()._repr_html_()}'


class Target(_Picture):
    """The descriptors of an image or a volume, by the names of the data sets in the program's file ("all/s2",
    docs/FILES.md). match() and reconstruct() make structures that have them."""

    def _draw(self, path):
        self.save(path)

    @staticmethod
    def measure(image, **options) -> Target:
        """characterize(), by another name."""
        from . import characterize

        return characterize(image, **options)

    @classmethod
    def load(cls, path: str | os.PathLike, *, session=None) -> Target:
        """Reads a file of descriptors. Its session trusts files: Session(trust_files=True)."""
        session, target = session or _session(), c_void_p()
        with session._call_of(None):
            session._ask(lib.mesoforge_target_load, os.fspath(path).encode(), byref(target))
        return cls(target)

    @classmethod
    def mean(cls, targets, weights=None, *, session=None) -> Target:
        """The mean of targets with the same labels, lags and directions; weights sum to 1."""
        session, mean, targets = session or _session(), c_void_p(), list(targets)
        for one in targets:
            if not isinstance(one, Target):
                raise UsageError(f"a mean is of targets, and {one!r} is none", "characterize(), or Target.load()")
        if weights is not None and len(weights) != len(targets):
            raise UsageError(f"there are {len(weights)} weights for {len(targets)} targets")
        handles = (c_void_p * len(targets))(*(one._handle() for one in targets))
        given = None if weights is None else (ctypes.c_double * len(targets))(*weights)
        with session._call_of(None):
            session._ask(lib.mesoforge_target_mean, handles, given, len(targets), byref(mean))
        return cls(mean)

    @classmethod
    def join(cls, z: Target, y: Target, x: Target) -> Target:
        """One target from three of images: slices normal to z look like the first, to y like the second, to x like the
        third. match(target=..) makes an anisotropic volume of it."""
        from .session import Session

        with tempfile.TemporaryDirectory() as folder, Session(threads=1, trust_files=True) as session:
            path = os.path.join(folder, "joined.h5")
            _session().run("merge", z, y, z_file=x, output=path)
            return cls.load(path, session=session)


Characterization = Target


class Structure(_Picture):
    """A structure: `phase` [z][y][x] or [y][x] has the numbers of phases, `array` their labels. In a session with
    slabs=True they are planes of this rank, and `slab` has the number of the first one and that of all planes; else
    `slab` is None."""

    @property
    def phase(self) -> np.ndarray:
        """The number of the phase of each voxel."""
        return self.arrays["phase"]

    @property
    def array(self) -> np.ndarray:
        """The label of each voxel, as in the image."""
        return self.arrays["labels"][self.phase]

    @property
    def spacing(self) -> tuple[float, ...]:
        """The edges of a voxel along the axes of `array`, in `unit`."""
        return tuple(self.figures["spacing"])

    @property
    def unit(self) -> str:
        """The unit of the spacing, as "um"; "": nobody has said it."""
        return self.figures["unit"]

    @property
    def seconds(self) -> float | None:
        """How long it took; None: nobody counted."""
        return self.figures.get("seconds")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)

    def _draw(self, path):
        _session().run("view", self, output=path)


def _session():
    from .session import default

    return default()
