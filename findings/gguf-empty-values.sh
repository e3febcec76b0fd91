#!/usr/bin/env bash
# The gguf package writes a key with an empty list or an empty text. One would guess that the file holds the key with an
# empty value, as the format allows. The key is left out and nothing is said, so a reader cannot tell "empty" from "never
# given": an empty chat template or an empty prefix becomes the reader's default.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install gguf==0.19.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import gguf
import numpy
from importlib.metadata import version

writer = gguf.GGUFWriter("a.gguf", "llama")
writer.add_array("a.list", [])
writer.add_string("a.text", "")
writer.add_string("a.full", "x")
writer.add_tensor("weight", numpy.zeros((2, 3), "f4"))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
keys = [key for key in gguf.GGUFReader("a.gguf").fields if key.startswith("a.")]
print("gguf", version("gguf"))
print("  written: a.list = [], a.text = '', a.full = 'x'; in the file:", keys)
assert keys == ["a.full"], "the behaviour has changed"
PY
