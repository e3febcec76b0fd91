"""Which device has which part of a model: the names of the device mapping in ipfs_accelerate_py.

>>> mapper = DeviceMapper()
>>> mapper.estimate_model_memory("facebook/opt-1.3b")["total"] > 10**9
True
>>> mapper.create_device_map("facebook/opt-1.3b", devices=["cpu"])["head"]
'cpu'
"""

from .verbs import estimate, probe


class DeviceMapper:
    """Bytes of models and devices for their parts. Options are those of `mesoforge map`."""

    def __init__(self, prefer_rocm=False, session=None):
        self._options = {"prefer": "rocm" if prefer_rocm else None, "session": session}

    @property
    def device_info(self):
        """The hardware of this machine, a dictionary for each node."""
        return probe(session=self._options["session"])["nodes"]

    def estimate_model_memory(self, model, layers=None, **options):
        """Bytes by part, and "total"; exact for a model that is here, a guess by the name else."""
        parts = estimate(model, layers=layers, **self._options, **options)["parts"]
        sizes = {part["name"]: part["weights"] + part["caches"] + part["work"] for part in parts}
        return {**sizes, "total": sum(sizes.values())}

    def get_recommended_device(self, model, **options):
        """The device, or devices, that the model should have."""
        return estimate(model, recommend=True, **self._options, **options)["devices"]

    def create_device_map(self, model, strategy="auto", **options):
        """The device of every part, as from_pretrained(.., device_map=) of transformers takes it."""
        return estimate(model, strategy=strategy, **self._options, **options)["device_map"]
