#!/usr/bin/env bash
# An added token of tokenizers that is special and normalised decodes to its normalised text, and skip_special_tokens leaves it in.
# One would guess that decoding gives the token's own text, and that the flag drops it, as it does where normalized is False.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
import tokenizers
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

print("tokenizers", tokenizers.__version__)


def decoded(normalized):
    t = Tokenizer(models.WordPiece({"[UNK]": 0, "grain": 1, "size": 2}, unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    t.add_special_tokens([AddedToken("[Phase]", normalized=normalized)])
    ids = t.encode("grain [Phase] size").ids
    return ids, t.decode(ids, skip_special_tokens=False), t.decode(ids, skip_special_tokens=True)


plain, changed = decoded(False), decoded(True)
print("as written:", plain)
print("normalised:", changed)
assert plain == ([1, 3, 2], "grain [Phase] size", "grain size"), "a plain special token"
assert changed == ([1, 3, 2], "grain [phase] size", "grain [phase] size"), "a special token that the normaliser changes"
PYTHON
