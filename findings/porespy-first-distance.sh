#!/usr/bin/env bash
# PoreSpy's two_point_correlation() gathers pairs in 100 bins by default. One would guess that the first value belongs to
# distance 0 and is the volume fraction, in large images as in small ones. In an image of 400 pixels a bin is 2 wide: the
# first one mixes the pixel itself with its neighbours, and is a third of the fraction for stripes. Nobody asked for coarse bins.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install porespy==3.2.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import warnings

warnings.filterwarnings("ignore")
import numpy
import porespy

print("PoreSpy", porespy.__version__)
first = []
for edge in (40, 400):
    stripes = numpy.zeros((edge, edge), bool)
    stripes[::4] = True  # a quarter of the rows
    found = porespy.metrics.two_point_correlation(stripes)
    first.append(float(found.probability_scaled[0]))
    print(f"  {edge} x {edge}, fraction {stripes.mean():g}: distances {found.distance[:3]}, first probability {first[-1]:.4f}")
assert abs(first[0] - 0.25) < 1e-6 and abs(first[1] - 0.25 / 3) < 1e-6, "the behaviour has changed"
PY
