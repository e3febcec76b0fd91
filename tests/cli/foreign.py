"""Files that claim to be ours and are not sound, and values at the ends of their range: one sentence, or an answer.

    foreign.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from hdf5 import h5py
from runs import check, finish, run
from samples import np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]


def altered(folder, name, attribute, value):
    path = os.path.join(folder, name)
    shutil.copy(os.path.join(folder, "volume.h5"), path)
    with h5py.File(path, "r+") as f:
        f["microstructure/phase"].attrs[attribute] = value
    return path


def refused(word, *command):
    status, out, err = run(PROGRAM, *command)
    check(status == 3 and not out and word in err, f"{command}: {status} {out[:200]} {err[-400:]}")


def of_others(folder):
    """HDF5 of other programs: behind a user block, without a name, through a link, of nothing."""
    for block in (512, 2048):
        path = os.path.join(folder, f"block{block}.mat")
        with h5py.File(path, "w", userblock_size=block) as f:
            f["phase"] = (np.arange(256).reshape(16, 16) % 3 == 0).astype(np.uint8)
        with open(path, "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file" if block == 512 else b"<?xml version='1.0'?>")
        status, out, err = run(PROGRAM, "info", path, "--json")
        check(status == 0 and json.loads(out)["dataset"] == "/phase" and "its only array, /phase, is taken" in err, f"user block: {out} {err}")
        status, out, err = run(PROGRAM, "info", f"{path}:phase", "--json")
        said = json.loads(out) if status == 0 else {}
        check(said.get("shape") == [16, 16] and [p["voxels"] for p in said["phases"]] == [170, 86], f"{path}:phase: {out} {err}")
        status, _, err = run(PROGRAM, "smooth", f"{path}:phase", "--strength", 0.5, "--output", f"{folder}/smooth.npy")
        check(status == 0, f"smooth {path}:phase: {err}")
    with h5py.File(os.path.join(folder, "small.h5"), "w") as f:
        f["a"], f["b"] = np.arange(9), "text"
    path = os.path.join(folder, "odd.h5")
    with h5py.File(path, "w") as f:
        f["d"] = np.zeros((0, 3), np.uint8)
        f["g/a"] = np.eye(8, dtype=np.uint8)
        f["soft"] = h5py.SoftLink("/g")
        f["gone"] = h5py.SoftLink("none")
        f["out"] = h5py.ExternalLink("block512.mat", "/phase")
        f["lost"] = h5py.ExternalLink("none.h5", "/phase")
        f.create_dataset("lzf", data=np.eye(8), compression="lzf")
        refused("is locked: another program has it open for writing", "info", f"{path}:g/a")
    refused("no values (an axis has no extent) in /d", "characterize", f"{path}:d")
    refused(f"/soft is a soft link, which is not followed; try: {path}:g/a", "characterize", f"{path}:soft/a")
    refused("/gone is a soft link to none, which is not there", "characterize", f"{path}:gone")
    refused(f"no link is followed; try: {folder}/block512.mat:phase", "characterize", f"{path}:out")
    refused(f"/lost leads to /phase of '{folder}/none.h5', which is not there", "characterize", f"{path}:lost")
    refused("name one as FILE:ARRAY: g/a, lzf", "smooth", path, "--output", f"{folder}/no.npy")
    refused("holds no array of two axes or more", "smooth", path.replace("odd", "small"), "--output", f"{folder}/no.npy")
    told = run(PROGRAM, "info", path)
    check("/lzf: /lzf is compressed by lzf" in told.out and "/g/a: uint8, 8 x 8" in told.out, f"a list: {told}")
    with h5py.File(path, "w", libver="latest") as f:
        f["a"] = np.eye(8, dtype=np.uint8)
        f.flush()
        shutil.copy(path, f"{path}.crashed")
    refused("h5clear -s", "info", f"{path}.crashed:a")
    for kind in ("f2", "f4", "f8", "u1"):
        status, out, err = run(PROGRAM, "info", save(folder, "labels.npy", (np.arange(64).reshape(8, 8) % 2).astype(kind)), "--json")
        said = json.loads(out) if status == 0 else {}
        check(said.get("kind") == "microstructure" and [p["label"] for p in said["phases"]] == [0, 1], f"labels of {kind}: {out} {err}")


def vtkhdf(path, turn=(1, 0, 0, 0, 1, 0, 0, 0, 1), arrays=("phase",)):
    """Image data of another program: {x, y, z} of its group."""
    with h5py.File(path, "w") as f:
        group = f.create_group("VTKHDF")
        group.attrs["Type"] = np.bytes_("ImageData")
        group.attrs["WholeExtent"], group.attrs["Spacing"], group.attrs["Direction"] = np.array([0, 8, 0, 6, 0, 4]), np.array([0.25, 0.5, 1.5]), np.array(turn, "f8")
        for name in arrays:
            group[f"CellData/{name}"] = (np.arange(4 * 6 * 8).reshape(4, 6, 8) % 2).astype("u1")
    return path


def of_vtk(folder):
    """The only array is meant where none is named, and its spacing is read."""
    path = vtkhdf(f"{folder}/cells.vtkhdf")
    for given in (path, f"{path}:VTKHDF/CellData/phase"):
        status, out, err = run(PROGRAM, "info", given, "--json")
        check(status == 0 and json.loads(out)["spacing"] == [1.5, 0.5, 0.25], f"{given}: {out} {err}")
        check(("its only array, /VTKHDF/CellData/phase, is taken" in err) == (given == path), f"{given}: {err}")
        status, out, err = run(PROGRAM, "smooth", given, "--strength", 0.1, "--output", f"{folder}/o.h5")
        with h5py.File(f"{folder}/o.h5") as f:
            check(list(f["microstructure/phase"].attrs["spacing"]) == [1.5, 0.5, 0.25], f"{given}: {err}")
    with h5py.File(path, "r+") as f:
        f["VTKHDF/CellData/phase"].attrs["scale_factor"] = 2.0
    check("its calibration (ImageJ, NetCDF) was left out" in run(PROGRAM, "info", path).err, "a scale factor")
    with h5py.File(path, "r+") as f:
        f["VTKHDF"].attrs["WholeExtent"] = [0, 8, 0, 5, 0, 4]
    refused("has 6 values along y, and WholeExtent says 5", "smooth", path, "--output", f"{folder}/no.npy")
    with h5py.File(path, "r+") as f:
        f["VTKHDF"].attrs["WholeExtent"] = [0, 8, 0, 6, 0, 4]
    for marks, warns in (("0 0 0 0", False), ("0 32 0 0", True)):
        with open(f"{folder}/ghosts.vti", "w") as f:
            f.write('<?xml version="1.0"?>\n<VTKFile type="ImageData"><ImageData WholeExtent="0 2 0 2 0 0"><Piece Extent="0 2 0 2 0 0"><CellData>' + "".join(
                f'<DataArray type="UInt8" Name="{name}" format="ascii">{text}</DataArray>' for name, text in (("p", "0 1 1 0"), ("vtkGhostType", marks))) + "</CellData></Piece></ImageData></VTKFile>")
        status, _, err = run(PROGRAM, "info", f"{folder}/ghosts.vti")
        check(status == 0 and ("try: --mask FILE:vtkGhostType" in err) == warns, f"ghosts {marks}: {err}")
    with h5py.File(path, "r+") as f:
        f["VTKHDF"].attrs["Spacing"] = [0.5, 0.5]
    refused("Spacing of /VTKHDF is not three numbers (x y z)", "smooth", path, "--output", f"{folder}/no.npy")
    refused("is turned in space", "smooth", vtkhdf(path, (0, 1, 0, 1, 0, 0, 0, 0, 1)), "--output", f"{folder}/no.npy")
    refused("name one as FILE:ARRAY: VTKHDF/CellData/a, VTKHDF/CellData/b", "smooth", vtkhdf(path, arrays="ab"), "--output", f"{folder}/no.npy")
    with h5py.File(path, "w") as f:
        f["samples/x"] = np.zeros((9, 4, 4), "u1")
    refused("is a dataset of samples", "smooth", path, "--output", f"{folder}/no.npy")
    check("dataset of 9 samples" in run(PROGRAM, "info", path).out, "a dataset of h5py")
    os.mkdir(f"{folder}/a.zarr")
    open(f"{folder}/a.zarr/zarr.json", "w").close()
    refused("is a folder of Zarr", "info", f"{folder}/a.zarr")


def parted(folder):
    """Every rank finds another file under the name: of one shape, but labels here and an indicator there."""
    command = [MPIEXEC, "-q"]
    for rank, kind in enumerate((np.float32, np.uint8)):
        own = os.path.join(folder, f"rank{rank}")
        os.mkdir(own)
        save(own, "image.npy", (np.arange(144).reshape(12, 12) % 3 == 0).astype(kind))
        command += [":"] * rank + ["-n", "1", "-wdir", own, PROGRAM, "characterize", "image.npy", "--grey_values",
                                   "--limit_to", "2"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        lines = [line for line in done.stderr.splitlines() if line.startswith("mesoforge:")]
        check(done.returncode == 3 and len(lines) == 1 and "different files" in lines[0], f"parted: {done}")
    except subprocess.TimeoutExpired:
        check(False, "parted: no end")


def main(folder):
    status, _, err = run(PROGRAM, "synth", "--size", 16, 12, "--output", f"{folder}/volume.h5")
    check(status == 0, err)
    for name, attribute, value in (("nan.h5", "spacing", [np.nan, 1.0]), ("zero.h5", "spacing", [1.0, 0.0]),
                                   ("twice.h5", "labels", [3, 3])):
        path = altered(folder, name, attribute, value)
        for verb in (("info", "--json"), ("info",), ("characterize", "--limit_to", 4, "--data_folder", folder)):
            refused(attribute, *verb, path)
    status, out, err = run(PROGRAM, "info", f"{folder}/nan.h5", f"{folder}/volume.h5:/none", f"{folder}/volume.h5", "--json")
    told = json.loads(out)
    check(status == 3 and "2 of 3 files cannot be read" in err, f"the sound one of three: {status} {err}")
    check(["error" in t for t in told] == [True, True, False] and told[2]["shape"] == [16, 12], f"{told}")
    check(set(told[0]) == {"file", "error"} and "spacing" in told[0]["error"] and "/none" in told[1]["error"], f"{told[:2]}")
    check(told[1]["file"] == told[2]["file"] == f"{folder}/volume.h5", f"a file by its name: {told[1:]}")
    status, out, _ = run(PROGRAM, "info", altered(folder, "escape.h5", "unit", "\x1b[2Jm"))
    check(status == 0 and "\x1b" not in out and "?[2Jm" in out, f"a terminal is steered: {out!r}")
    parted(folder)
    of_others(folder)
    of_vtk(folder)
    plain = save(folder, "plain.npy", np.zeros((8, 8), np.uint8))
    for verb in ("info", "characterize"):
        status, _, err = run(PROGRAM, verb, plain, "--dataset", "x")
        check(status == 2 and "'x' is asked for" in err, f"{verb} --dataset of .npy: {status} {err}")
    big = save(folder, "big.npy", np.full((4, 4), 1e308))
    status, out, err = run(PROGRAM, "info", big, "--json")
    check(status == 0 and abs(json.loads(out)["mean"] / 1e308 - 1) < 1e-15, f"big: {status} {out} {err}")
    wide = save(folder, "wide.npy", np.where(np.arange(64).reshape(8, 8) % 3, 1e308, -1e308))
    refused("histogram", "characterize", wide, "--threshold", "otsu", "--limit_to", 2, "--data_folder", folder)


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
finish("foreign")
