#!/usr/bin/env bash
# accelerate takes sizes of memory as text. One would guess that "1gb" is "1GB", as "1gib" is "1GiB". A small b means bits
# here: "1gb" is 125,000,000 bytes, an eighth. A map of devices by max_memory={0: "20gb"} then leaves most of a GPU empty
# and sends layers to the processor or to the disk, without a message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 accelerate==1.15.0
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import warnings

warnings.filterwarnings("ignore")
import accelerate
import torch
from accelerate import infer_auto_device_map
from accelerate.utils import convert_file_size_to_int

print("accelerate", accelerate.__version__)
sizes = {text: convert_file_size_to_int(text) for text in ("1GB", "1gb", "1GiB", "1gib")}
print("  bytes:", sizes)
layers = torch.nn.Sequential(*[torch.nn.Linear(10, 10, bias=False) for _ in range(6)])  # 400 bytes each
maps = {text: infer_auto_device_map(layers, max_memory={0: text, "cpu": "1MB"}) for text in ("4KB", "4kb")}
for text, found in maps.items():
    print(f"  six layers of 400 bytes, max_memory {{0: {text!r}}}:", dict(found))
assert sizes == {"1GB": 10**9, "1gb": 125 * 10**6, "1GiB": 2**30, "1gib": 2**30}, "the behaviour has changed"
assert set(maps["4KB"].values()) == {0} and set(maps["4kb"].values()) == {"cpu"}, "the behaviour has changed"
PY
