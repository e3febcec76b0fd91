#!/usr/bin/env python3
"""Volumes that no GPU holds: plans keep them in host memory before they fall back to cores, and runs do what was planned
(on the emulator that MF_CUDA_LIBRARY names, with the GPU that the stand-in of the driver's library shows).
usage: residency.py MESOFORGE MPIEXEC FOLDER_OF_HARDWARE FOLDER_OF_FAKE_NVML"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish
from samples import blobs, np

program, mpiexec, hardware, nvml = os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3]), sys.argv[4]
SMALL = ("two.npy", "--limit_to", 4, "--size", 40, 40, 40, "--threads", 1, "--no_polish", "--deterministic")
RUN = (*SMALL, "--max_iter", 1, "--output", "o.h5")


def go(verb, *words, memory=None, ranks=1, code=0, **emulated):
    env = dict(os.environ, **{"MF_EMU_" + k: str(v) for k, v in emulated.items()})
    if memory:
        env.update(LD_LIBRARY_PATH=nvml + ":" + env.get("LD_LIBRARY_PATH", ""), FAKE_NVML_GPUS=str(ranks), MF_EMU_DEVICES=str(ranks),
                   FAKE_NVML_MEMORY=str(memory))
    status, out, err = runs.run(program, verb, *words, "--json", ranks=ranks, mpiexec=mpiexec, env=env)
    check(status == code, f"{verb} {words}: {status}, want {code}: {err[-500:]}")
    return (json.loads(out) if status == 0 else None), err


def planned():
    """On a laptop: on the GPU, in the memory beside it, on cores."""
    machine = ("reconstruct", "--hardware", f"{hardware}/laptop.json")
    for edge, device, offload in ((512, "cuda", 0), (768, "cuda", 1), (1200, "none", 0)):
        words = (*machine, "--size", edge, edge, edge)
        if device == "none":
            go("plan", *words, code=5)
            continue
        p, _ = go("plan", *words)
        check(p["device"] == device and p["settings"]["offload"] == offload, f"{edge}^3: {p['device']}, {p['settings']}")
    p, _ = go("plan", *machine, "--size", 768, 768, 768)
    check(any("slices stream through the device" in note for note in p["notes"]), f"notes {p['notes']}")
    check({c["settings"].get("offload") for c in p["candidates"]} == {0, 1, None}, "both were looked at")
    check("field" in p["host_bytes"]["arrays"] and "field" not in p["bytes"]["arrays"], f"{p['bytes']['arrays']}")
    check(p["host_bytes"]["arrays"]["field"] == 4 * 768**3, f"{p['host_bytes']['arrays']}")
    smaller, _ = go("plan", *machine, "--size", 384, 384, 384, "--residency", "host")
    check(p["bytes"]["total"] < 4.5 * smaller["bytes"]["total"], f"the GPU's bytes: {smaller['bytes']['total']}, {p['bytes']['total']}")
    go("plan", *machine, "--size", 768, 768, 768, "--residency", "device", code=5)


def done():
    """A GPU with 1 MiB left for arrays."""
    there, _ = go("match", *RUN, "--device", "cuda", memory=4000)
    check(there["plan"]["settings"]["offload"] == 0, f"room for all: {there['plan']['settings']}")
    for ranks in runs.some((2, 1)):
        here, err = go("match", *RUN, "--device", "cuda", memory=1497, ranks=ranks)
        check(here["device"] == "cuda" and here["plan"]["settings"]["offload"] == 1, f"{ranks} ranks: {here['plan']}")
        check("fields stay in host memory" in err and abs(here["loss"] - there["loss"]) < 1e-4 * there["loss"], f"{ranks} ranks: {here['loss']}, {there['loss']}: {err}")
        check(max(here["peak_bytes"]["device"]) < min(there["peak_bytes"]["device"]), f"{here['peak_bytes']}")
    _, err = go("match", *RUN, "--device", "cuda", "--residency", "device", memory=1497, code=5)
    check("nothing fits into memory" in err, err)
    go("plan", "reconstruct", *SMALL, "--device", "cuda", "--output", "plan.json", memory=1497)
    here, _ = go("match", *RUN, "--device", "cuda", "--plan", "plan.json", memory=1497)
    check(here["plan"]["settings"]["offload"] == 1, "a plan from a file")
    _, err = go("match", *RUN, "--device", "cuda", "--plan", "plan.json", "--residency", "device", memory=1497, code=2)
    check("says residency host, --residency says device" in err, err)


def unplanned():
    """A device that turns out to be full before the run has begun."""
    words = ("two.npy", "--limit_to", 4, "--size", 28, 28, 28, "--threads", 1, "--no_polish", "--max_iter", 1, "--output", "o.h5", "--device", "cuda")
    there, _ = go("match", *words)
    here, _ = go("match", *words, "--residency", "host", "--batch_size", 8)
    peak = [one["peak_bytes"]["device"][0] for one in (there, here)]
    check(2 * peak[1] < peak[0], f"bytes of the device: {peak}")
    own = 4 << 20  # of the queue itself
    again, err = go("match", *words, "--batch_size", 8, MEMORY=own + (peak[0] + peak[1]) // 2)
    check("continuing with fields in host memory" in err and again["loss"] == here["loss"], err)
    go("match", *words, "--batch_size", 8, "--residency", "device", MEMORY=own + (peak[0] + peak[1]) // 2, code=5)


def characterised():
    """A volume whose pyramid the device cannot hold."""
    np.save("volume.npy", blobs((32, 34, 36), [0.6, 0.4], 2))
    words = ("volume.npy", "--limit_to", 4, "--threads", 1, "--device", "cuda")
    bytes_ = [go("characterize", *words, *more, "--dry-run")[0]["bytes"]["device"] for more in ((), ("--residency", "host"))]
    check(4 * bytes_[1] < 3 * bytes_[0], f"bytes of the device: {bytes_}")
    there, _ = go("characterize", *words)
    little = (4 << 20) + sum(bytes_) // 2
    here, err = go("characterize", *words, MEMORY=little)
    check(here == there and "continuing with fields in host memory" in err, f"other descriptors: {err}")
    go("characterize", *words, "--residency", "device", MEMORY=little, code=5)


def stopped():
    """A run that was stopped with its fields in one memory goes on with them in the other, in the same bits."""
    np.save("small.npy", blobs((10, 12), [0.6, 0.4], 3))
    words = ("small.npy", "--limit_to", 3, "--add_dimension", 8, "--max_iter", 30, "--polish-rounds", 3, "--deterministic", "--threads", 1,
             "--device", "cuda", "--share-gpu", "--output")
    go("match", *words, "whole.npy")
    os.environ["MF_FAULT"] = "run.leave:visit=2"
    go("match", *words, "parts.npy", "--residency", "host", code=75)
    go("match", *words, "parts.npy", "--residency", "device", "--restart", "auto", code=75)
    del os.environ["MF_FAULT"]
    status, _, err = runs.run(program, "match", *words, "parts.npy", "--residency", "host", "--restart", "auto", ranks=2, mpiexec=mpiexec)
    check(status == 0 and "continuing from a checkpoint" in err, f"the last leg: {status}: {err[-400:]}")
    check(np.load("parts.npy").tobytes() == np.load("whole.npy").tobytes(), "other bits after three legs in two memories")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    np.save("two.npy", blobs((24, 24), [0.6, 0.4], 1))
    for part in (planned, done, unplanned, characterised, stopped):
        part()
    os.chdir("/")
finish("residency")
