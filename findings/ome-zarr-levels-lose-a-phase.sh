#!/usr/bin/env bash
# ome-zarr's write_image() adds coarser levels to an image. One would guess that a level of a microstructure of phases 0 and 1
# has about the same fraction. Averages of unsigned numbers are cut, not rounded: phase 1 is gone at level 1, where half of
# the pixels had it. The same image with 255 in place of 1, or as float32, keeps its fraction.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install ome-zarr==0.18.0 zarr==3.1.6 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
from importlib.metadata import version

import numpy
import zarr
from ome_zarr.writer import write_image

phases = (numpy.random.default_rng(1).random((256, 256)) < 0.5).astype("u1")
print("ome-zarr", version("ome-zarr"), "zarr", zarr.__version__)
fractions = []
for kind, image, scale in (("0 and 1", phases, 1), ("0 and 255", phases * 255, 255), ("float32", phases.astype("f4"), 1)):
    group = zarr.open_group(f"{kind}.zarr", mode="w")
    write_image(image, group, axes="yx")
    fractions.append([float(group[level][:].mean()) / scale for level in ("s0", "s1")])
    print(f"  {kind}: fraction at level 0 {fractions[-1][0]:.3f}, at level 1 {fractions[-1][1]:.3f}")
assert fractions[0][0] > 0.49 and fractions[0][1] == 0, "the behaviour has changed"
assert all(abs(fine - coarse) < 0.01 for fine, coarse in fractions[1:]), "the behaviour has changed"
PY
