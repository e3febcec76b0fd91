#!/usr/bin/env bash
# safetensors.numpy.save_file() writes the memory of an array as it lies, under the shape of the view. One would guess that
# it writes the values, as numpy.save() does. The transpose of a matrix, or a matrix in Fortran's order, comes back with
# its numbers in other places, and nothing is said. Weights of a convolution or of Conv1D are often such views.
# numpy.ascontiguousarray() before the call helps.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install safetensors==0.8.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import numpy
import safetensors
from safetensors.numpy import load_file, save_file

matrix = numpy.arange(6, dtype="f4").reshape(2, 3)
cases = {"transpose": matrix.T, "Fortran's order": numpy.asfortranarray(matrix)}
print("safetensors", safetensors.__version__, "numpy", numpy.__version__)
for name, array in cases.items():
    save_file({"w": array}, "a.safetensors")
    back = load_file("a.safetensors")["w"]
    print(f"  {name}: given {array.tolist()}, read back {back.tolist()}")
    assert back.shape == array.shape and not numpy.array_equal(back, array), "the behaviour has changed"
    save_file({"w": numpy.ascontiguousarray(array)}, "a.safetensors")
    assert numpy.array_equal(load_file("a.safetensors")["w"], array), "the behaviour has changed"
PY
