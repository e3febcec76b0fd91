#!/usr/bin/env bash
# A tokenizer of the `tokenizers` package that adds [CLS] and [SEP] cuts a text to max_length tokens, marks included.
# One would guess that a limit below the number of marks is refused, or gives fewer tokens. It is dropped without a word:
# with max_length 3 and 2 a text of five words has 3 and 2 tokens, with 1 and 0 it has all 7.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install tokenizers==0.23.3
cd "$folder"
v/bin/python - <<'PY'
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

words = ["[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d", "e"]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
print("tokenizers", tokenizers.__version__)
counts = []
for limit in (4, 3, 2, 1, 0):
    tokenizer.enable_truncation(max_length=limit)
    tokens = tokenizer.encode("a b c d e").tokens
    counts.append(len(tokens))
    print(f"  max_length {limit}: {tokens}")
assert counts == [4, 3, 2, 7, 7], "the behaviour has changed"
PY
