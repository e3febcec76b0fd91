"""The main job in small: a micrograph that the program makes itself and a volume like it, by defaults. As NumPy finds it:
binary, the volume fraction exact to one voxel, S2 of the mean slice of every direction within a few thousandths.

    quality.py MESOFORGE MPIEXEC       exit status 77: NumPy is missing
"""
import os
import sys
import tempfile

from runs import check, finish, measure, run, some
from samples import np

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
LAG, MOST = 8, 2e-3


def s2(slices):
    """Mean of the correlations of slices [n][nu][nv], periodic, at the lags -L+1 .. L-1."""
    power = np.abs(np.fft.fft2(slices)) ** 2
    all_lags = np.fft.ifft2(power).real.mean(0) / slices[0].size
    lags = np.arange(1 - LAG, LAG)
    return all_lags[np.ix_(lags, lags)]


def judge(name, target, volume, said):
    check(volume.dtype == np.uint8 and set(np.unique(volume)) == {0, 1}, f"{name}: values {np.unique(volume)}")
    off = abs(volume.sum() - target.mean() * volume.size)
    check(off < 1, f"{name}: the volume fraction is off by {off} voxels")
    want = s2(target[None].astype(float))
    for axis, key in enumerate("zyx"):
        rms = np.sqrt(np.mean((s2(np.moveaxis(volume, axis, 0).astype(float)) - want) ** 2))
        check(rms < MOST, f"{name}: S2 normal to {key} is off by {rms:.2e}")
        check(abs(rms - said["s2_rms_error"]["1"][key]) < 1e-5, f"{name}: {key}: {rms} against {said['s2_rms_error']}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    status, _, err = run(PROGRAM, "synth", "--kind", "gaussian", "--size", 64, 64, "--volume-fraction", 0.4,
                         "--correlation-length", 2, "--exact", "--seed", 1, "--output", "sample.npy")
    check(status == 0, f"synth: {err}")
    for ranks in some((2, 1)):
        said = measure(PROGRAM, "match", "sample.npy", "--size", 48, 48, 48, "--limit_to", LAG, "--output", "volume.npy",
                       ranks=ranks, mpiexec=MPIEXEC)
        if said:
            judge(f"{ranks} ranks", np.load("sample.npy"), np.load("volume.npy"), said)
finish("quality")
