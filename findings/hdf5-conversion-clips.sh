#!/usr/bin/env bash
# Reading an HDF5 array as another type (h5py: astype(), read_direct()) raises nothing where values do not fit.
# One would guess NumPy's rule, since h5py calls it astype(): there integers wrap. HDF5 clips to the range of the type and
# cuts fractions off. So -1, which often means "no label", becomes the first class.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install h5py==3.16.0 numpy==2.4.2
cd "$folder"
v/bin/python - <<'PY'
import h5py, numpy as np
print("h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version, "NumPy", np.__version__)
whole, real = np.array([-1, 0, 255, 256, 300]), np.array([-1.7, 0.99, 2.5, 300.2])
with h5py.File("labels.h5", "w") as file:
    file["whole"], file["real"] = whole, real
with h5py.File("labels.h5") as file:
    got, numpy = file["whole"].astype("u1")[:].tolist(), whole.astype("u1").tolist()
    cut = np.empty(4, "u1")
    file["real"].read_direct(cut)
print("  whole", whole.tolist(), "as bytes: h5py", got, "NumPy", numpy)
print("  real ", real.tolist(), "as bytes: h5py", cut.tolist())
assert got == [0, 0, 255, 255, 255] and numpy == [255, 0, 255, 0, 44] and cut.tolist() == [0, 0, 2, 255], "the behaviour has changed"
PY
