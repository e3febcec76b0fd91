#!/usr/bin/env bash
# config.json of a GPT-2 says `"tie_word_embeddings": true`, and model.safetensors holds a `lm_head.weight` that differs from
# the embedding. One would guess that the configuration decides: the head is the embedding, or the file is refused. The
# model that transformers loads has two matrices, while its configuration still says that they are one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 transformers==5.24.0 safetensors==0.8.0
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import json
import warnings

warnings.filterwarnings("ignore")
import transformers
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

transformers.logging.set_verbosity_error()
GPT2LMHeadModel(GPT2Config(vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=2)).save_pretrained("m")
weights = load_file("m/model.safetensors")
alone = GPT2LMHeadModel.from_pretrained("m")
weights["lm_head.weight"] = weights["transformer.wte.weight"] * 2
save_file(weights, "m/model.safetensors", metadata={"format": "pt"})
both = GPT2LMHeadModel.from_pretrained("m")


def tied(model):
    return model.lm_head.weight is model.transformer.wte.weight


print("transformers", transformers.__version__)
print("  tie_word_embeddings in the file:", json.load(open("m/config.json"))["tie_word_embeddings"])
print("  without lm_head.weight in the file: tied", tied(alone))
print("  with it: tied", tied(both), "and model.config.tie_word_embeddings", both.config.tie_word_embeddings)
assert tied(alone) and not tied(both) and both.config.tie_word_embeddings, "the behaviour has changed"
PY
