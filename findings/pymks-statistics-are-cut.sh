#!/usr/bin/env bash
# PyMKS computes the two-point statistics of a periodic sample. One would guess one value for each shift, as many as the
# sample has voxels. The result is cut to an odd square whose edge fits the shortest side: 6 x 6 gives 5 x 5 (the shift by
# half of the sample is gone), 4 x 6 gives 3 x 3, and 11 x 7 gives 7 x 7. A long sample loses its long shifts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install pymks==0.4.1 pyarrow==26.0.1
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import warnings

warnings.filterwarnings("ignore")
from importlib.metadata import version

import numpy
from pymks import two_point_stats

print("PyMKS", version("pymks"))
found = {}
for shape in ((5, 5), (6, 6), (4, 6), (11, 7)):
    sample = numpy.random.RandomState(0).randint(0, 2, (1, *shape)).astype(float)
    found[shape] = numpy.asarray(two_point_stats(sample, sample)).shape[1:]
    print(f"  sample of {shape}: statistics of {found[shape]}")
assert list(found.values()) == [(5, 5), (5, 5), (3, 3), (7, 7)], "the behaviour has changed"
PY
