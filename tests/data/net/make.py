#!/usr/bin/env python3
"""Trains small networks in PyTorch, in double precision, and writes what came of it: the fixtures of tests/unit/train_models.c.

make.py [FOLDER]        writes mlp, cnn, vit, moe, convnext .safetensors. Needs torch, safetensors and timm.

A file has x [samples][ny][nx][c], target, and of the first batch logits, loss and gradients (grad.NAME); weights before (NAME) and after STEPS steps
(end.NAME), and the loss of each step. Row r of step s is sample (s batch + r) mod samples. Rates are those of a cosine with a warm-up of two steps.
"""
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file
from timm.layers import NormMlpClassifierHead
from timm.models.convnext import ConvNeXt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/pytorch"))
from mesoforge_torch import make

SAMPLES, BATCH, STEPS, WARMUP = 20, 8, 10, 2
RATE, DECAY, EPSILON, CLIP, SMOOTHING = 0.01, 0.1, 1e-4, 0.5, 0.1  # epsilon: gradients that are 0 but for rounding stay small
CASES = {
    "mlp": dict(classes=0, extents=(5, 7), channels=2, outputs=3, width=24, depth=3),
    "cnn": dict(classes=5, extents=(13, 18), channels=2, outputs=5, width=10, depth=2),
    "vit": dict(classes=5, extents=(8, 12), channels=3, outputs=5, width=16, depth=2, heads=2, patch=4),
    "moe": dict(classes=5, extents=(5, 7), channels=2, outputs=5, width=12, depth=1, experts=3, top_k=2, features="none"),
    "convnext": dict(classes=5, extents=(24, 27), channels=1, outputs=5, width=6, depths=(1, 2, 1), patch=3),
}


class Timm(ConvNeXt):
    """Channels come last, and there are fewer stages than four."""

    def __init__(self, channels, outputs, width, depths, patch):
        last = width << len(depths) - 1
        super().__init__(channels, depths=(*depths, *[1] * (4 - len(depths))), dims=[width << s for s in range(4)], patch_size=patch)
        self.stages = self.stages[:len(depths)]
        self.head = NormMlpClassifierHead(last, outputs, norm_layer="layernorm2d")
        for p in self.parameters():  # biases of 0 and so small a gamma would hide an error
            if p.ndim == 1:
                p.data += 0.3 * torch.randn_like(p)

    def forward(self, x):
        return super().forward(x.permute(0, 3, 1, 2))


def rate_of(step):
    if step < WARMUP:
        return RATE * (step + 1) / (WARMUP + 1)
    return RATE * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def loss_of(classes, y, target):
    if classes:
        return torch.nn.functional.cross_entropy(y, target.long(), label_smoothing=SMOOTHING)
    return torch.nn.functional.mse_loss(y, target)


def train(arch, case):
    sizes = dict(case)
    classes, extents, channels, outputs = (sizes.pop(k) for k in ("classes", "extents", "channels", "outputs"))
    model = Timm(channels, outputs, **sizes) if arch == "convnext" else make(arch, extents, channels, outputs, **sizes)
    for name, p in model.named_parameters():  # norms that begin with 1 and 0 would hide an error
        if "norm" in name:
            p.data += 0.3 * torch.randn_like(p)
    x = torch.randn(SAMPLES, *extents, channels)
    target = torch.randint(outputs, (SAMPLES,)) if classes else torch.randn(SAMPLES, outputs)
    made = {"x": x, "target": target, **{k: p.detach().clone() for k, p in model.named_parameters()}}
    model = model.double()
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=DECAY, eps=EPSILON)
    losses = []
    for step in range(STEPS):
        rows = [(step * BATCH + r) % SAMPLES for r in range(BATCH)]
        y = model(x[rows].double())
        loss = loss_of(classes, y, target[rows] if classes else target[rows].double())
        optimiser.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            made["logits"] = model.eval()(x[rows].double())
            model.train()
            made.update({f"grad.{k}": p.grad.clone() for k, p in model.named_parameters()})
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        print(f"{arch} step {step}: loss {loss:.6f}, norm {norm:.4f}")
        optimiser.param_groups[0]["lr"] = rate_of(step)
        optimiser.step()
    made.update({f"end.{k}": p for k, p in model.named_parameters()})
    made["losses"] = torch.tensor(losses)
    return {k: (v if k == "target" and classes else v.detach().float()).contiguous() for k, v in made.items()}


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    for arch, case in CASES.items():
        save_file(train(arch, case), folder / f"{arch}.safetensors")


if __name__ == "__main__":
    main()
