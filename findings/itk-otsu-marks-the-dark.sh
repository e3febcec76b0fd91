#!/usr/bin/env bash
# SimpleITK finds a threshold by Otsu's method. One would guess that its mask is 1 above the threshold, as scikit-image's
# image > threshold_otsu(image), and as BinaryThreshold() of SimpleITK marks what lies in the given range. The mask of
# OtsuThreshold() is 1 for the dark pixels: phases are exchanged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install SimpleITK==2.5.7 scikit-image==0.26.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import numpy
import SimpleITK
from skimage.filters import threshold_otsu

grey = numpy.array([[10, 12, 198, 200]] * 4, "u1")
image = SimpleITK.GetImageFromArray(grey)
otsu = SimpleITK.GetArrayFromImage(SimpleITK.OtsuThreshold(image))
given = SimpleITK.GetArrayFromImage(SimpleITK.BinaryThreshold(image, 100, 255))
other = (grey > threshold_otsu(grey)).astype(int)
print("SimpleITK", SimpleITK.Version().VersionString())
print("  grey", grey[0], "OtsuThreshold", otsu[0], "BinaryThreshold(100, 255)", given[0], "scikit-image", other[0])
assert otsu[0].tolist() == [1, 1, 0, 0], "the behaviour has changed"
assert given[0].tolist() == other[0].tolist() == [0, 0, 1, 1], "the behaviour has changed"
PY
