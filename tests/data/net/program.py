#!/usr/bin/env python3
"""Trains with mesoforge and, from the same weights on the same samples, in PyTorch in double precision; compares the weights after twelve steps.

program.py MESOFORGE [MPIEXEC]      status 1: they differ by more than 3e-6 and twice what PyTorch in single precision does. Needs torch, safetensors, h5py.
The last step of an epoch has fewer samples; on two and three ranks each has several passes of two samples. Images, their normalisation, the order of an
epoch (src/base/order.c), the units of real values, the schedule, clipping and AdamW take part.
"""
import copy
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy
import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/pytorch"))
from mesoforge_torch import make

TRAIN, OTHERS, BATCH, EPOCHS, SEED = 20, 4, 8, 4, 7
RATE, DECAY, EPSILON, WARMUP, CLIP = 0.01, 0.1, 1e-4, 2, 0.5  # epsilon: gradients that are 0 but for rounding stay small
EXTENTS, CHANNELS, CLASSES = (8, 12), 2, 5
CASES = {
    "mlp": dict(width=24, depth=2),
    "cnn": dict(width=10, depth=2),
    "vit": dict(width=16, depth=2, heads=2, patch=4),
    "moe": dict(width=16, depth=2, experts=4, top_k=2, features="cnn", balance=0),
}


def philox(c, k):
    mask = 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def order(epoch, n, position):
    """src/base/order.c"""
    half = next(h for h in range(1, 33) if not n >> (2 * h))
    key = philox([epoch, 0, 0x44530000, 0], [SEED, 0])
    while True:
        left, right = position >> half, position & ((1 << half) - 1)
        for turn in range(8):
            out = philox([right, turn, key[2], key[3]], key[:2])
            left, right = right, left ^ (out[0] & ((1 << half) - 1))
        position = left << half | right
        if position < n:
            return position


def dataset(path):
    draw = numpy.random.default_rng(1)
    n = TRAIN + OTHERS
    with h5py.File(path, "w") as f:
        f["samples/x"] = draw.integers(0, 256, (n, *EXTENTS, CHANNELS), dtype=numpy.uint8)
        f["samples/label"] = numpy.arange(n, dtype=numpy.int32) % CLASSES
        f["samples/properties"] = draw.normal(3, 2, (n, 2)).astype(numpy.float32)
        f["samples/properties"].attrs["names"] = ["a", "b"]
        f["index/split"] = numpy.array([0] * TRAIN + [1] * OTHERS, dtype=numpy.uint8)
        return {k: torch.tensor(f["samples/" + k][:TRAIN]) for k in ("x", "label", "properties")}


def normalised(x, kind):
    x = x.to(kind)
    return (x - x.mean(tuple(range(x.ndim - 1)))) / x.std(tuple(range(x.ndim - 1)), correction=0)


def theirs(model, data, verb, kind):
    model = copy.deepcopy(model).to(kind)
    x = normalised(data["x"], kind)
    target = data["label"].long() if verb == "classify" else normalised(data["properties"], kind)
    loss = torch.nn.CrossEntropyLoss() if verb == "classify" else torch.nn.MSELoss()
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=DECAY, eps=EPSILON)
    steps = EPOCHS * -(-TRAIN // BATCH)
    step = 0
    for epoch in range(EPOCHS):
        for rows in torch.tensor([order(epoch, TRAIN, p) for p in range(TRAIN)]).split(BATCH):
            optimiser.zero_grad()
            loss(model(x[rows]), target[rows]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            rise, fall = (step + 1) / (WARMUP + 1), (1 + math.cos(math.pi * (step - WARMUP) / (steps - WARMUP))) / 2
            optimiser.param_groups[0]["lr"] = RATE * (rise if step < WARMUP else fall)
            optimiser.step()
            step += 1
    return {k: p.detach() for k, p in model.named_parameters()}


def ours(program, folder, verb, arch):
    sizes = [word for k, v in CASES[arch].items() for word in (f"--{k.replace('_', '-')}", str(v))]
    words = [*program, "train", verb, "--data", "data.h5", "--model", "start.safetensors", "--arch", arch, *sizes]
    words += ["--epochs", str(EPOCHS), "--effective-batch", str(BATCH), "--batch-size", "2", "--seed", str(SEED)]
    words += ["--learning-rate", str(RATE), "--weight-decay", str(DECAY), "--epsilon", str(EPSILON)]
    words += ["--warmup", str(WARMUP), "--clip", str(CLIP), "--keep-last", "1", "--no-plots", "--results-dir", "run"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return load_file(folder / f"run/model_epoch{EPOCHS}.safetensors")


def differs(got, want):
    if got.keys() != want.keys():
        return math.inf, "names"
    return max((((got[k].double() - want[k]).norm() / max(want[k].norm(), 1e-2)).item(), k) for k in want)


def main():
    program, wrong = str(pathlib.Path(sys.argv[1]).resolve()), 0
    many = [[sys.argv[2], "-n", str(n), "--oversubscribe", program] for n in (2, 3)] if len(sys.argv) > 2 else []
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = dataset(folder / "data.h5")
        for verb, outputs in (("classify", CLASSES), ("regress", 2)):
            for arch, sizes in CASES.items():
                model = make(arch, EXTENTS, CHANNELS, outputs, **sizes)
                save_file({k: p.detach().contiguous() for k, p in model.named_parameters()}, folder / "start.safetensors")
                want = theirs(model, data, verb, torch.double)
                single, _ = differs(theirs(model, data, verb, torch.float), want)
                for words in [[program], *many]:
                    off, where = differs(ours(words, folder, verb, arch), want)
                    ranks = words[2] if words[1:] else 1
                    print(f"{verb} {arch}, {ranks} ranks: {where} differs by {off:.1e}, PyTorch's by {single:.1e}", flush=True)
                    wrong += off > max(3e-6, 2 * single)
                    shutil.rmtree(folder / "run")
    sys.exit(wrong > 0)


main()
