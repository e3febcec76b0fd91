"""Statistics of micrographs and volumes, computed by libmesoforge.

>>> import mesoforge, numpy
>>> image = numpy.indices((32, 32)).sum(axis=0) // 4 % 2
>>> result = mesoforge.characterize(image, limit_to=8)
>>> result.figures["phases"][1]["volume_fraction"]
0.5
>>> result.arrays["all/s2"].shape, result.axes["all/s2"]
((2, 2, 15, 15), ('phase', 'level', 'du', 'dv'))

Options are those of the program's verbs, and what it refuses are exceptions:

>>> mesoforge.characterize(image, limt_to=8)
Traceback (most recent call last):
    ...
mesoforge.errors.UsageError: no option '--limt_to'; try: --limit_to

Lines of the log go to logging.getLogger("mesoforge").
"""

from .errors import DeviceError, Error, InputError, NumericalError, OutOfMemory, OutputError, Stopped, UsageError
from .library import version
from .result import Characterization, Structure
from .session import Session, Slab, default

__version__ = version()


def characterize(image, *, session=None, progress=None, **options):
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


def match(image, *, session=None, progress=None, **options):
    """Makes a structure with the statistics of an image or a volume, as `mesoforge match` does.

    image: as of characterize(). options: those of the verb, as size=[64, 64, 64], seed=3, limit_to=16.
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
    return (session or default()).match(image, progress=progress, **options)


__all__ = [
    "Characterization",
    "DeviceError",
    "Error",
    "InputError",
    "NumericalError",
    "OutOfMemory",
    "OutputError",
    "Session",
    "Slab",
    "Stopped",
    "Structure",
    "UsageError",
    "characterize",
    "match",
]
