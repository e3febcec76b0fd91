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
mesoforge.errors.UsageError: no option 'limt_to'; try: limit_to=

Lines of the log go to logging.getLogger("mesoforge").
"""

from .describe import Option, Options, options
from .errors import DeviceError, Error, InputError, NumericalError, OutOfMemory, OutputError, Stopped, UsageError
from .library import version
from .measured import Comparison, Properties
from .model import Made, Model, Predictions, Texts, load_model
from .result import Characterization, Result, Structure, Target
from .session import Session, Slab
from .table import Table
from .verbs import (
    characterize,
    compare,
    dataset,
    estimate,
    generate,
    get_device,
    infer,
    match,
    plan,
    predict,
    probe,
    properties,
    read,
    reconstruct,
    run,
    smooth,
    synth,
    train,
)

__version__ = version()

__all__ = [
    "Characterization",
    "Comparison",
    "DeviceError",
    "Error",
    "InputError",
    "Made",
    "Model",
    "NumericalError",
    "Option",
    "Options",
    "OutOfMemory",
    "OutputError",
    "Predictions",
    "Properties",
    "Result",
    "Session",
    "Slab",
    "Stopped",
    "Structure",
    "Table",
    "Target",
    "Texts",
    "UsageError",
    "characterize",
    "compare",
    "dataset",
    "estimate",
    "generate",
    "get_device",
    "infer",
    "load_model",
    "match",
    "options",
    "plan",
    "predict",
    "probe",
    "properties",
    "read",
    "reconstruct",
    "run",
    "smooth",
    "synth",
    "train",
]
