"""The program's verbs as functions. Keyword arguments are the options of the verb, and session= says where it runs."""

from __future__ import annotations

import contextlib
import csv
import os
import tempfile
from typing import Any, Mapping, Sequence, Union, overload

from .errors import DeviceError, InputError, UsageError
from .measured import Comparison, Properties
from .result import Path, Result, Structure, Target
from .session import Progress, Session, default

Numbers = Union[float, Sequence[float], None]
Words = Union[str, Sequence[str], None]


def run(verb: str, *inputs: Any, session: Session | None = None, progress: Progress = None, **options: Any) -> Any:
    """Runs any verb that prints an object with `--json`, as "smooth" or "train regress".

    Parameters
    ----------
    verb
        `options()` lists them.
    *inputs
        Arrays, targets and structures, or paths of files.
    session
        Where it runs; the thread's own session if left out.
    progress
        As of match().
    **options
        Those of the verb: `options(verb)` has a line for each.

    Returns
    -------
    Result
        `figures` is the object.

    Examples
    --------
    >>> import numpy
    >>> run("info", numpy.eye(8, dtype="u1")).figures["shape"]
    [8, 8]
    """
    return (session or default()).run(verb, *inputs, progress=progress, **options)


def read(
    image: Any,
    *,
    threshold: float | str | None = None,
    labels: Sequence[int] | None = None,
    spacing: Numbers = None,
    unit: str | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Structure:
    """Makes a structure of an image or a volume: phases, their labels, and the size of a voxel.

    Parameters
    ----------
    image
        As of characterize(), or the path of a file.
    threshold
        Makes phases of grey values: "otsu", or phase 1 is above this value.
    labels
        The labels that are phases 0, 1, ...
    spacing, unit
        The edge of a voxel [unit]: one number, or one for each axis. Later calls then know it.
    **options
        `options("read")` lists them.

    Examples
    --------
    >>> import numpy
    >>> scan = read(numpy.linspace(0, 1, 1024).reshape(32, 32), threshold=0.25, spacing=0.5, unit="um")
    >>> scan.shape, scan.spacing, scan.unit, scan.fractions
    ((32, 32), (0.5, 0.5), 'um', {0: 0.25, 1: 0.75})
    """
    own = {"threshold": threshold, "labels": labels, "spacing": spacing, "unit": unit}
    made: Structure = run("read", image, session=session, progress=progress, **own, **options)
    return made


def smooth(
    image: Any,
    *,
    strength: float | None = None,
    keep_fractions: bool | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Structure:
    """Smooths a structure: every voxel gets the phase that is most frequent around it.

    Parameters
    ----------
    image
        As of characterize().
    strength
        The standard deviation of the Gaussian that weighs the surroundings [voxels]; 1 if left out.
    keep_fractions
        Every phase keeps its number of voxels.
    session, progress
        As of run() and match().
    **options
        `options("smooth")` lists them.

    Examples
    --------
    >>> import numpy
    >>> speck = numpy.zeros((16, 16), int)
    >>> speck[:, 8:] = 1
    >>> speck[4, 4] = 1
    >>> int(smooth(speck).array[4, 4])
    0
    """
    made: Structure = run(
        "smooth", image, session=session, progress=progress, strength=strength, keep_fractions=keep_fractions, **options
    )
    return made


def characterize(
    image: Any,
    *,
    limit_to: int | None = None,
    descriptor_types: Words = None,
    measures: Words = None,
    threshold: float | str | None = None,
    labels: Sequence[int] | None = None,
    mask: Any = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Target:
    """Measures the descriptors of an image or a volume.

    Parameters
    ----------
    image
        An array [y][x] or [z][y][x] of labels, grey values or phases side by side. It is read where it stands. Or a
        structure, a picture of PIL, or the path of an .npy file. A masked array leaves out what it masks.
    limit_to
        Correlations have lags below this [voxels].
    descriptor_types
        Further descriptors, as ["FFTCorrelations", "LinealPath"].
    measures
        Further numbers, as ["surface", "euler"].
    threshold
        Makes phases of grey values: "otsu", or phase 1 is above this value.
    labels
        The labels that are phases 0, 1, ...
    mask
        An array like the image; voxels where it is above 0 do not count.
    session, progress
        As of run() and match().
    **options
        `options("characterize")` lists them.

    Returns
    -------
    Target
        Arrays by name, as "all/s2", and their axes.

    Examples
    --------
    >>> import numpy
    >>> grey = numpy.linspace(0, 1, 1024).reshape(32, 32)
    >>> target = characterize(grey, threshold=0.25, limit_to=8)
    >>> target.figures["phases"][1]["volume_fraction"]
    0.75
    >>> target["all/s2"].shape, target.axes["all/s2"]
    ((2, 2, 15, 15), ('phase', 'level', 'du', 'dv'))
    """
    own = {"limit_to": limit_to, "descriptor_types": descriptor_types, "measures": measures, "threshold": threshold}
    session = session or default()
    return session.characterize(image, progress=progress, labels=labels, mask=mask, **own, **options)


@overload
def match(
    *images: Any,
    target: Any = None,
    size: Sequence[int] | None = None,
    limit_to: int | None = None,
    seed: int | None = None,
    max_iter: int | None = None,
    descriptor_types: Words = None,
    property: dict[str, float] | None = None,
    conductivity: Sequence[float] | None = None,
    realisations: int,
    output: Any = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> list[Structure]: ...


@overload
def match(
    *images: Any,
    target: Any = None,
    size: Sequence[int] | None = None,
    limit_to: int | None = None,
    seed: int | None = None,
    max_iter: int | None = None,
    descriptor_types: Words = None,
    property: dict[str, float] | None = None,
    conductivity: Sequence[float] | None = None,
    realisations: None = None,
    output: Any = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Structure: ...


def match(
    *images: Any,
    target: Any = None,
    size: Sequence[int] | None = None,
    limit_to: int | None = None,
    seed: int | None = None,
    max_iter: int | None = None,
    descriptor_types: Words = None,
    property: dict[str, float] | None = None,
    conductivity: Sequence[float] | None = None,
    realisations: int | None = None,
    output: Any = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Structure | list[Structure]:
    """Makes a structure with the statistics of an image or a volume.

    Parameters
    ----------
    *images
        One as of characterize(), or three for the normals z, y and x.
    target
        Instead of images, as of reconstruct(). S2 and the density of interfaces are matched, or what
        characterize(image, descriptor_types="auto") has chosen.
    size
        Extents of the result [voxels]: [ny, nx], or [nz, ny, nx]. Those of the input if left out.
    limit_to
        Correlations are matched at lags below this [voxels].
    seed
        Of all random numbers; 0 if left out.
    max_iter
        Most evaluations of the loss.
    descriptor_types
        What is matched, as ["FFTCorrelations", "Variation"]. Chosen from the image if left out.
    property, conductivity
        Conductivities that the result shall have, as {"conductivity_z": 3.0}, and those of labels 0, 1, ...
    realisations
        Makes a list of so many structures, with the seeds seed, seed + 1, ...
    output
        A file that the structure is written to as well. With restart="auto" a stopped run goes on from its checkpoint.
    session
        Where it runs; the thread's own session if left out.
    progress
        True: a bar in the terminal or notebook. Or a function of what is done and its share, 0 to 1 or None. Where it
        returns False, Stopped is raised.
    **options
        `options("match")` lists them.

    Returns
    -------
    Structure
        `array` has labels, `phase` the numbers of phases. A list of them with realisations.

    Raises
    ------
    Stopped
        `result` is the best so far. Ctrl-C ends the call before the next evaluation, and so does any exception that a
        handler of a signal raises: that exception has the `result`, too.

    Examples
    --------
    >>> import numpy
    >>> image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2 * 255
    >>> made = match(image, labels=[0, 255], size=[24, 24], limit_to=8, max_iter=10)
    >>> made.array.shape, made.labels
    ((24, 24), (0, 255))
    >>> members = match(image // 255, size=[16, 16], limit_to=4, max_iter=5, realisations=3, seed=7)
    >>> [one.figures["seed"] for one in members]
    [7, 8, 9]
    """
    own = {"size": size, "limit_to": limit_to, "seed": seed, "max_iter": max_iter, "descriptor_types": descriptor_types}
    more = {"property": property, "conductivity": conductivity, "realisations": realisations, "output": output}
    session = session or default()
    made: Structure | list[Structure] = session.match(
        *images, target=target, progress=progress, **own, **more, **options
    )
    return made


def reconstruct(
    target: Any,
    *,
    size: Sequence[int] | None = None,
    seed: int | None = None,
    max_iter: int | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Structure:
    """Makes a structure with the statistics of a target.

    Parameters
    ----------
    target
        What characterize() gives, the path of a file of descriptors, or arrays by the names of descriptors.
    size, seed, max_iter, session, progress
        As of match().
    **options
        `options("reconstruct")` lists them.

    Examples
    --------
    >>> import numpy
    >>> target = characterize(numpy.indices((32, 32)).sum(axis=0) // 4 % 2, limit_to=8)
    >>> reconstruct(target, size=[24, 24], max_iter=10).array.shape
    (24, 24)
    """
    session = session or default()
    made: Structure = session.reconstruct(target, progress=progress, size=size, seed=seed, max_iter=max_iter, **options)
    return made


def properties(
    *structures: Any,
    conductivity: Sequence[float] | None = None,
    conducting: int | Sequence[int] | None = None,
    boundary: str | None = None,
    axes: Words = None,
    young: Numbers = None,
    poisson: Numbers = None,
    stiffness: Sequence[float] | None = None,
    fields: Any = None,
    error_bars: bool = False,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Properties:
    """Computes the effective conductivity or the stiffness of structures, as docs/PROPERTIES.md explains.

    Diffusion is conduction, too: conductivity=[0, 1] lets phase 1 carry, and the result has its tortuosity factor.

    Parameters
    ----------
    *structures
        Images or volumes as of characterize(). Of several there is a mean with its 95 % interval.
    conductivity
        Of labels 0, 1, ...; 0: an insulator. The result has the same unit.
    conducting
        Or the labels with conductivity 1; the others are insulators.
    boundary
        "plates" (the default), "periodic" or "centres" (PoreSpy's).
    axes
        Along which axes, as "x"; along all if left out.
    young, poisson
        Computes the stiffness instead: Young's moduli of labels 0, 1, ..., and their Poisson ratios.
    stiffness
        The same of cubic phases: C11, C12, C44 of each label.
    fields
        True: the result has the arrays "potential_x" [z][y][x], 0 to 1 and NaN in insulators, and "flux_x" [z][y][x][3]
        along x, y and z, and so for the other axes. A path FILE.vtkhdf: they are written there.
    error_bars
        The errors of the grid and of the sample as well; takes about three times as long.
    session, progress
        As of run() and match().
    **options
        `options("properties")` lists them.

    Returns
    -------
    Properties
        `conductivity`, `tortuosity_factor`, `stiffness`, `moduli`, `bounds`, `table()`.

    Examples
    --------
    >>> import numpy
    >>> layers = numpy.arange(16)[:, None, None] // 4 % 2 + numpy.zeros((16, 16, 16), int)
    >>> found = properties(layers, conductivity=[1, 10])
    >>> round(found.conductivity["x"], 3), round(found.conductivity["z"], 3)
    (5.5, 1.818)
    >>> [round(bound, 3) for bound in found.bounds["wiener"]]
    [1.818, 5.5]
    >>> flow = properties(layers, conductivity=[1, 10], axes="x", fields=True)
    >>> flow["potential_x"].shape, flow["flux_x"].shape, round(float(flow["flux_x"][..., 0].mean()), 3)
    ((16, 16, 16), (16, 16, 16, 3), 5.5)
    >>> cell = properties(layers, young=[1, 10], poisson=0.3)
    >>> cell.stiffness.shape, cell.moduli["young"] < 5.5
    ((6, 6), True)
    """
    conduction = {"conductivity": conductivity, "conducting": conducting, "boundary": boundary, "axes": axes}
    elastic = {"young": young, "poisson": poisson, "stiffness": stiffness}
    more = {"fields": "@" if fields is True else fields or None, "error_bars": error_bars or None}
    made: Properties = run(
        "properties", *structures, session=session, progress=progress, **conduction, **elastic, **more, **options
    )
    return made


def compare(
    target: Any, *results: Any, session: Session | None = None, progress: Progress = None, **options: Any
) -> Comparison:
    """Compares structures with one that they should look like, by descriptors and measures.

    Parameters
    ----------
    target
        An image, a volume or a target, as of characterize(); or the path of a dataset.
    *results
        What is compared with it.
    session, progress
        As of run() and match().
    **options
        `options("compare")` lists them; limit_to=8 takes lags below 8.

    Returns
    -------
    Comparison
        `score` is 0 where both are alike, and 0.5 where they plainly differ. `errors()` and `table()` have the rest.

    Examples
    --------
    >>> import numpy
    >>> image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2
    >>> found = compare(image, image, limit_to=8)
    >>> found.score
    0.0
    >>> found.errors()[2]
    {'measure': 'chords', 'z': 0.0}
    """
    made: Comparison = run("compare", target, *results, session=session, progress=progress, **options)
    return made


def synth(
    *,
    kind: str | None = None,
    size: Sequence[int] | None = None,
    volume_fraction: Numbers = None,
    seed: int | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Any:
    """Makes a structure with known statistics.

    Parameters
    ----------
    kind
        "gaussian" (the default), "spheres", "hard-spheres", "fibres", "voronoi", "lamellae", "checkerboard", "cracks".
    size
        Extents [voxels]: [ny, nx], or [nz, ny, nx].
    volume_fraction
        Of phases 1, 2, ..., or of all.
    seed
        Of all random numbers; 0 if left out.
    session, progress
        As of run() and match().
    **options
        `options("synth")` lists them, as radius=4, spacing=0.5, unit="um".

    Returns
    -------
    Structure
        With num_samples= and output="FILE.h5" a Result: a dataset for train().

    Examples
    --------
    >>> synth(kind="spheres", size=[24, 32], radius=4, seed=1).array.shape
    (24, 32)
    """
    own = {"kind": kind, "size": size, "volume_fraction": volume_fraction, "seed": seed}
    return run("synth", session=session, progress=progress, **own, **options)


_KINDS = {"classify": "classes", "regress": "columns", "answer": "questions"}


def _kind_of(model: str, session: Session | None) -> str:
    said = run("info", model, session=session).figures.get("model", {})
    kinds = [kind for kind, key in _KINDS.items() if key in said]
    if not kinds:
        raise UsageError(f"the model of {model!r:.80} has no classes, columns or questions")
    return kinds[0]


def infer(
    model: str,
    *images: Any,
    kind: str | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """What a trained model says of images.

    Parameters
    ----------
    model
        The path of a model file.
    *images
        Arrays or structures of the extents that the model was trained on.
    kind
        "classify", "regress" or "answer"; if left out, the file says it.
    session, progress
        As of run() and match().
    **options
        A model for questions wants question="..", or several of them. `options("infer regress")` lists the others.

    Returns
    -------
    list of dict
        One for each image, or for each answer.
    """
    kind = kind or _kind_of(model, session)
    said = run("infer " + kind, model, *images, session=session, progress=progress, **options).figures
    found: list[dict[str, Any]] = said.get("predictions", said.get("answers"))
    return found


predict = infer


def train(
    kind: str, data: str, *, session: Session | None = None, progress: Progress = None, **options: Any
) -> Result:
    """Trains a network.

    Parameters
    ----------
    kind
        "classify", "regress", "vqa", "unet" or "moe".
    data
        The path of a dataset, as of dataset() or synth(num_samples=..). The session trusts files:
        Session(trust_files=True).
    session, progress
        As of run() and match().
    **options
        results_dir="FOLDER" gets model.safetensors. `options("train regress")` lists the others.

    Returns
    -------
    Result
        The scores of the training.
    """
    made: Result = run("train " + kind, data=data, session=session, progress=progress, **options)
    return made


def dataset(
    images: Any,
    *,
    output: Path,
    labels: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[float]] | None = None,
    phases: int | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> Result:
    """Makes a dataset for train() of arrays.

    Parameters
    ----------
    images
        An array [sample][y][x] or [sample][z][y][x].
    output
        The file, .h5.
    labels
        The class of each sample, a number or a name, for train("classify", ..).
    columns
        Properties of each sample by their names, for train("regress", ..).
    phases
        The values are so many phases; grey values if left out.
    session, progress
        As of run() and match().
    **options
        `options("data import")` lists them.

    Examples
    --------
    >>> import os, tempfile, numpy
    >>> images = numpy.random.default_rng(1).integers(0, 2, (40, 16, 16))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = dataset(images, output=os.path.join(folder, "set.h5"), phases=2,
    ...                    columns={"fraction": images.mean(axis=(1, 2))})
    >>> made.figures["samples"], made.figures["properties"]
    (40, ['fraction'])
    """
    if columns is not None and not isinstance(columns, Mapping):
        raise UsageError("columns have names", 'columns={"modulus": values}')
    table = dict(columns or {}) if labels is None else {**(columns or {}), "label": labels}
    for name, values in table.items():
        if len(values) != len(images):
            raise InputError(f"there are {len(images)} images, but {len(values)} values of {name!r}")
    own = None if session else Session(trust_files=True)  # it reads the file that it has written
    with own or contextlib.nullcontext(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values()))
        more = {"phases": phases, "table": path if table else None, "output": output}
        made: Result = run("data import", images, session=session or own, progress=progress, **more, **options)
    return made


def generate(model: str, *, session: Session | None = None, progress: Progress = None, **options: Any) -> Result:
    """Makes a dataset of new samples by a model of train("unet", ..): output="FILE.h5", num_samples=1000."""
    made: Result = run("generate", model=model, session=session, progress=progress, **options)
    return made


def probe(*, session: Session | None = None, **options: Any) -> dict[str, Any]:
    """The hardware of this machine, as `mesoforge probe` prints it.

    Examples
    --------
    >>> probe()["nodes"][0]["cores"] >= 1
    True
    """
    found: dict[str, Any] = run("probe", session=session, **options).figures
    return found


def plan(verb: str, *inputs: Any, session: Session | None = None, **options: Any) -> dict[str, Any]:
    """What a run of a verb would need, before it runs; hardware="FILE.json" plans for another machine.

    Examples
    --------
    >>> import numpy
    >>> plan("match", numpy.eye(64, dtype="u1"), size=[64, 64, 64])["bytes"]["total"] > 64**3
    True
    """
    found: dict[str, Any] = run("plan " + verb, *inputs, session=session, **options).figures
    return found


def estimate(model: str, *, session: Session | None = None, **options: Any) -> dict[str, Any]:
    """The exact bytes of every part of a model, and a device for each, as `mesoforge map` tells them. A model that is
    not here is guessed by its name.

    Examples
    --------
    >>> estimate("facebook/opt-1.3b")["kind"]
    'guess by name'
    """
    inputs = (model,) if os.path.exists(model) else ()
    guess: dict[str, Any] = {} if inputs else {"estimate": model}
    found: dict[str, Any] = run("map", *inputs, session=session, **guess, **options).figures
    return found


def get_device() -> str:
    """The device on which sessions compute: "cuda" where the library has one, else "cpu".

    Examples
    --------
    >>> get_device() in ("cpu", "cuda")
    True
    """
    try:
        with Session(device="cuda"):
            return "cuda"
    except DeviceError:
        return "cpu"
