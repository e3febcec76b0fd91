"""Which device has which part of a model: the names of the device mapping in ipfs_accelerate_py.

>>> mapper = DeviceMapper()
>>> mapper.estimate_model_memory("facebook/opt-1.3b")["total"] > 10**9
True
>>> mapper.create_device_map("facebook/opt-1.3b", devices=["cpu"])["head"]
'cpu'
"""

from __future__ import annotations

from typing import Any

from .session import Session
from .verbs import estimate, get_device, probe

__all__ = ["DeviceMapper", "get_device", "get_device_info"]


def get_device_info(device: str | None = None, *, session: Session | None = None) -> dict[str, Any]:
    """The name and the memory [bytes] of a device, "cpu", "cuda" or "cuda:1"; of get_device() if left out.

    >>> sorted(get_device_info("cpu"))
    ['device', 'device_name', 'memory_bytes']
    """
    device, node = device or get_device(), probe(session=session)["nodes"][0]
    if device == "cpu":
        return {"device": device, "device_name": node["cpu"], "memory_bytes": node["ram_bytes"]}
    gpu = node["gpus"][int(device.partition(":")[2] or 0)]
    return {"device": device, "device_name": gpu["name"], "memory_bytes": gpu["memory_bytes"]}


class DeviceMapper:
    """Bytes of models and devices for their parts. Options are those of `mesoforge map`."""

    def __init__(self, prefer_rocm: bool = False, session: Session | None = None) -> None:
        self._options: dict[str, Any] = {"prefer": "rocm" if prefer_rocm else None, "session": session}

    @property
    def device_info(self) -> list[dict[str, Any]]:
        """The hardware of this machine, a dictionary for each node."""
        nodes: list[dict[str, Any]] = probe(session=self._options["session"])["nodes"]
        return nodes

    def estimate_model_memory(self, model: str, layers: int | None = None, **options: Any) -> dict[str, int]:
        """Bytes by part, and "total"; exact for a model that is here, a guess by the name else."""
        parts = estimate(model, layers=layers, **self._options, **options)["parts"]
        sizes = {part["name"]: part["weights"] + part["caches"] + part["work"] for part in parts}
        return {**sizes, "total": sum(sizes.values())}

    def get_recommended_device(self, model: str, **options: Any) -> Any:
        """The device, or devices, that the model should have."""
        return estimate(model, recommend=True, **self._options, **options)["devices"]

    def create_device_map(self, model: str, strategy: str = "auto", **options: Any) -> dict[str, str]:
        """The device of every part, as from_pretrained(.., device_map=) of transformers takes it."""
        found: dict[str, str] = estimate(model, strategy=strategy, **self._options, **options)["device_map"]
        return found
