"""Results of calls."""

from __future__ import annotations

import base64
import ctypes
import html
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence, Union

import numpy as np

from .errors import UsageError
from .library import Array, byref, c_void_p, encoded, lib

if TYPE_CHECKING:
    from .session import Session

Path = Union[str, "os.PathLike[str]"]
_AXES = "zyx"


class _Owner:
    """A result of the library, which ends with it."""

    def __init__(self, handle: c_void_p) -> None:
        self.handle = handle

    def __del__(self, free: Any = lib.mesoforge_result_free) -> None:
        free(self.handle)


def _view(described: Array, owner: _Owner) -> np.ndarray[Any, Any]:
    """The values where they stand; they keep the owner."""
    shape, kind = described.shape[: described.ndim], np.dtype(described.type.decode())
    values: Any = (ctypes.c_char * (int(np.prod(shape)) * kind.itemsize)).from_address(described.data)
    values.owner = owner
    array = np.frombuffer(values, kind).reshape(shape)
    array.flags.writeable = False  # files and pictures of a result have what it was made with
    return array


def _rows(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Scalars of what JSON has, with their names; long lists are left out."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _rows(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for k, one in enumerate(value if len(value) <= 4 else []):
            yield from _rows(one, f"{name}[{k}]")
    elif value is not None:
        yield name, f"{value:.6g}" if isinstance(value, float) else str(value)


def _session() -> Session:
    from .session import default

    return default()


class Result:
    """What a call gives.

    Attributes
    ----------
    figures : dict
        What the program prints with `--json`.
    arrays : dict of str to ndarray
        Arrays by their names; `result["name"]` is one of them. They are memory of the library, without a copy.
    axes : dict of str to tuple of str
        The names of the axes of each array.

    Results can be pickled; their arrays are copied then.
    """

    ROWS = 24  # of the table in a notebook or terminal

    def __init__(self, handle: c_void_p) -> None:
        self._owner: _Owner | None = _Owner(handle)
        self.figures: dict[str, Any] = json.loads(lib.mesoforge_result_json(handle))
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.axes: dict[str, tuple[str, ...]] = {}
        self.slab: tuple[int, int] | None = None
        self._png: bytes | None = None
        described = Array()
        while lib.mesoforge_result_array(handle, len(self.arrays), byref(described)):
            name = described.name.decode()
            self.arrays[name] = _view(described, self._owner)
            if described.planes:
                self.slab = (described.first, described.planes)
            self.axes[name] = tuple(described.axes.decode().split())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_owner": None}

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        try:
            return self.arrays[name]
        except (KeyError, TypeError):
            raise KeyError(f"no array {name!r}; there are: {', '.join(self.arrays)}") from None

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.arrays)

    def __repr__(self) -> str:
        rows = self._first_rows()
        if rows and not self.arrays:
            width = max(len(key) for key, _ in rows)
            return "\n".join(f"{key.ljust(width)}  {value}" for key, value in rows)
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"{type(self).__name__}({shapes})"

    def _first_rows(self) -> list[tuple[str, str]]:
        return list(_rows({name: value for name, value in self.figures.items() if name != "plan"}))[: self.ROWS]

    def _repr_html_(self) -> str:
        rows = self._first_rows()
        cells = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(value)}</td></tr>" for key, value in rows)
        return f"<table>{cells}</table>"

    def _handle(self) -> c_void_p:
        if self._owner is None:
            raise UsageError("a result that was pickled is arrays and figures alone", "the result itself")
        return self._owner.handle

    def save(self, path: Path, *, session: Session | None = None) -> None:
        """Writes a file of the figures, as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.figures, file, indent=2)


class _Saved(Result):
    """A result that the library writes, and draws: notebooks show its picture above the figures."""

    def save(self, path: Path, *, session: Session | None = None) -> None:
        """Writes a file; its ending chooses the format.

        Parameters
        ----------
        path
            Of a structure .h5, .vtkhdf, .npy, .tif or, of an image, .png. Of a target .h5, or .png for its picture.
        """
        session = session or _session()
        with session._call_of(None):
            session._ask(lib.mesoforge_result_save, self._handle(), encoded(path, "the path"))

    def _draw(self, path: str) -> None:
        raise NotImplementedError

    def _repr_png_(self) -> bytes:
        if self._png is None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "picture.png")
                self._draw(path)
                with open(path, "rb") as file:
                    self._png = file.read()
        return self._png

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self._repr_png_()).decode()
        return f'<img src="data:image/png;base64,{picture}" style="width:100%;max-width:60em"/>{super()._repr_html_()}'


class Target(_Saved):
    """The descriptors of an image or a volume. match() and reconstruct() make structures that have them.

    `arrays` has them by the names of the data sets in the program's file (docs/FILES.md): "all/s2" is S2 with the axes
    phase, level, du, dv. Lags are in voxels. In a notebook a target shows its pictures.

    Examples
    --------
    >>> import mesoforge, numpy
    >>> target = mesoforge.characterize(numpy.eye(32, dtype="u1"), limit_to=4)
    >>> s2 = target["all/s2"][1, 0]           # of phase 1, at full resolution
    >>> s2.shape, float(s2[3, 3])             # lag 0 is in the middle
    ((7, 7), 0.03125)
    """

    def _draw(self, path: str) -> None:
        self.save(path)

    @staticmethod
    def measure(image: Any, **options: Any) -> Target:
        """characterize(), by another name."""
        from .verbs import characterize

        return characterize(image, **options)

    @classmethod
    def load(cls, path: Path, *, session: Session | None = None) -> Target:
        """Reads a file of descriptors. Its session trusts files: Session(trust_files=True)."""
        session, target = session or _session(), c_void_p()
        with session._call_of(None):
            session._ask(lib.mesoforge_target_load, encoded(path, "the path"), byref(target))
        return cls(target)

    @classmethod
    def mean(
        cls, targets: Iterable[Target], weights: Sequence[float] | None = None, *, session: Session | None = None
    ) -> Target:
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


class Structure(_Saved):
    """A structure of phases, with the size of its voxels. Calls take it as an image, and know its labels and spacing.

    In a session with slabs=True it has the planes of this rank, and `slab` has the number of the first one and that of
    all planes; else `slab` is None.

    Examples
    --------
    >>> import mesoforge
    >>> made = mesoforge.synth(kind="spheres", size=[16, 24, 24], radius=4, seed=1, spacing=0.5, unit="um")
    >>> made.shape, made.spacing, made.unit, made.labels
    ((16, 24, 24), (0.5, 0.5, 0.5), 'um', (0, 1))
    >>> made.slice("z", 8).shape
    (24, 24)
    >>> round(sum(made.fractions.values()), 12)
    1.0
    """

    @property
    def phase(self) -> np.ndarray[Any, Any]:
        """The number of the phase of each voxel, u1 [z][y][x] or [y][x]. It is not copied."""
        return self.arrays["phase"]

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The label of each voxel, as in the image; a new array."""
        labels: np.ndarray[Any, Any] = self.arrays["labels"][self.phase]
        return labels

    @property
    def labels(self) -> tuple[int, ...]:
        """The label of each phase."""
        return tuple(map(int, self.arrays["labels"]))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents [voxels]."""
        return tuple(map(int, self.phase.shape))

    @property
    def spacing(self) -> tuple[float, ...]:
        """The edges of a voxel along the axes of `array`, in `unit`."""
        return tuple(self.figures["spacing"])

    @property
    def unit(self) -> str:
        """The unit of the spacing, as "um"; "": nobody has said it."""
        return str(self.figures["unit"])

    @property
    def fractions(self) -> dict[int, float]:
        """The volume fraction of each label, of the planes that are here."""
        counts = np.bincount(self.phase.ravel(), minlength=len(self.labels))
        return {label: int(n) / max(1, self.phase.size) for label, n in zip(self.labels, counts)}

    @property
    def seconds(self) -> float | None:
        """How long it took; None: nobody counted."""
        return self.figures.get("seconds")

    def slice(self, axis: str = "z", index: int | None = None) -> np.ndarray[Any, Any]:
        """The labels of one plane of a volume.

        Parameters
        ----------
        axis
            The normal of the plane: "z", "y" or "x".
        index
            Its number; the middle one if left out.
        """
        axes = _AXES[-self.phase.ndim :]
        if len(axes) < 3 or axis not in axes:
            raise UsageError(f"there are no slices along {axis!r} of a structure with the axes {' '.join(axes)}")
        at = axes.index(axis)
        plane = self.phase.take(self.shape[at] // 2 if index is None else index, at)
        labels: np.ndarray[Any, Any] = self.arrays["labels"][plane]
        return labels

    @classmethod
    def load(cls, path: Path, *, session: Session | None = None, **options: Any) -> Structure:
        """read(), by another name: a file of save(), or of another program. All but .npy needs a session that trusts
        files: Session(trust_files=True)."""
        from .verbs import read

        return read(path, session=session, **options)

    def __repr__(self) -> str:
        edges = " x ".join(f"{edge:.6g}" for edge in dict.fromkeys(self.spacing))
        size = f" of {edges} {self.unit}".rstrip() if self.unit or set(self.spacing) != {1} else ""
        shares = ", ".join(f"{label}: {share:.4f}" for label, share in self.fractions.items())
        return f"Structure({' x '.join(map(str, self.shape))} voxels{size}, fractions {shares})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.array, dtype)

    def _draw(self, path: str) -> None:
        _session().run("view", self, output=path)


def numbers(value: Mapping[str, Any], keys: Iterable[str] = _AXES) -> dict[str, float]:
    """The numbers by axes."""
    return {key: value[key] for key in keys if value.get(key) is not None}
