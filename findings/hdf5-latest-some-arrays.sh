#!/usr/bin/env bash
# h5py 3.16 (HDF5 2.0) writes with libver="latest"; h5py 3.8 (HDF5 1.12) reads.
# One would guess that an older HDF5 opens such a file or not. It opens the file and a plain array in it. A Boolean and a
# compressed array beside it raise KeyError, as a missing name does. With libver="v114" all three can be read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/new" && "$folder/new/bin/pip" -q install h5py==3.16.0 numpy==2.4.2
python3 -m venv "$folder/old" && "$folder/old/bin/pip" -q install h5py==3.8.0 numpy==1.26.4
cd "$folder"
new/bin/python - <<'PY'
import h5py, numpy as np
print("writer: h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
a = np.arange(12).reshape(3, 4)
for word in ("latest", "v114"):
    with h5py.File(word + ".h5", "w", libver=(word, word)) as file:
        file["plain"], file["boolean"] = a, a > 3
        file.create_dataset("compressed", data=a, compression="gzip", chunks=(1, 4))
PY
old/bin/python - <<'PY'
import h5py
print("reader: h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)
want = {("latest", "boolean"): "KeyError", ("latest", "compressed"): "KeyError"}
for word in ("latest", "v114"):
    with h5py.File(word + ".h5") as file:
        for name in ("plain", "boolean", "compressed"):
            try:
                file[name][()]
                got, text = "read", ""
            except Exception as error:
                got, text = type(error).__name__, str(error)
            print(f"  {word:7s}{name:11s}{got:9s} {text}")
            assert name in file.keys() and got == want.get((word, name), "read"), "the behaviour has changed"
PY
