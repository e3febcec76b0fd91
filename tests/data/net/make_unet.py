#!/usr/bin/env python3
"""Runs U-Nets in PyTorch, in double precision, and writes what came of it: the fixture of tests/unit/model_unet.c.

make_unet.py [FILE]     writes unet.safetensors. Needs torch and safetensors.

Weights and inputs are numbers of their names (numbers()), so that the file has results alone. CASE.y is the output. CASE.tap.NAME, CASE.grad.NAME and
CASE.loss, and the output of a large network, have four numbers: the norm of an array and its products with three arrays of numbers. The loss is the mean square of y - target. The last lines
that it prints are constants of the test: parameters, and a sum of hashes of their names and extents.
"""
import math
import pathlib
import sys

import numpy
import torch
from safetensors.torch import save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/pytorch"))
from mesoforge_unet import Unet

CASES = {  # samples, extents, channels, conditions, sizes
    "small": (3, (16, 24), 2, 3, dict(width=8, depth=2, blocks=1, attention=8, patch=2)),
    "deep": (2, (8, 16), 1, 0, dict(width=4, depth=3, blocks=2, attention=8, patch=1)),
    "wide": (2, (8, 8), 3, 5, dict(width=64, depth=2, blocks=1, attention=8, patch=1)),
}
WHOLE = {"adm": (1, (64, 64), 3, 1000, dict(width=192, depth=4, blocks=3, attention=32, patch=1))}  # forward alone, in minutes
COUNTED = {
    "unet": ((32, 32), 1, 1, {}),
    "adm-imagenet64": ((64, 64), 3, 1000, dict(width=192, depth=4, blocks=3, attention=32, patch=1)),
}


def fnv(text):
    number = 0xCBF29CE484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return number


def numbers(name, count):
    """Between -1 and 1: a hash of the name and the place (the end of MurmurHash3)."""
    x = (numpy.arange(count, dtype=numpy.uint64) * 0x9E3779B9 + (fnv(name) & 0xFFFFFFFF)) & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        x = (x ^ (x >> shift)) * factor & 0xFFFFFFFF
    return (x >> 8).astype(numpy.float64) / 2**23 - 1


def array(name, shape):
    return torch.from_numpy(numbers(name, math.prod(shape))).reshape(shape)


def start(name, p):
    if p.ndim > 1:
        return array(name, p.shape) * math.sqrt(3 / (p.numel() // p.shape[0]))
    return 0.3 * array(name, p.shape) + (name.endswith("weight"))


def looked_at(name, x):
    """The norm, and three products."""
    x = x.detach().double().flatten()
    products = [(x * array(f"{name}.{k}", x.shape)).sum() for k in range(3)]
    return torch.stack([x.norm(), *products]).float()


def run(case, n, extents, channels, conditions, sizes, made, train=True):
    net = Unet(extents, channels, conditions, **sizes).double().requires_grad_(train)
    layers = {f"encoder_block_{k}": layer for k, layer in enumerate(net.enc.values())}
    layers |= {"encoder_bottleneck": list(net.enc.values())[-1], "midblock": list(net.dec.values())[0]}
    layers |= {f"decoder_block_{k}": layer for k, layer in enumerate(net.dec.values())}

    def look(name):
        def hook(_, __, y):
            made[f"{case}.tap.{name}"] = looked_at(name, y.permute(0, 2, 3, 1))

        return hook

    for name, p in net.named_parameters():
        p.data = start(f"model.{name}", p).float().double()
    for name, layer in layers.items():
        layer.register_forward_hook(look(name))
    condition = array("condition", (n, conditions)).float().double() if conditions else None
    y = net(array("x", (n, *extents, channels)).float().double(), array("c_noise", (n,)), condition)
    if not train:
        made[f"{case}.y"] = looked_at("y", y)
        return
    loss = ((y - array("target", y.shape).float().double()) ** 2).mean()
    loss.backward()
    made[f"{case}.y"], made[f"{case}.loss"] = y.detach().float().contiguous(), looked_at("loss", loss)
    made.update({f"{case}.grad.model.{k}": looked_at(f"model.{k}", p.grad) for k, p in net.named_parameters()})
    print(f"{case}: loss {loss.item():.6f}, y {y.norm().item():.3f}")


def count(name, extents, channels, conditions, sizes):
    with torch.device("meta"):
        net = Unet(extents, channels, conditions, **sizes)
    words = [f"model.{k} {' '.join(map(str, p.shape))}" for k, p in net.named_parameters()]
    print(f"{name}: {sum(p.numel() for p in net.parameters())} numbers in {len(words)} arrays, {sum(fnv(w) for w in words) % 2**64:#x}")


def main():
    made = {}
    torch.set_num_threads(1)
    for case, of in CASES.items():
        run(case, *of, made)
    for case, of in WHOLE.items():
        run(case, *of, made, train=False)
    save_file(made, sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "unet.safetensors")
    for name, of in COUNTED.items():
        count(name, *of)


main()
