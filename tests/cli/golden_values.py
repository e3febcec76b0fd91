"""Descriptors under --compat mcrpy, as `characterize --export` writes them, against every value of the golden files: those of MCRpy 0.2.0's own
runs and those of its formulas (which also know the one true anchor of our Correlations).

    golden_values.py MESOFORGE FOLDER        exit status 77: no golden files, or no NumPy

FOLDER: that of the published values, or tests/data, whose values definitions.py computed of micrographs that synth makes.
"""
import os
import sys
import tempfile

import golden
from runs import check, finish, refuses, run
from samples import np

PROGRAM, SHARED = os.path.abspath(sys.argv[1]), sys.argv[2]
GRAMS = {"gram_mcrpy_anchor_2L": ["--compat", "mcrpy"], "gram_true_anchor_0": [], "gram_nonperiodic": ["--compat", "mcrpy", "--non_periodic"]}


def image(values):
    return golden.image(values, SHARED, PROGRAM, ".")


def exported(source, lag, kinds, *words):
    """{kind: array} of an image, [phase][level]..."""
    status, _, err = run(PROGRAM, "characterize", source, "--limit_to", lag, "--descriptor_types", *kinds, "--export",
                         *(f"{k}={k}.npy" for k in kinds), "--output", "t.h5", *words)
    check(status == 0, f"{source} {kinds} {words}: {err}")
    return {k: np.load(f"{k}.npy") for k in kinds} if status == 0 else {}


def near(got, want, what, tolerance=1e-5):
    """Relative to the largest value."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    if check(got.shape == want.shape, f"{what}: shape {got.shape}, golden {want.shape}"):
        off = np.abs(got - want).max() / np.abs(want).max()
        check(off <= tolerance, f"{what}: off by {off:.2g}")


def of_mcrpy(name, values):
    """Values of runs: shape, sum, norm, places, all of them where they are few."""
    phases = [] if values["multiphase"] else ["--no_multiphase"]
    for key, want in values["descriptors"].items():
        kind, lag = key.split()[0], int(key.split("=")[1].split()[0])
        words = phases if "ours" in key else ["--compat", "mcrpy", *phases]
        if "mcrpy_fails" in want:
            check(want["mcrpy_fails"] == "NotImplementedError", f"{name} {key}")
            refuses(PROGRAM, [(2, ["match", image(values), *words, "--descriptor_types", kind, "--max_iter", 0], kind)], ranks=(1,))
        elif "GramMatrices" not in key: # of VGG-19: vgg.py
            got = exported(image(values), lag, [kind], *words, *(["--non_periodic"] if "nonperiodic" in key else []))
            compare(f"{name} {key}", got.get(kind, np.zeros(1)), want)


def compare(what, got, want):
    flat = got.ravel()
    if not check(list(got.shape) == want["shape"], f"{what}: shape {got.shape}, MCRpy {want['shape']}"):
        return
    near([flat.sum(), np.linalg.norm(flat)], [want["sum"], want["norm"]], what + ": sum, norm")
    near(flat[[i for i, _ in want["probe"]]], [v for _, v in want["probe"]], what + ": places")
    if "values" in want:
        near(flat, want["values"], what + ": all")


def of_formulas(name, values):
    """Values of phase 1, at all levels, L = 8 and 16."""
    source, want = image(values), values["phases"]["1"]
    for lag, by_lag in want["L"].items():
        for key, words in GRAMS.items():
            got = exported(source, lag, ["Correlations"], "--no_multiphase", *words).get("Correlations")
            for level, summary in enumerate(by_lag[key]):
                summed(f"{name} L={lag} {key} level {level}", got[0, level], summary)
            check(got.shape[1] == len(by_lag[key]) == by_lag["n_levels"] and got.shape[2] == by_lag["n_channels"], f"{name} L={lag}: {got.shape}")
        got = exported(source, lag, ["Variation", "VolumeFractions", "TwoPointCorrelations", "FFTCorrelations"], "--no_multiphase", "--compat", "mcrpy")
        near(got["VolumeFractions"].ravel()[0], want["volume_fraction"], f"{name}: volume fraction", 1e-6)
        near(got["VolumeFractions"].ravel(), by_lag["volume_fraction_levels"], f"{name} L={lag}: volume fractions", 1e-6)
        near(got["Variation"].ravel(), by_lag["variation"], f"{name} L={lag}: Variation", 1e-6)
        near(got["TwoPointCorrelations"][0], by_lag["two_point_soft_diag"], f"{name} L={lag}: soft two-point")
        if "fft_s2_level0" in by_lag:
            near(got["FFTCorrelations"][0, 0], by_lag["fft_s2_level0"], f"{name} L={lag}: S2", 1e-6)
            near(got["FFTCorrelations"][0].sum((1, 2)), by_lag["fft_s2_sum_levels"], f"{name} L={lag}: S2 of all levels", 1e-6)
    path = exported(source, 4, ["LinealPathApproximation"], "--no_multiphase", "--compat", "mcrpy")["LinealPathApproximation"]
    near(path[0, 0].ravel(), np.ravel(want["lineal_path_approx_L4_level0"]), f"{name}: lineal path")


def range_of():
    """Lags up to half of the image: all positive, and the largest alone at zero, the volume fraction."""
    s2 = exported(image({"file": "pymks_ms_64x64_1.npy"}), 32, ["FFTCorrelations"], "--no_multiphase")["FFTCorrelations"][0, 0]
    check(s2.min() > 0 and np.argmax(s2) == 31 * 63 + 31 and np.sum(s2 == s2.max()) == 1, "L = 32 on 64 x 64")
    check(s2[31, 31] == np.load(image({"file": "pymks_ms_64x64_1.npy"})).mean(), "S2(0)")


def summed(what, got, want):
    """A matrix by its summary."""
    check(list(got.shape) == want["shape"], f"{what}: {got.shape}")
    near([got.sum(), np.linalg.norm(got), np.trace(got)], [want["sum"], want["fro"], want["trace"]], what)
    near([got[i, j] for i, j, _ in want["probe"]], [v for _, _, v in want["probe"]], what + ": places")


def left(name, values, others):
    """Nothing is in a file that no test looks at."""
    for key in values.unread():
        check(key.startswith(others) or "GramMatrices" in key, f"{name}: nobody looked at {key}")


SHARED = os.path.abspath(SHARED)
if not golden.folders(SHARED):
    print("no golden values at", SHARED)
    sys.exit(77)
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    seen = 0
    for name, values in (each for folder in golden.folders(SHARED) for each in golden.files(folder)):
        (of_formulas if "phases" in values else of_mcrpy)(name, values)
        left(name, values, ("/loss2d", "/loss3d", "/losses")) # golden_losses.py
        seen += 1
    check(seen >= 2, f"{seen} golden files")
    if os.path.isdir(os.path.join(SHARED, "data", "mcrpy")):
        range_of()
    os.chdir("/")
finish("golden_values")
