"""The program's verbs as functions. Keyword arguments are the options of the verb, and session= says where it runs."""

from __future__ import annotations

import os
from typing import Any, Callable, Optional

from .errors import DeviceError, UsageError
from .result import Result, Structure, Target
from .session import Session, default

Progress = Optional[Callable[[str, Optional[float]], object]]


def run(verb: str, *inputs: Any, session: Session | None = None, progress: Progress = None, **options: Any) -> Result:
    """Runs any verb that prints an object with --json, as "properties" or "plan match".

    Inputs are arrays, targets and structures, or paths of files. `figures` of the result is the object.

    >>> import numpy
    >>> run("info", numpy.eye(8, dtype="u1")).figures["shape"]
    [8, 8]
    """
    return (session or default()).run(verb, *inputs, progress=progress, **options)


def characterize(image: Any, *, session: Session | None = None, progress: Progress = None, **options: Any) -> Target:
    """Measures the descriptors of an image [y][x] or a volume [z][y][x].

    image: an array of labels, grey values or phases side by side, as any array of NumPy (it is not copied), a picture
    of PIL, or the path of an .npy file. A masked array leaves out what it masks.
    options: those of `mesoforge characterize`, as limit_to=16, isotropic=True, measures=["surface", "euler"].
    mask=ARRAY leaves out the voxels where it is above 0, beside those that a masked array masks.
    progress: as of match().

    >>> import numpy
    >>> grey = numpy.linspace(0, 1, 1024).reshape(32, 32)
    >>> characterize(grey, threshold=0.25, limit_to=8).figures["phases"][1]["volume_fraction"]
    0.75
    """
    return (session or default()).characterize(image, progress=progress, **options)


def match(
    *images: Any, target: Any = None, session: Session | None = None, progress: Progress = None, **options: Any
) -> Structure:
    """Makes a structure with the statistics of an image or a volume, as `mesoforge match` does.

    images: one as of characterize(), or three for the normals z, y and x. Or target=, as of reconstruct().
    options: those of the verb, as size=[64, 64, 64], seed=3, limit_to=16.
    progress: a function of what is done and its share (0 to 1, or None). Where it returns False or another false value,
    Stopped is raised; None goes on. Its `result` is the best so far. Ctrl-C ends the call before the next evaluation,
    and so does any exception that a handler of a signal raises: that exception has the `result`.
    output="FILE.h5" also writes the program's file; with restart="auto" a stopped run goes on from its checkpoint.

    >>> import numpy
    >>> image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2 * 255
    >>> made = match(image, labels=[0, 255], size=[24, 24], limit_to=8, max_iter=10)
    >>> made.array.shape, int(made.array.max())
    ((24, 24), 255)
    """
    return (session or default()).match(*images, target=target, progress=progress, **options)


def reconstruct(
    target: Any, *, session: Session | None = None, progress: Progress = None, **options: Any
) -> Structure:
    """Makes a structure with the statistics of a target, as `mesoforge reconstruct` does.

    target: what characterize() gives, the path of a file of descriptors, or arrays by the names of descriptors.

    >>> import numpy
    >>> target = characterize(numpy.indices((32, 32)).sum(axis=0) // 4 % 2, limit_to=8)
    >>> reconstruct(target, size=[24, 24], max_iter=10).array.shape
    (24, 24)
    """
    return (session or default()).reconstruct(target, progress=progress, **options)


def read(image: Any, *, session: Session | None = None, progress: Progress = None, **options: Any) -> Structure:
    """Makes a structure of an image or a volume: phases, their labels, and the size of a voxel.

    threshold= makes phases of grey values. spacing= and unit= say how large a voxel is; later calls then know it.

    >>> import numpy
    >>> scan = read(numpy.linspace(0, 1, 1024).reshape(32, 32), threshold=0.25, spacing=0.5, unit="um")
    >>> scan.phase.shape, scan.spacing, scan.unit
    ((32, 32), (0.5, 0.5), 'um')
    """
    return run("read", image, session=session, progress=progress, **options)


def compare(
    target: Any, *results: Any, session: Session | None = None, progress: Progress = None, **options: Any
) -> Result:
    """Compares structures with one that they should look like, as `mesoforge compare` does.

    >>> import numpy
    >>> image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2
    >>> compare(image, image, limit_to=8).figures["results"][0]["score"]
    0.0
    """
    return run("compare", target, *results, session=session, progress=progress, **options)


def synth(*, session: Session | None = None, progress: Progress = None, **options: Any) -> Structure | Result:
    """Makes a structure with known statistics; with num_samples= and output="FILE.h5" a dataset for training.

    >>> synth(kind="spheres", size=[24, 32], radius=4, seed=1).array.shape
    (24, 32)
    """
    return run("synth", session=session, progress=progress, **options)


_KINDS = {"classify": "classes", "regress": "columns", "answer": "questions"}


def _kind_of(model, session):
    said = run("info", model, session=session).figures.get("model", {})
    kinds = [kind for kind, key in _KINDS.items() if key in said]
    if not kinds:
        raise UsageError(f"the model of '{model}' has no classes, columns or questions")
    return kinds[0]


def infer(
    model: str,
    *images: Any,
    kind: str | None = None,
    session: Session | None = None,
    progress: Progress = None,
    **options: Any,
) -> list[dict]:
    """What a trained model says of images: a list with a dictionary for each.

    model: the path of a model file. kind: "classify", "regress" or "answer"; without one the file says it.
    A model for questions wants question="..", or several of them.
    """
    kind = kind or _kind_of(model, session)
    said = run("infer " + kind, model, *images, session=session, progress=progress, **options).figures
    return said.get("predictions", said.get("answers"))


predict = infer


def train(
    kind: str, data: str, *, session: Session | None = None, progress: Progress = None, **options: Any
) -> Result:
    """Trains a network, as `mesoforge train KIND` does: results_dir="FOLDER" gets model.safetensors.

    kind: "classify", "regress", "vqa", "unet" or "moe". data: the path of a dataset. The session trusts files:
    Session(trust_files=True).
    """
    return run("train " + kind, data=data, session=session, progress=progress, **options)


def generate(model: str, *, session: Session | None = None, progress: Progress = None, **options: Any) -> Result:
    """Makes a dataset of new samples by a model of train("unet", ..): output="FILE.h5", num_samples=1000."""
    return run("generate", model=model, session=session, progress=progress, **options)


def probe(*, session: Session | None = None, **options: Any) -> dict:
    """The hardware of this machine, as `mesoforge probe` prints it.

    >>> probe()["nodes"][0]["cores"] >= 1
    True
    """
    return run("probe", session=session, **options).figures


def plan(verb: str, *inputs: Any, session: Session | None = None, **options: Any) -> dict:
    """What a run of a verb would need, before it runs; hardware="FILE.json" plans for another machine.

    >>> import numpy
    >>> plan("match", numpy.eye(64, dtype="u1"), size=[64, 64, 64])["bytes"]["total"] > 64**3
    True
    """
    return run("plan " + verb, *inputs, session=session, **options).figures


def estimate(model: str, *, session: Session | None = None, **options: Any) -> dict:
    """The exact bytes of every part of a model, and a device for each, as `mesoforge map` tells them. A model that is
    not here is guessed by its name.

    >>> estimate("facebook/opt-1.3b")["kind"]
    'guess by name'
    """
    if os.path.exists(model):
        return run("map", model, session=session, **options).figures
    return run("map", session=session, estimate=model, **options).figures


def get_device() -> str:
    """The device on which sessions compute: "cuda" where the library has one, else "cpu".

    >>> get_device() in ("cpu", "cuda")
    True
    """
    try:
        with Session(device="cuda"):
            return "cuda"
    except DeviceError:
        return "cpu"
