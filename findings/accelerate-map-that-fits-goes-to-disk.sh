#!/usr/bin/env bash
# accelerate places the layers of a model on devices by the bytes that each may use. One would guess that layers of 2400
# bytes fit into three places of 800. The first device and the processor keep room for the largest layer, in case one must be
# fetched from elsewhere, and later devices keep none. So a third of the layers go to the disk here. With one device more,
# none does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 accelerate==1.15.0
cd "$folder"
v/bin/python - 2> /dev/null <<'PY'
import warnings

warnings.filterwarnings("ignore")
import accelerate
import torch
from accelerate import infer_auto_device_map

print("accelerate", accelerate.__version__)
layers = torch.nn.Sequential(*[torch.nn.Linear(10, 10, bias=False) for _ in range(6)])  # 400 bytes each
small = list(infer_auto_device_map(layers, max_memory={0: 800, 1: 800, "cpu": 800}).values())
print("  six layers of 400 bytes, 800 bytes each on 0, 1, cpu:", small)
roomy = list(infer_auto_device_map(layers, max_memory={0: 800, 1: 800, 2: 800, 3: 800, "cpu": 0}).values())
print("  the same on 0, 1, 2, 3:", roomy)
assert small == [0, 1, 1, "cpu", "disk", "disk"], "the behaviour has changed"
assert roomy == [0, 1, 1, 2, 2, 3], "the behaviour has changed"
PY
