"""What PoreSpy, SciPy and scikit-image say of the fields in a fixture, which peers.py holds the program against where they are missing.

    peers_values.py FIXTURE            is it still what they say?      exit status 77: one of them is missing
    peers_values.py FIXTURE --write    makes it, fields included

Where their definitions differ from ours, fields are prepared so that they do not:
- chords: PoreSpy looks at every second line and drops what touches any border. Here lines are set two apart, and sideways there is a margin; what the
  border across a line cuts stays dropped, as with us.
- lineal path: PoreSpy gives to every voxel its distance from the last one outside along an axis; the share that is n or more, of the places where a run of n
  pixels can end, is our probability. Of a periodic field two copies stand in a row, of which the second counts. It knows no diagonals.
- two-point correlation: SciPy's direct sum over every lag, of the field with its borders repeated or with zeros. PoreSpy's is not periodic, and a mean over
  lags by their length.
- clusters and tortuosity are not periodic; the shortest ways are SciPy's on the graph of voxels that share a face, from a node before the first plane.
"""
import importlib.metadata
import json
import os
import sys
import warnings

try:
    import numpy as np
    import porespy
    import scipy.ndimage
    import scipy.signal
    import scipy.sparse.csgraph
    import skimage.measure
except ImportError as missing:
    print(missing)
    sys.exit(77)

LAG = 4
warnings.simplefilter("ignore")  # PoreSpy of other packages
PACKAGES = ("porespy", "scipy", "scikit-image")


def axes(a):
    return list(enumerate("zyx"[3 - a.ndim:]))


def euler(a):
    return {"faces": int(skimage.measure.euler_number(a, 1)), "corners": int(skimage.measure.euler_number(a, a.ndim))}


def clusters(a):
    label, number = scipy.ndimage.label(a)
    sizes = np.bincount(label.ravel())[1:]
    spanning, share = {}, {}
    for axis, name in axes(a):
        both = np.intersect1d(label.take(0, axis), label.take(-1, axis))
        both = both[both > 0]
        spanning[name], share[name] = len(both), float(sizes[both - 1].sum() / sizes.sum())
    return {"number": int(number), "largest": int(sizes.max()), "mean": float(sizes.mean()), "spanning": spanning, "spanning_fraction": share}


def chords(a):
    found = {}
    for axis, name in axes(a):
        apart = np.zeros([n if k == axis else 2 * n + 3 for k, n in enumerate(a.shape)], bool)
        apart[tuple(slice(None) if k == axis else slice(2, -2, 2) for k in range(a.ndim))] = a
        lengths = porespy.metrics.chord_counts(porespy.filters.apply_chords(apart, spacing=1, axis=axis, label=True))
        found[name] = {"number": int(lengths.size), "mean": float(lengths.mean()), "longest": int(lengths.max()),
                       "counts": np.bincount(lengths)[1:].tolist()}
    return found


def lineal_path(a, periodic):
    """By axis: of runs of 3, 5, .. 2 LAG + 1 pixels."""
    found = {}
    for axis, name in axes(a):
        size = a.shape[axis]
        line = np.concatenate([a, a], axis) if periodic else a
        away = porespy.filters.distance_transform_lin(line, axis, "forward").take(range(size if periodic else 0, line.shape[axis]), axis)
        lengths = range(3, 2 * LAG + 2, 2)
        found[name] = [float((away >= n).sum() / a.size * (1 if periodic else size / (size - n + 1))) for n in lengths]
    return found


def correlation(a, periodic):
    """All lags below LAG."""
    wide = lambda x: np.pad(x, LAG - 1, **({"mode": "wrap"} if periodic else {}))
    pairs = lambda x: scipy.signal.correlate(wide(x), x, "valid", "direct")
    return pairs(a.astype(np.int64)) / pairs(np.ones(a.shape, np.int64))


def slices(a, periodic):
    """By normal: the mean over the slices."""
    found = {}
    for axis, name in axes(a) if a.ndim == 3 else [(None, "z")]:
        cut = a[None] if axis is None else np.moveaxis(a, axis, 0)
        found[name] = np.mean([correlation(plane, periodic) for plane in cut], 0).tolist()
    return found


def along(a, periodic):
    """Of a volume, by axis."""
    full = correlation(a, periodic)
    middle = [LAG - 1] * 3
    return {name: full[tuple(slice(LAG - 1, None) if k == axis else m for k, m in enumerate(middle))].tolist() for axis, name in axes(a)}


def radial(a):
    found = porespy.metrics.two_point_correlation(a, bins=np.arange(LAG + 1.0))
    return {"edges": found.bin_edges.tolist(), "values": found.probability_scaled.tolist()}


def tortuosity(a):
    number = np.where(a, np.cumsum(a).reshape(a.shape), 0)
    found, count = {}, int(a.sum()) + 1
    for axis, name in axes(a):
        first, last = number.take(0, axis), number.take(-1, axis)
        ends = [(np.zeros_like(first), first)]
        ends += [(number.take(range(n - 1), k), number.take(range(1, n), k)) for k, n in enumerate(a.shape)]
        rows, columns = (np.concatenate([np.ravel(e[i]) for e in ends]) for i in (0, 1))
        joined = ((rows > 0) | (np.arange(rows.size) < first.size)) & (columns > 0)
        graph = scipy.sparse.coo_array((np.ones(joined.sum()), (rows[joined], columns[joined])), (count, count)).tocsr()
        far = scipy.sparse.csgraph.dijkstra(graph, False, 0, unweighted=True)[last[last > 0]]
        there = far[np.isfinite(far)]
        found[name] = {"reached": float(there.size / far.size) if far.size else 0.0,
                       "mean": float(there.mean() / a.shape[axis]) if there.size else None,
                       "least": float(there.min() / a.shape[axis]) if there.size else None}
    return found


def values(a):
    """Of one phase."""
    found = {"euler": euler(a), "clusters": clusters(a), "chords": chords(a), "tortuosity": tortuosity(a)}
    if a.ndim == 2:
        found["radial"] = radial(a)
    for name, periodic in (("periodic", True), ("open", False)):
        found[name] = {"s2": slices(a, periodic), "lineal_path": lineal_path(a, periodic)}
        if a.ndim == 3:
            found[name]["s2_3d"] = along(a, periodic)
    return found


def fields():
    from samples import blobs
    return {"image": blobs((26, 34), [0.55, 0.45], 1), "three": blobs((22, 25), [0.45, 0.35, 0.2], 2, 1.2),
            "volume": blobs((11, 12, 14), [0.65, 0.35], 3, 1.1)}


def near(a, b):
    if isinstance(b, dict):
        return set(a) == set(b) and all(near(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    return a == b if not isinstance(b, float) else a is not None and abs(a - b) <= 1e-9 * max(1, abs(b))


def main():
    path, write = sys.argv[1], sys.argv[2:] == ["--write"]
    if write:
        held = {name: {"shape": list(f.shape), "labels": "".join(map(str, f.ravel()))} for name, f in fields().items()}
    else:
        with open(path, encoding="ascii") as file:
            held = json.load(file)["fields"]
    wrong = []
    for name, field in held.items():
        array = np.array(list(map(int, field["labels"]))).reshape(field["shape"])
        said = {str(k): values(array == k) for k in np.unique(array)}
        wrong += [] if write or near(said, field["phases"]) else [name]
        field["phases"] = said
    if write:
        versions = {name: importlib.metadata.version(name) for name in PACKAGES}
        with open(path, "w", encoding="ascii") as file:
            json.dump({"made": f"{os.path.basename(__file__)} FIXTURE --write", "versions": versions, "lag": LAG, "fields": held}, file, separators=(",", ":"))
            file.write("\n")
    print("peers_values:", f"they say otherwise now of: {' '.join(wrong)}" if wrong else "ok")
    return 1 if wrong else 0


sys.exit(main())
