"""Results of `properties` and `compare`: figures with names, and tables."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from .errors import UsageError
from .result import Result, numbers
from .table import Table

_MODULI = ("young", "poisson", "shear", "bulk")


def _named(file: str) -> str:
    """The name of an input: that of an array is its place among them, @image, @image2, .."""
    return file.lstrip("@")


class _Tabled(Result):
    """A result that shows its table."""

    def table(self) -> Table:
        raise NotImplementedError

    def _short(self) -> Table:
        return self.table()

    def __repr__(self) -> str:
        return repr(self._short())

    def _repr_html_(self) -> str:
        return self._short()._repr_html_()


class Properties(_Tabled):
    """What properties() finds. Of several structures each number is the mean, and `table()` has its interval.

    Numbers by axis are dictionaries: `conductivity["z"]`. A structure without a way through conducts 0, and has no
    tortuosity factor along that axis. `figures` has all that the program says.
    """

    @property
    def files(self) -> list[dict[str, Any]]:
        """The figures of each structure."""
        return self.figures["files"] if "files" in self.figures else [self.figures]

    def _by_axis(self, name: str) -> dict[str, float]:
        if name not in self.files[0]:
            raise UsageError(f"the result has no {name}", "conductivity=[..] of properties()")
        each = [numbers(one[name]) for one in self.files]
        shared = [axis for axis in each[0] if all(axis in one for one in each)]
        return {axis: float(np.mean([one[axis] for one in each])) for axis in shared}

    @property
    def conductivity(self) -> dict[str, float]:
        """The effective conductivity by axis, in the unit of the conductivities that were given."""
        return self._by_axis("conductivity")

    @property
    def tortuosity_factor(self) -> dict[str, float]:
        """Mean conductivity of the voxels over the effective one, by axis."""
        return self._by_axis("tortuosity_factor")

    @property
    def formation_factor(self) -> dict[str, float]:
        """Largest conductivity over the effective one, by axis."""
        return self._by_axis("formation_factor")

    @property
    def tensor(self) -> np.ndarray[Any, Any] | None:
        """The conductivity as a matrix, rows and columns z y x; None: the boundary is not periodic."""
        found = [one["conductivity"].get("tensor") for one in self.files if "conductivity" in one]
        return np.mean(np.array(found, float), axis=0) if found and found[0] else None

    @property
    def stiffness(self) -> np.ndarray[Any, Any]:
        """The stiffness, [6][6] in Voigt's order: xx yy zz yz xz xy."""
        if "stiffness" not in self.files[0]:
            raise UsageError("the result has no stiffness", "young=[..], poisson=[..] of properties()")
        mean: np.ndarray[Any, Any] = np.mean([one["stiffness"]["matrix"] for one in self.files], axis=0)
        return mean

    @property
    def moduli(self) -> dict[str, float]:
        """The nearest isotropic moduli: young, poisson, shear, bulk."""
        if "stiffness" not in self.files[0]:
            raise UsageError("the result has no moduli", "young=[..], poisson=[..] of properties()")
        each = [one["stiffness"]["isotropic"] for one in self.files]
        return {name: float(np.mean([one[name] for one in each])) for name in _MODULI}

    @property
    def bounds(self) -> dict[str, Any]:
        """Bounds of the first structure: "wiener" and "hashin_shtrikman"; of a stiffness also "reuss", "voigt"."""
        one = self.files[0]
        found: dict[str, Any] = one["stiffness"]["bounds"] if "stiffness" in one else one.get("bounds", {})
        return found

    def table(self) -> Table:
        """A row for each axis or modulus. Of several structures a row for each, then mean, deviation and interval."""
        if "mean" in self.figures:
            return Table(self._of_several())
        one = self.files[0]
        if "stiffness" in one:
            return Table(self._of_moduli())
        if "edge" in one:
            return Table({"axis": axis, "edge": edge} for axis, edge in numbers(one["edge"]).items())
        return Table(self._of_axes()) if "conductivity" in one else Table([])

    def _of_axes(self) -> Iterator[dict[str, Any]]:
        one = self.files[0]
        errors = [name for name in ("solver", "grid", "sample") if name in one["conductivity"]["error"]]
        factors = ("tortuosity_factor", "formation_factor", "carrying_fraction")
        for axis, k in self.conductivity.items():
            row = {f"+- {name}": one["conductivity"]["error"][name].get(axis) for name in errors}
            yield {"axis": axis, "conductivity": k, **row, **{name: one[name][axis] for name in factors}}

    def _of_moduli(self) -> Iterator[dict[str, Any]]:
        bounds = self.bounds
        none: dict[str, float] = {}
        lower, upper = bounds.get("hashin_shtrikman") or (none, none)
        for name, value in self.moduli.items():
            least = {"reuss": bounds["reuss"][name], "hashin_shtrikman -": lower.get(name)}
            most = {"hashin_shtrikman +": upper.get(name), "voigt": bounds["voigt"][name]}
            bounded = name != "poisson"  # whose values there are of the bounds of the others, and bound nothing
            yield {"modulus": name, "value": value, **(least if bounded else {}), **(most if bounded else {})}

    def _of_several(self) -> Iterator[dict[str, Any]]:
        for one in self.files:
            found = one["stiffness"]["isotropic"] if "stiffness" in one else one["conductivity"]
            yield {"of": _named(one["file"]), **{name: found[name] for name in self.figures["mean"]}}
        for name in ("mean", "deviation", "interval"):
            yield {"of": "95 % interval +-" if name == "interval" else name, **self.figures[name]}


def _errors(found: Any, **where: Any) -> Iterator[dict[str, Any]]:
    """All errors of what `compare` prints, with where they are."""
    for name, one in found.items():
        if name == "directions":
            for axis, inner in one.items():
                yield from _errors(inner, **where, slices=axis)
        elif name in ("phases", "field"):
            for inner in one:
                at = {"phase" if "phase" in inner else "label": inner.get("label", inner.get("phase"))}
                yield from _errors(inner, **where, **at)
        elif name in ("descriptors", "measures"):
            yield from _errors(one, **where)
        elif name == "conductivity":
            yield from _errors({f"{name}_{axis}": inner for axis, inner in one.items()}, **where)
        elif name == "s2_rms":
            yield {**where, "measure": name, "rms": one}
        elif isinstance(one, dict) and ("error" in one or "difference" in one):
            yield {**where, "measure": name, **{key: value for key, value in one.items() if key != "by_chance"}}


class Comparison(_Tabled):
    """What compare() finds: how far structures are from their target. It shows its errors by measure and descriptor."""

    @property
    def results(self) -> list[dict[str, Any]]:
        """The figures of each structure; none of two datasets."""
        return list(self.figures.get("results", []))

    @property
    def scores(self) -> list[float | None]:
        """The score of each structure: 0 is alike, 0.5 is plainly different. None: it is too small for one."""
        return [one["score"] for one in self.results]

    @property
    def score(self) -> float | None:
        """The score of the first one."""
        if not self.results:
            raise UsageError("two datasets have no score", "table(), which has their differences")
        return self.scores[0]

    def _who(self, one: dict[str, Any]) -> dict[str, Any]:
        return {"of": _named(one["result"])} if len(self.results) > 1 else {}

    def errors(self) -> Table:
        """The relative error of each measure and descriptor. A volume has a column for slices normal to each axis."""
        made = []
        for one in self.results:
            found = one["directions"]
            who = self._who(one)
            for name in ("score", "copied"):
                made.append({**who, "measure": name, **{axis: inner[name] for axis, inner in found.items()}})
            for key in ("errors", "descriptors"):
                for name in next(iter(found.values())).get(key, {}):
                    each = {axis: inner[key].get(name) for axis, inner in found.items()}
                    row = {axis: value["error"] if isinstance(value, dict) else value for axis, value in each.items()}
                    made.append({**who, "measure": name, **row})
        return Table(made)

    def table(self) -> Table:
        """All values, a row for each measure of each phase: target, result, and error."""
        made: list[dict[str, Any]] = []
        for one in self.results:
            made += _errors(one, **self._who(one))
        return Table(made or _errors(self.figures))

    def _short(self) -> Table:
        return self.errors() if self.results else self.table()
