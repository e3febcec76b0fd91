#!/usr/bin/env bash
# tifffile writes a volume of grey planes for ImageJ. One would guess that ImageJ and other readers see five slices. Without
# axes in the metadata the planes are declared as channels, also in an OME-TIFF, and also 300 of them. A reader that keeps
# channels apart then sees an image of five colours. metadata={"axes": "ZYX"} declares slices.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install tifffile==2026.3.3 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import numpy
import tifffile

print("tifffile", tifffile.__version__)
axes = {}
for planes in (5, 300):
    volume = numpy.zeros((planes, 8, 9), "u1")
    for name, settings in (("imagej", {"imagej": True}), ("ome", {"ome": True}), ("zyx", {"imagej": True, "metadata": {"axes": "ZYX"}})):
        tifffile.imwrite("a.tif", volume, **settings)
        with tifffile.TiffFile("a.tif") as file:
            axes[planes, name] = file.series[0].axes
            said = {key: file.imagej_metadata[key] for key in ("channels", "slices") if key in (file.imagej_metadata or {})}
        print(f"  {planes} planes, {name}: axes {axes[planes, name]} {said or ''}")
for planes in (5, 300):
    found = [axes[planes, name] for name in ("imagej", "ome", "zyx")]
    assert found == ["CYX", "CYX", "ZYX"], "the behaviour has changed"
PY
