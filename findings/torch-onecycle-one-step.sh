#!/usr/bin/env bash
# PyTorch's OneCycleLR raises the learning rate over pct_start * total_steps steps. One would guess that any number of
# steps will do. Where the product is exactly 1, as for 100 steps and 1 %, the constructor divides by zero and raises.
# Neighbours work: a little more than 1 gives a first step at 1/25 and a second one that is near the highest rate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import torch


def rates(steps, share):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    try:
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1, total_steps=steps, pct_start=share)
    except ZeroDivisionError:
        return "ZeroDivisionError"
    seen = []
    for _ in range(3):
        seen.append(round(optimiser.param_groups[0]["lr"], 4))
        optimiser.step()
        schedule.step()
    return seen


print("torch", torch.__version__)
cases = (100, 0.01), (20, 0.05), (10, 0.1), (5, 0.2), (101, 0.01), (21, 0.05), (40, 0.05)
found = [rates(*case) for case in cases]
for (steps, share), seen in zip(cases, found):
    print(f"  {steps} steps, pct_start {share}: {seen}")
assert found[:4] == ["ZeroDivisionError"] * 4, "the behaviour has changed"
assert all(seen[0] == 0.04 and seen[1] > 0.99 for seen in found[4:]), "the behaviour has changed"
PY
