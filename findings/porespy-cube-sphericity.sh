#!/usr/bin/env bash
# PoreSpy measures regions of a volume. One would guess that a cube of 10 x 10 x 10 voxels has a surface of about 600 and a
# sphericity below 1. regionprops_3D() says 6.93, the area of eight triangles that cut off the corners, and 69.8. The faces
# are missing. region_surface_areas() of the same package says 542 for the same cube.
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

volume = numpy.zeros((30, 30, 30), int)
volume[10:20, 10:20, 10:20] = 1
region = porespy.metrics.regionprops_3D(volume)[0]
area = float(porespy.metrics.region_surface_areas(volume)[0])
print("PoreSpy", porespy.__version__)
print(f"  regionprops_3D: volume {region.volume:g}, surface_area {region.surface_area:.3f}, sphericity {region.sphericity:.1f}")
print(f"  region_surface_areas: {area:.1f}")
assert abs(region.surface_area - 4 * 3**0.5) < 1e-3 and region.sphericity > 60, "the behaviour has changed"
assert 500 < area < 600, "the behaviour has changed"
PY
