#!/usr/bin/env bash
# PoreSpy's porosity() takes a mask for a sample that does not fill its array, as a round core. One would guess, and its text
# says, that voxels outside of the mask do not count, as those of value 2. They count as solid: a core that is all pore has a
# porosity of 0.5 where its mask covers half of the array. The value 2 in place of the mask gives 1.
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

pores = numpy.ones((40, 40), int)
inside = numpy.zeros((40, 40), bool)
inside[:, :20] = True
masked = porespy.metrics.porosity(pores, mask=inside)
marked = porespy.metrics.porosity(numpy.where(inside, pores, 2))
print("PoreSpy", porespy.__version__)
print(f"  all pore, half of the array in the mask: {masked:g}; the other half set to 2: {marked:g}")
assert (masked, marked) == (0.5, 1.0), "the behaviour has changed"
PY
