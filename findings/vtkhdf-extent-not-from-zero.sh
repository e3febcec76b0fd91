#!/usr/bin/env bash
# vtkHDFWriter writes image data whose extent does not begin with 0, as a part that was cut out of a larger volume. One
# would guess that vtkHDFReader of the same version reads the file. It takes the extent for a place in the data set, and
# returns the geometry without the array. It logs errors, and raises none: the output is there and has no values.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install vtk==9.7.0 numpy==2.4.6
cd "$folder"
v/bin/python - <<'PY' 2> /dev/null
import numpy
import vtk
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkIOHDF import vtkHDFReader, vtkHDFWriter

vtk.vtkObject.GlobalWarningDisplayOff()
print("VTK", vtk.vtkVersion.GetVTKVersion())
arrays = []
for extent in ((0, 9, 0, 7, 0, 5), (5, 14, 3, 10, -2, 3)):
    image = vtk.vtkImageData()
    image.SetExtent(*extent)
    values = numpy_to_vtk(numpy.arange(image.GetNumberOfCells(), dtype="f4"), deep=1)
    values.SetName("phase")
    image.GetCellData().AddArray(values)
    writer = vtkHDFWriter()
    writer.SetInputData(image)
    writer.SetFileName("a.vtkhdf")
    writer.Write()
    reader = vtkHDFReader()
    reader.SetFileName("a.vtkhdf")
    reader.Update()
    read = reader.GetOutput()
    arrays.append(read.GetCellData().GetNumberOfArrays())
    print(f"  written extent {extent}: read extent {read.GetExtent()}, arrays of cells {arrays[-1]}")
    assert read.GetExtent() == extent, "the behaviour has changed"
assert arrays == [1, 0], "the behaviour has changed"
PY
