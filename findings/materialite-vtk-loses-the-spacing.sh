#!/usr/bin/env bash
# A Material of materialite has a spacing and an origin, and export_to_vtk() writes a grid of VTK. One would guess that the
# grid has both. It has a spacing of 1 and an origin of 0; the places of the points stand beside the fields, as columns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install materialite==0.1.4 pyvista==0.49.1
cd "$folder"
v/bin/python - <<'PY'
from importlib.metadata import version

import pyvista
from materialite import Material

material = Material(dimensions=[3, 4, 5], spacing=[0.1, 0.2, 0.3], origin=[1, 2, 3]).create_uniform_field("phase", 1)
material.export_to_vtk("a.vtk")
grid = pyvista.read("a.vtk")
print("materialite", version("materialite"), "writes spacing", material.spacing.tolist(), "and origin", material.origin.tolist())
print("PyVista reads spacing", grid.spacing, "and origin", grid.origin, "and the columns", grid.cell_data.keys())
assert grid.spacing == (1, 1, 1) and grid.origin == (0, 0, 0), "the behaviour has changed"
assert abs(grid.cell_data["z"].max() - 4.2) < 1e-5, "the behaviour has changed"
PY
