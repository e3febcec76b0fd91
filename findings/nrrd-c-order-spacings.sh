#!/usr/bin/env bash
# pynrrd writes a volume with index_order="C": its shape is turned round on the way into the file, whose first axis is the
# fastest. One would guess that the spacings of the same call are turned round, too. They are not: the spacing that was
# given for the first axis of the array is that of the last. SimpleITK then reads voxels of other proportions. pynrrd's own
# read(index_order="C") gives the array back as it was and the spacings as they were, so a round trip shows nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install pynrrd==1.1.3 SimpleITK==2.5.7 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import nrrd
import numpy
import SimpleITK

volume = numpy.zeros((5, 7, 9), dtype="u1")
nrrd.write("a.nrrd", volume, {"spacings": [0.3, 0.2, 0.1]}, index_order="C")
image = SimpleITK.ReadImage("a.nrrd")
back, header = nrrd.read("a.nrrd", index_order="C")
print("pynrrd", nrrd.__version__, "SimpleITK", SimpleITK.__version__)
print("  written with index_order='C': shape", volume.shape, "spacings [0.3, 0.2, 0.1], so 9 voxels are 0.1 apart")
print("  SimpleITK: size", image.GetSize(), "spacing", image.GetSpacing(), "so 9 voxels are 0.3 apart")
print("  pynrrd: shape", back.shape, "spacings", header["spacings"], "sizes", header["sizes"])
assert image.GetSize() == (9, 7, 5) and image.GetSpacing() == (0.3, 0.2, 0.1), "the behaviour has changed"
assert back.shape == (5, 7, 9) and list(header["spacings"]) == [0.3, 0.2, 0.1], "the behaviour has changed"
assert list(header["sizes"]) == [9, 7, 5], "the behaviour has changed"
PY
