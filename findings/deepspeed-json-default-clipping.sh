#!/usr/bin/env bash
# A JSON file configures DeepSpeed. One would guess that gradients are clipped only where the file asks for it, and that a
# misspelt key is refused. Gradients are clipped to a norm of 1.0 unless the file says 0. A misspelt key at the top of the
# file is taken in silence ("gradient_cliping"), so the norm stays 1.0; inside of a section it is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install torch==2.15.0 deepspeed==0.19.8
cd "$folder"
v/bin/python - > log 2>&1 <<'PY' || { cat log; exit 1; }
import deepspeed
from deepspeed.runtime.config import DeepSpeedConfig


def clipping(**settings):
    return DeepSpeedConfig({"train_batch_size": 1, **settings}).gradient_clipping


def refused(**settings):
    try:
        clipping(**settings)
    except Exception as error:
        return type(error).__name__
    return "accepted"


print("SEEN DeepSpeed", deepspeed.__version__)
norms = [clipping(), clipping(gradient_clipping=0.0), clipping(gradient_cliping=0.0)]
print("SEEN   norm of gradients: without a key %g, gradient_clipping 0 %g, misspelt %g" % tuple(norms))
inside = refused(zero_optimization={"stage": 2, "overlap_com": True})
print("SEEN   a misspelt key in zero_optimization:", inside)
assert norms == [1.0, 0.0, 1.0], "the behaviour has changed"
assert inside == "ValidationError", "the behaviour has changed"
PY
sed -n 's/^SEEN //p' log
