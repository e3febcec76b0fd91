#!/usr/bin/env bash
# PyVista writes a picture (one plane) and a volume (several planes) as TIFF and reads them again. One would guess that both
# come back as they were, or that both are mirrored. The picture is the same; each plane of the volume is mirrored in y.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install pyvista==0.49.1 vtk==9.7.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import numpy
import pyvista
import vtk

print("PyVista", pyvista.__version__, "VTK", vtk.vtkVersion.GetVTKVersion())
for planes in (1, 5):
    grid = pyvista.ImageData(dimensions=(4, 3, planes))
    grid.point_data["v"] = numpy.arange(12 * planes, dtype="u1")
    grid.save("a.tif")
    read = pyvista.read("a.tif")
    back = numpy.asarray(read.point_data[read.point_data.keys()[0]]).reshape(planes, 3, 4)
    given = numpy.asarray(grid.point_data["v"]).reshape(planes, 3, 4)
    print(f"  {planes} plane(s): rows of the first plane were {given[0].tolist()}, are {back[0].tolist()}")
    wanted = given if planes == 1 else given[:, ::-1]
    assert numpy.array_equal(back, wanted), "the behaviour has changed"
PY
