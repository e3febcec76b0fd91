"""Counts of binary fields by brute force in NumPy, of any number of axes: what measures and comparisons are held against."""
import itertools

from samples import np


def euler(a, periodic, corners):
    """Vertices less edges plus faces less voxels of the closed set (joined by corners), or of the cells that its voxels'
    centres span (joined by faces)."""
    if not periodic:
        a = np.pad(a, 1)
    total = 0
    for spread in itertools.product((0, 1), repeat=a.ndim):
        cell = a
        for axis, s in enumerate(spread):
            if s:
                other = np.roll(cell, -1, axis)
                cell = cell | other if corners else cell & other
        sign = (-1) ** (a.ndim - sum(spread) if corners else sum(spread))
        total += sign * int(cell.sum())
    return total


def labels(a, periodic):
    """Cluster of each voxel of a: the lowest index of its voxels, spread to neighbours until nothing changes."""
    big = a.size
    label = np.where(a, np.arange(a.size).reshape(a.shape), big)
    while True:
        new = label
        for axis in range(a.ndim):
            for step in (1, -1):
                other = np.roll(new, step, axis)
                if not periodic:
                    edge = [slice(None)] * a.ndim
                    edge[axis] = 0 if step == 1 else -1
                    other[tuple(edge)] = big
                new = np.where(a, np.minimum(new, other), big)
        if np.array_equal(new, label):
            return label
        label = new


def axes(a):
    return "zyx"[3 - a.ndim:]


def clusters(a, periodic):
    size = np.bincount(labels(a, periodic)[a]) if a.any() else np.zeros(0, int)
    size = size[size > 0]
    bins = np.bincount(np.floor(np.log2(size)).astype(int)) if size.size else []
    label, spanning, share = labels(a, False), {}, {}
    for axis, name in enumerate(axes(a)):
        both = np.intersect1d(label.take(0, axis)[a.take(0, axis)], label.take(-1, axis)[a.take(-1, axis)])
        spanning[name] = len(both)
        share[name] = float(np.isin(label[a], both).mean())
    return {"number": len(size), "largest": int(size.max()), "mean": float(size.mean()), "sizes": [int(b) for b in bins],
            "spanning": spanning, "spanning_fraction": share}


def chords_of(line, periodic):
    """Lengths of the runs of ones; None: all ones."""
    if line.all():
        return None
    if periodic:
        line = np.roll(line, -int(np.argmin(line)))
        line = np.append(line, False)
    ends = np.flatnonzero(np.diff(np.concatenate(([False], line, [False])).astype(int)))
    return [e - b for b, e in ends.reshape(-1, 2) if periodic or (b > 0 and e < line.size)]


def chords(a, axis, periodic):
    all_, whole = [], 0
    for line in np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis]):
        found = chords_of(line, periodic)
        whole += found is None
        all_ += found or []
    count = np.bincount(all_)[1:] if all_ else []
    return {"number": len(all_), "mean": float(np.mean(all_)) if all_ else 0.0, "longest": int(max(all_, default=0)),
            "whole_lines": whole, "counts": [int(c) for c in count]}


def surface(a, periodic, spacing=(1, 1, 1)):
    faces = crofton = 0
    for axis, n in enumerate(a.shape):
        jump = np.roll(a, -1, axis) != a
        if not periodic:
            jump = jump.take(range(n - 1), axis)
        step = spacing[3 - a.ndim + axis]
        faces += jump.sum() / a.size / step
        crofton += jump.mean() / a.ndim / step if jump.size else 0
    return {"faces": float(faces), "crofton": float((np.pi / 2 if a.ndim == 2 else 2) * crofton)}


def pairs(a, axis, r, periodic):
    """Values of all voxels that have one at distance r along an axis, and the values there."""
    size = a.shape[axis]
    there = np.roll(a, -r, axis)
    return (a, there) if periodic else (a.take(range(size - r), axis), there.take(range(size - r), axis))


def curves(a, lag, periodic, f):
    """Means of f(value, value at distance r) by axis."""
    return {name: [float(np.mean(f(*pairs(a, axis, r, periodic)))) for r in range(lag)] for axis, name in enumerate(axes(a))}


def autocovariance(a, lag, periodic):
    return curves(a, lag, periodic, lambda x, y: (x & y).mean() - a.mean() ** 2)


def variogram(a, lag, periodic):
    return curves(a, lag, periodic, lambda x, y: 0.5 * (x != y).mean())


def surface_correlation(a, lag, periodic):
    outer = np.zeros_like(a)
    for axis in range(a.ndim):
        other = np.roll(a, 1, axis) != a
        if not periodic:
            other[tuple(slice(0, 1) if k == axis else slice(None) for k in range(a.ndim))] = False
        outer |= other | np.roll(other, -1, axis)
    kind = np.where(a, np.where(outer, 1, 0), 2) # surface, rest; inside: 0
    return {"surface_surface": curves(kind, lag, periodic, lambda x, y: (x == 1) & (y == 1)),
            "surface_void": curves(kind, lag, periodic, lambda x, y: ((x == 1) & (y == 2)) / 2 + ((x == 2) & (y == 1)) / 2)}


def local_fraction(a):
    found, edge = [], 2
    while edge <= min(64, min(a.shape) // 2):
        inner = a[tuple(slice(n // edge * edge) for n in a.shape)]
        boxes = inner.reshape([k for n in inner.shape for k in (n // edge, edge)]).mean(tuple(range(1, 2 * a.ndim, 2)))
        found.append({"edge": edge, "windows": boxes.size, "mean": float(boxes.mean()), "variance": float(boxes.var())})
        edge *= 2
    return found


def boundaries(field, periodic, spacing):
    """{(a, b): density of faces, (a, b, c): of edges}; spacing by axis."""
    count, deep = {}, field if field.ndim == 3 else field[None]

    def add(among, weight):
        stack = [deep]
        for axis in among:
            stack += [np.roll(x, -1, axis) for x in stack]
        stack = np.array(stack)
        if not periodic:
            for axis in among:
                stack = stack.take(range(deep.shape[axis] - 1), axis + 1)
        for labels in stack.reshape(len(stack), -1).T:
            for some in itertools.combinations(sorted(set(labels)), len(among) + 1):
                count[some] = count.get(some, 0) + weight / deep.size

    for axis in range(3 - field.ndim, 3):
        add([axis], 1 / spacing[axis])
    for axis in range(3 if field.ndim == 3 else 1):
        others = [k for k in range(3) if k != axis]
        add(others, 1 / (spacing[others[0]] * spacing[others[1]]))
    return count


def boundaries_of(label, count):
    others = lambda key: [int(k) for k in key if k != label]
    mine = sorted((others(key), value) for key, value in count.items() if label in key)
    return {"double": [{"label": o[0], "density": v} for o, v in mine if len(o) == 1],
            "triple": [{"labels": o, "density": v} for o, v in mine if len(o) == 2]}


def cluster_function(a, lag, periodic):
    label = np.where(a, labels(a, periodic), -1 - np.arange(a.size).reshape(a.shape))
    return curves(np.where(a, label, -1), lag, periodic, lambda x, y: (x == y) & (x >= 0))


def tortuosity(a):
    """Shortest ways in voxels from each axis' first plane to its last, over the extent; borders are not crossed."""
    found, big = {}, 2 * a.size
    for axis, name in enumerate(axes(a)):
        plane = lambda k: tuple(k if i == axis else slice(None) for i in range(a.ndim))
        far = np.full(a.shape, big)
        far[plane(0)] = np.where(a[plane(0)], 1, big)
        while True:
            new = np.pad(far, 1, constant_values=big)
            near = [np.roll(new, step, k)[(slice(1, -1),) * a.ndim] for k in range(a.ndim) for step in (1, -1)]
            new = np.where(a, np.minimum(far, np.min(near, 0) + 1), big)
            if np.array_equal(new, far):
                break
            far = new
        end = far[plane(-1)][a[plane(-1)]]
        there = end[end < big]
        found[name] = {"reached": float(there.size / end.size) if end.size else 0.0,
                       "mean": float(there.mean() / a.shape[axis]) if there.size else None,
                       "least": float(there.min() / a.shape[axis]) if there.size else None}
    return found
