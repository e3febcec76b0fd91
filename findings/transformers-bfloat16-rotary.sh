#!/usr/bin/env bash
# A Llama has the same weights in bf16 by from_pretrained(dtype=torch.bfloat16) and by model.to(torch.bfloat16).
# One would guess that its output is the same, too. But to() also rounds the frequencies of the rotary embedding, which
# are a buffer and no weight. At position 4000 an angle is off by 0.7 radians. Back to float() they stay rounded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 transformers==5.24.0
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import torch, transformers
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
LlamaForCausalLM(LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                             vocab_size=128, max_position_embeddings=4096)).save_pretrained("model")
loaded = LlamaForCausalLM.from_pretrained("model", dtype=torch.bfloat16)
moved = LlamaForCausalLM.from_pretrained("model").to(torch.bfloat16)
frequency = [one.model.rotary_emb.inv_freq for one in (loaded, moved)]
off = 4000 * (frequency[0].float() - frequency[1].float()).abs().max().item()
tokens = torch.arange(2000)[None] % 128
with torch.no_grad():
    logits = [one(tokens).logits.float() for one in (loaded, moved)]
print("torch", torch.__version__, "transformers", transformers.__version__)
print("  weights equal:", same := all(torch.equal(a, b) for a, b in zip(loaded.parameters(), moved.parameters())))
print("  frequencies:", [str(one.dtype) for one in frequency], f"angle at position 4000 off by {off:.2f}")
print(f"  logits differ by {(logits[0] - logits[1]).abs().max().item():.4f}, their deviation is {logits[0].std().item():.4f}")
again = moved.float().model.rotary_emb.inv_freq
assert same and frequency[0].dtype == torch.float32 and frequency[1].dtype == torch.bfloat16, "the behaviour has changed"
assert 0.5 < off < 1 and not torch.equal(logits[0], logits[1]) and torch.equal(again, frequency[1].float()), "the behaviour has changed"
PY
