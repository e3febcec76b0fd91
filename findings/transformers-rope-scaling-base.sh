#!/usr/bin/env bash
# A Llama whose base of the rotary embedding is 5000 is saved by transformers 5: config.json holds it in `rope_parameters`.
# Then a user adds the older key by hand, `"rope_scaling": {"rope_type": "linear", "factor": 2}`. One
# would guess that the model keeps its base and is scaled by 2. The added key replaces `rope_parameters` as a whole: the
# base is 10000, and no message says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 transformers==5.24.0
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import json
import warnings

warnings.filterwarnings("ignore")
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

transformers.logging.set_verbosity_error()
sizes = dict(vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
LlamaForCausalLM(LlamaConfig(**sizes, rope_theta=5000.0)).save_pretrained("m")
print("transformers", transformers.__version__)


def second_frequency():
    return float(LlamaForCausalLM.from_pretrained("m").model.rotary_emb.inv_freq[1])


saved = json.load(open("m/config.json"))
plain = second_frequency()
json.dump(saved | {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, open("m/config.json", "w"))
scaled = second_frequency()
print("  saved:", {key: value for key, value in saved.items() if "rope" in key})
print(f"  second frequency: {plain:.4f} as saved, {scaled:.4f} with rope_scaling")
print(f"  half of it for base 5000: {5000**-0.25 / 2:.4f}; for base 10000: {10000**-0.25 / 2:.4f}")
assert abs(plain - 5000**-0.25) < 1e-6 and abs(scaled - 10000**-0.25 / 2) < 1e-6, "the behaviour has changed"
PY
