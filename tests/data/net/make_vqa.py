#!/usr/bin/env python3
"""Trains a small network that answers questions in PyTorch, in double precision, and writes what came of it: the fixture of tests/unit/train_vqa.c.

make_vqa.py [FOLDER]    writes vqa.safetensors. Needs torch, safetensors and timm.

A file has the inputs and targets of SAMPLES questions (docs of struct mf_arch_ask), the weights (NAME), and of a step on the first LEARNT questions outputs
(output.HEAD) and gradients (grad.NAME). Then losses [steps] and weights after STEPS such steps (end.NAME). Tables of positions end with the last one that is used.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional

import make as others

SAMPLES, LEARNT, STEPS, EXTENTS, LENGTH, OBJECTS, WORDS = 14, 10, 10, (12, 16), 8, 4, 20
OUTPUTS, WEIGHTS = (2, 5, 4), (1, 1, 0.3)  # the last: findings
CELLS, EPSILON = 12, 1e-3  # epsilon: gradients that are 0 but for rounding stay small
FACTORS = {"text": 0.5, "image.stem": 0.25}
POSITIONS = "text.embeddings.position_embeddings.weight"


def shares(there):
    return there / there.sum(1, keepdim=True).clamp(min=1)


def questions():
    """Of different lengths and numbers of objects; two have no object. Every question has one head."""
    length = torch.tensor([3 + 5 * n % 6 for n in range(SAMPLES)])
    objects = torch.tensor([n % (OBJECTS + 1) for n in range(SAMPLES)])
    seen = torch.arange(LENGTH) < length[:, None]
    there = torch.arange(OBJECTS) < objects[:, None]
    region = torch.rand(SAMPLES, OBJECTS, CELLS) * (torch.rand(SAMPLES, OBJECTS, CELLS) < 0.5) * there[..., None]
    made = {
        "x": (torch.rand(SAMPLES, *EXTENTS) < 0.5).float(),
        "tokens": torch.where(seen, torch.randint(WORDS, (SAMPLES, LENGTH)), 0),
        "seen": seen.float(),
        "word_share": shares(seen.float()),
        "object": torch.rand(SAMPLES, OBJECTS, 6) * there[..., None],
        "object_share": shares(there.float()),
        "region": region / region.sum(-1, keepdim=True).clamp(min=1e-9),
        "findings": torch.where(torch.rand(SAMPLES, OUTPUTS[2]) < 0.3, torch.nan, torch.randint(2, (SAMPLES, OUTPUTS[2])).float()),
    }
    for h, name in enumerate(("yes_no", "kind")):
        label = torch.randint(OUTPUTS[h], (SAMPLES,))
        made[name] = torch.where(torch.arange(SAMPLES) % 2 == h, label, -1)
    return made


def loss_of(outputs, q):
    heads = [functional.cross_entropy(y, q[name][:LEARNT], ignore_index=-1) for y, name in zip(outputs, ("yes_no", "kind"))]
    target = q["findings"][:LEARNT].double()
    known = ~target.isnan()
    heads.append((functional.binary_cross_entropy_with_logits(outputs[2], target.nan_to_num(), reduction="none") * known).mean())
    return sum(w * loss for w, loss in zip(WEIGHTS, heads))


def groups(model):
    """Of each parameter its factor of the rate; norms, biases, embeddings and positions do not decay."""
    products = {id(m.weight) for m in model.modules() if isinstance(m, (torch.nn.Linear, torch.nn.Conv2d))}
    return [{"params": [p], "factor": next((f for part, f in FACTORS.items() if name.startswith(part + ".")), 1), "weight_decay": others.DECAY * (id(p) in products)}
            for name, p in model.named_parameters()]


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = others.make("vqa", EXTENTS, 1, OUTPUTS, words=WORDS, objects=OBJECTS, width=4, depth=2, text_width=8, text_depth=2, heads=2)
    for name, p in model.named_parameters():  # norms that begin with 1 and 0 would hide an error
        if "norm" in name.lower() or "objects.words" in name:
            p.data += 0.3 * torch.randn_like(p)
    dict(model.named_parameters())[POSITIONS].data[LENGTH:] = 0
    q = questions()
    made = {**q, **{k: p.detach().clone() for k, p in model.named_parameters()}}
    model = model.double()
    first = {k: (v if v.dtype == torch.int64 else v.double())[:LEARNT] for k, v in q.items()}
    inputs = (first["x"][..., None], first["tokens"], first["seen"] > 0, first["word_share"][:, None], first["object"], first["object_share"][:, None], first["region"])
    optimiser = torch.optim.AdamW(groups(model), eps=EPSILON)
    losses = []
    for step in range(STEPS):
        outputs = model(*inputs)
        loss = loss_of(outputs, q)
        optimiser.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            made.update({f"output.{h}": y.detach() for h, y in enumerate(outputs)})
            made.update({f"grad.{k}": p.grad.clone() for k, p in model.named_parameters()})
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), others.CLIP)
        print(f"step {step}: loss {loss:.6f}, norm {norm:.4f}")
        for group in optimiser.param_groups:
            group["lr"] = group["factor"] * others.rate_of(step)
        optimiser.step()
    made.update({f"end.{k}": p.detach() for k, p in model.named_parameters()})
    made["losses"] = torch.tensor(losses)
    for name in made:
        if name.endswith(POSITIONS):
            made[name] = made[name][:LENGTH]
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    save_file({k: (v if v.dtype == torch.int64 else v.float()).contiguous() for k, v in made.items()}, folder / "vqa.safetensors")


main()
