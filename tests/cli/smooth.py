"""smooth: against Gaussian means by plain sums, on one rank and several.

    smooth.py PROGRAM MPIEXEC
"""
import os
import sys
import tempfile

import runs
import samples
from runs import check, finish
from samples import np

program, mpiexec = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*words, ranks=1):
    return runs.run(program, "smooth", *words, ranks=ranks, mpiexec=mpiexec)


def smoothed(*words, ranks=1):
    said = runs.measure(program, "smooth", *words, "--output", "out.npy", ranks=ranks, mpiexec=mpiexec)
    return (np.load("out.npy"), said) if said else (None, None)


def filtered(x, sigma, periodic):
    """The mean along every axis, cut off at 4 sigma; not periodic: of what lies inside."""
    reach = int(4 * sigma + 0.5)
    weight = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weight /= weight.sum()
    for axis, n in enumerate(x.shape):
        if n == 1:
            continue
        matrix = np.zeros((n, n))
        for i in range(n):
            for k, w in zip(range(-reach, reach + 1), weight):
                if periodic or 0 <= i + k < n:
                    matrix[i, (i + k) % n] += w
        matrix /= matrix.sum(1, keepdims=True)
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


def near(means, got, wanted, what):
    """Equal but where two means are equal to rounding."""
    order = np.sort(means, axis=0)
    unsure = order[-1] - order[-2] < 1e-6
    check(((got == wanted) | unsure).all(), f"{what}: {(got != wanted).sum()} voxels differ")


def against_sums():
    cases = ((samples.blobs((20, 27), (0.6, 0.4), 1, 0.7), 1.0), (samples.blobs((9, 12, 10), (0.5, 0.3, 0.2), 2, 0.7), 0.8),
             (samples.blobs((5, 6, 14), (0.3, 0.7), 3, 0.7), 1.7))
    for number, (labels, sigma) in enumerate(cases):
        np.save("in.npy", labels)
        phases = labels.max() + 1
        for periodic in (True, False):
            means = np.array([filtered((labels == p).astype(float), sigma, periodic) for p in range(phases)])
            words = ("in.npy", "--strength", sigma, *(() if periodic else ("--non_periodic",)))
            for ranks in (1, 3):
                got, said = smoothed(*words, ranks=ranks)
                near(means, got, means.argmax(0), f"case {number}, periodic {periodic}, {ranks} ranks")
                check(said["changed"] == (got != labels).sum() > 0, "how many changed")
                check(all(abs(said["volume_fractions"][str(p)] - (got == p).mean()) < 1e-12 for p in range(phases)), "fractions")
            kept, _ = smoothed(*words, "--keep_fractions")
            check((np.bincount(kept.ravel()) == np.bincount(labels.ravel())).all(), "every phase keeps its number")
            again, _ = smoothed(*words, "--keep_fractions", ranks=3)
            check((again == kept).all(), "the same on three ranks")
            if phases == 2:
                check(means[1][kept == 1].min() > means[1][kept == 0].max() - 1e-6, "those with the largest means")
        most = np.bincount(labels.ravel()).argmax()
        means = np.array([filtered((labels == p).astype(float), sigma, True) for p in range(phases)])
        wanted = np.full(labels.shape, most)
        for p in range(phases):
            wanted[(means[p] > 0.5) & (p != most)] = p
        got, _ = smoothed("in.npy", "--strength", sigma, "--compat", "mcrpy")
        check(((got == wanted) | (abs(means - 0.5) < 1e-6).any(0)).all(), f"case {number}: MCRpy's rule")


def files():
    status, out, err = run("in.npy", "--data_folder", "r", "--strength", 5)
    check(status == 0 and os.path.exists("r/in_smoothed.h5") and "volume fraction" in out, f"standard name: {status} {err}")
    status, _, err = run("in.npy", "--data_folder", "r", "--info", "foo")
    check(status == 0 and os.path.exists("r/in_foo_smoothed.h5"), f"MCRpy's --info: {status} {err} {os.listdir('r')}")
    lone = np.zeros((12, 12), np.uint8)
    lone[3, 3] = 1
    np.save("lone.npy", lone)
    status, out, err = run("lone.npy", "--output", "gone.npy")
    check(status == 0 and "label 1 is gone" in err, f"a phase that is gone is said: {err}")
    np.save("one.npy", np.zeros((6, 8), np.uint8))
    for file, words in (("one.npy", ()), ("one.npy", ("--keep_fractions",)), ("lone.npy", ("--strength", 1e-200))):
        got, said = smoothed(file, *words)
        check(said and said["changed"] == 0 and (got == np.load(file)).all(), f"{file} {words}: nothing to smooth")


def refusals():
    for words, code, part in ((("in.npy", "--strength", 0), 2, "--strength 0"), (("in.npy", "--strength", "nan"), 2, "--strength"),
                              ((), 2, "one file"), (("in.npy", "in.npy"), 2, "unexpected"), (("nowhere.npy",), 3, "nowhere.npy"),
                              (("in.npy", "--keep_fractions", "--compat", "mcrpy"), 2, "contradicts"),
                              (("in.npy", "--method", "median"), 2, "--method"), (("in.npy", "--output", "in.npy"), 2, "in.npy"),
                              (("in.npy", "--output", "no/such.npy"), 7, "no/such.npy")):
        status, _, err = run(*words, *(("--output", "x.npy") if "--output" not in words else ()))
        lines = [s for s in err.splitlines() if s.startswith("mesoforge: ")]
        check(status == code and len(lines) == 1 and part in lines[0], f"{words}: {status}, {err}")
    status, _, err = run("nowhere.npy", ranks=3)
    check(status == 3 and err.count("nowhere.npy") == 1, f"one sentence on three ranks: {status} {err}")
    check(not os.path.exists("x.npy"), "nothing is left")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    against_sums()
    files()
    refusals()
finish("smooth")
