#!/usr/bin/env bash
# orix saves a map of two phases as .ang (TSL) and loads it again. One would guess that the phases come back. Their numbers
# are one higher (the format counts from 1, and nothing counts back), and the point groups m-3m and 6/mmm have become the
# rotations alone, 432 and 622. The same map through orix's .h5 comes back as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install orix==0.15.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import numpy
import orix
from orix import io
from orix.crystal_map import CrystalMap, Phase, PhaseList
from orix.quaternion import Rotation

y, x = numpy.mgrid[:2, :4]
phases = PhaseList([Phase("fcc", point_group="m-3m"), Phase("hcp", point_group="6/mmm")])
crystal_map = CrystalMap(
    rotations=Rotation.identity(8), phase_id=numpy.arange(8) % 2, x=x.ravel() * 1.0, y=y.ravel() * 1.0, phase_list=phases)
print("orix", orix.__version__)
seen = {}
for ending in ("h5", "ang"):
    io.save("a." + ending, crystal_map, overwrite=True)
    read = io.load("a." + ending)
    groups = [phase.point_group.name for _, phase in read.phases]
    seen[ending] = (sorted(set(read.phase_id.tolist())), groups)
    print(f"  .{ending}: numbers {seen[ending][0]}, point groups {groups}")
assert seen["h5"] == ([0, 1], ["m-3m", "6/mmm"]), "the behaviour has changed"
assert seen["ang"] == ([1, 2], ["432", "622"]), "the behaviour has changed"
PY
