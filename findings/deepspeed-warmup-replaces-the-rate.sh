#!/usr/bin/env bash
# DeepSpeed's WarmupDecayLR raises the learning rate of an optimiser and lowers it again. One would guess that it rises to
# the optimiser's own rate, as other schedules do, and that the first step has a part of it. The optimiser's rate counts for
# nothing: the top is `warmup_max_lr`, 0.001 where it is left out. And the first two steps have a rate of 0: both move nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 deepspeed==0.19.8
cd "$folder"
v/bin/python - > log 2>&1 <<'PY' || { cat log; exit 1; }
import deepspeed
import torch
from deepspeed.runtime.lr_schedules import WarmupDecayLR


def moves(**settings):
    """How far each of ten steps moves a weight whose gradient is 1."""
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    schedule = WarmupDecayLR(optimizer, total_num_steps=10, warmup_num_steps=4, **settings)
    found = []
    for _ in range(10):
        before = weight.item()
        weight.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
        schedule.step()
        found.append(round(before - weight.item(), 6))
    return found


print("SEEN DeepSpeed", deepspeed.__version__, "with torch.optim.SGD(lr=0.5), 4 of 10 steps to warm up")
plain, linear = moves(), moves(warmup_max_lr=0.5, warmup_type="linear")
print("SEEN   rates as it comes:", plain)
print("SEEN   rates with warmup_max_lr 0.5, linear:", linear)
assert max(plain) == 0.001 and max(linear) == 0.5, "the behaviour has changed"
assert plain[:2] == linear[:2] == [0.0, 0.0] and linear[2] == 0.125, "the behaviour has changed"
PY
sed -n 's/^SEEN //p' log
