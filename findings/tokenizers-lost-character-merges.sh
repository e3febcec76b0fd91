#!/usr/bin/env bash
# A BPE of the `tokenizers` package without an unknown token drops a character that is not in its vocabulary. One would
# guess that what stands before and after it stays apart. It vanishes before pairs are merged, so its neighbours become one
# token: "a?b" is the single token "ab", whose span is (0, 2) of the text, that is "a?".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install tokenizers==0.23.3
cd "$folder"
v/bin/python - <<'PY'
import tokenizers
from tokenizers import Tokenizer, models

tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))
print("tokenizers", tokenizers.__version__)
seen = {}
for text in ("ab", "a?b", "a??b", "???"):
    found = tokenizer.encode(text)
    seen[text] = (found.tokens, found.offsets)
    print(f"  {text!r}: tokens {found.tokens}, spans {found.offsets}")
assert seen["a?b"] == (["ab"], [(0, 2)]) and seen["a??b"][0] == ["ab"], "the behaviour has changed"
assert seen["???"] == ([], []), "the behaviour has changed"
PY
