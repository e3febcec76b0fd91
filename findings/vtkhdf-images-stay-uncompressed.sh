#!/usr/bin/env bash
# vtkHDFWriter has a level of compression and a size of chunks. One would guess that both hold for image data, which is what
# volumes of voxels are. They hold for points and meshes; the array of an image is written whole and uncompressed, without a
# message. A volume of zeros takes one byte a voxel at level 9.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install vtk==9.7.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY'
import os

import numpy
import vtk
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkIOHDF import vtkHDFWriter

image = vtk.vtkImageData()
image.SetDimensions(65, 65, 65)
voxels = numpy_to_vtk(numpy.zeros(64**3, "u1"), deep=1)
voxels.SetName("phase")
image.GetCellData().AddArray(voxels)
points = vtk.vtkPoints()
points.SetData(numpy_to_vtk(numpy.zeros((100000, 3), "f4"), deep=1))
cloud = vtk.vtkPolyData()
cloud.SetPoints(points)
print("VTK", vtk.vtkVersion.GetVTKVersion())
sizes = {}
for name, data in (("image of 64^3 zeros", image), ("100,000 points", cloud)):
    for level in (0, 9):
        writer = vtkHDFWriter()
        writer.SetInputData(data)
        writer.SetFileName("a.vtkhdf")
        writer.SetCompressionLevel(level)
        writer.SetChunkSize(1000)
        writer.Write()
        sizes[name, level] = os.path.getsize("a.vtkhdf")
        print(f"  {name}, level {level}: {sizes[name, level]} bytes")
assert sizes["image of 64^3 zeros", 0] == sizes["image of 64^3 zeros", 9] > 64**3, "the behaviour has changed"
assert sizes["100,000 points", 9] < sizes["100,000 points", 0] / 5, "the behaviour has changed"
PY
