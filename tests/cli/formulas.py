"""The further descriptors of slices by plain sums in NumPy (64 bit), written from docs/DESCRIPTORS.md: name -> function of
x [slices][u][v], L and periodic that gives [slices][entries]."""
import numpy as np

import counts


def soft_of(t, s):
    """f(z) = a sigma(s (z - t)) + b with f(0) = 0, f(1) = 1"""
    sigma = lambda z: 1 / (1 + np.exp(-s * (z - t)))
    return lambda z: (sigma(z) - sigma(0)) / (sigma(1) - sigma(0))


def places(x, taps, periodic):
    """The weighted sum z of the taps (du, dv, w) at all places p: [slices][places u][places v]; None where there are none."""
    n, nu, nv = x.shape
    if periodic:
        return sum(w * np.roll(x, (-u, -v), (1, 2)) for u, v, w in taps)
    low, high = [min(t[a] for t in taps) for a in (0, 1)], [max(t[a] for t in taps) for a in (0, 1)]
    rows, columns = (-low[0], nu - high[0]), (-low[1], nv - high[1])
    if rows[1] <= rows[0] or columns[1] <= columns[0]:
        return None
    return sum(w * x[:, rows[0] + u : rows[1] + u, columns[0] + v : columns[1] + v] for u, v, w in taps)


def mean_of(x, taps, periodic, f):
    z = places(x, taps, periodic)
    return np.zeros(len(x)) if z is None else f(z).mean((1, 2))


def line(n, u, v, du, dv):
    return [(u + k * du, v + k * dv, 1 / n) for k in range(n)]


def slope(c, i):
    """The four images of the line of slope i / c, in a box of 2c + 1 pixels; 2c rows of it are filled."""
    rows, y = [], float(c - i)
    for k in range(2 * c):
        low, high = round(y - 0.1), round(y + 0.1)
        rows += [(k, round(y), 1 / (2 * c))] if low == high else [(k, low, 0.5 / (2 * c)), (k, high, 0.5 / (2 * c))]
        y += i / c
    yield rows
    yield [(q, p, w) for p, q, w in rows]
    yield [(p, 2 * c - q, w) for p, q, w in rows]
    yield [(q, 2 * c - p, w) for p, q, w in rows]


def lineal_path(x, lag, periodic, exact=False):
    out = [x.mean((1, 2))]
    for n in range(3, 2 * lag + 2, 2):
        f = (lambda z: 1.0 * (z > 1 - 0.5 / n + 1e-9)) if exact else soft_of(1 - 0.5 / n, 4 * n)
        for y in (x,) if exact else (x, 1 - x):
            for u, v, du, dv in ((0, 0, 1, 1), (0, n - 1, 1, -1), (0, 0, 0, 1), (0, 0, 1, 0)):
                out.append(mean_of(y, line(n, u, v, du, dv), periodic, f))
    return np.stack(out, 1)


def lineal_path_exact(x, lag, periodic):
    return lineal_path(x, lag, periodic, True)


def lineal_path_approximation(x, lag, periodic, f=soft_of(0.75, 10)):
    out = [f(x).mean((1, 2))]
    for c in range(1, lag + 1):
        n = 2 * c + 1
        masks = [line(n, 0, 0, 1, 1), line(n, 0, n - 1, 1, -1), line(n, 0, 0, 0, 1), line(n, 0, 0, 1, 0)]
        for i in range(1, c):
            masks += slope(c, i)
        out += [mean_of(x, taps, periodic, f) for taps in masks]
    return np.stack(out, 1)


def line_lineal_path_approximation(x, lag, periodic, f=soft_of(0.75, 10)):
    lines = [[line(2 * c + 1, 0, 0, du, 1 - du) for c in range(1, lag)] for du in (1, 0)]
    return np.stack([mean_of(x, taps, periodic, f) for taps in (*lines[0], [(0, 0, 1)], *lines[1])], 1)


def lags(lag):
    """The lags of TwoPointCorrelations in order."""
    return [(i, j) for i in range(lag) for j in range(lag)] + [(i, -j) for i in range(1, lag) for j in range(1, lag)]


def two_point_correlations(x, lag, periodic, f=soft_of(0.75, 10)):
    return np.stack([mean_of(x, [(0, 0, 0.5), (i, j, 0.5)], periodic, lambda z: f(z) ** 2) for i, j in lags(lag)], 1)


def gram(x, lags, left, reach, periodic, f):
    """(1/N) sum over anchors of F_r F_s; not periodic: anchors whose partners all lie inside."""
    n, nu, nv = x.shape
    if periodic:
        channels = [f((x + np.roll(x, (-i, -j), (1, 2))) / 2) for i, j in lags]
    else:
        rows, columns = (0, nu - reach), (left, nv - reach)
        cut = lambda i, j: x[:, rows[0] + i : rows[1] + i, columns[0] + j : columns[1] + j]
        channels = [f((cut(0, 0) + cut(i, j)) / 2) for i, j in lags]
    flat = np.stack(channels, 1).reshape(n, len(lags), -1)
    return (np.einsum("nrp,nsp->nrs", flat, flat) / flat.shape[2]).reshape(n, -1)


def correlations(x, lag, periodic, f=soft_of(0.75, 10)):
    return gram(x, lags(lag), lag - 1, lag - 1, periodic, f)


def cross_correlations(x, y, lag, periodic, f=soft_of(0.75, 10)):
    """of phases a < b: from y, the indicator of b, to x, that of a"""
    n, nu, nv = x.shape
    if periodic:
        cut = lambda z, i, j: np.roll(z, (-i, -j), (1, 2))
    else:
        cut = lambda z, i, j: z[:, i : nu - lag + 1 + i, lag - 1 + j : nv - lag + 1 + j]
    channels = [f(cut(y, 0, 0) if (i, j) == (0, 0) else (cut(y, 0, 0) + cut(x, i, j)) / 2) for i, j in lags(lag)]
    flat = np.stack(channels, 1).reshape(n, len(channels), -1)
    return (np.einsum("nrp,nsp->nrs", flat, flat) / flat.shape[2]).reshape(n, -1)


def line_correlations(x, lag, periodic, f=soft_of(0.75, 10)):
    return gram(x, [(i, 0) for i in range(1, lag)] + [(0, j) for j in range(lag)], 0, lag - 1, periodic, f)


def structure_tensor(x, lag, periodic):
    """gradients of cells between four pixels, their products smoothed by a Gaussian cut off at 5 cells and at the edges"""
    wrap = (lambda y, u, v: np.roll(y, (-u, -v), (1, 2))) if periodic else \
        (lambda y, u, v: y[:, u : y.shape[1] - 1 + u, v : y.shape[2] - 1 + v])
    x00, x01, x10, x11 = (wrap(x, u, v) for u, v in ((0, 0), (0, 1), (1, 0), (1, 1)))
    gx, gy = (x01 - x00 + x11 - x10) / 2, (x10 - x00 + x11 - x01) / 2
    tap = np.exp(-np.arange(-5, 6) ** 2 / 4.5)

    def smoother(n):
        matrix = np.zeros((n, n))
        for k in range(-5, 6):
            for i in range(n):
                if periodic or 0 <= i + k < n:
                    matrix[i, (i + k) % n] += tap[k + 5]
        return matrix / matrix.sum(1, keepdims=True)

    down, along = smoother(gx.shape[1]), smoother(gx.shape[2])
    p, q, e = (down @ y @ along.T for y in (gx**2 - gy**2, 2 * gx * gy, gx**2 + gy**2))
    m = (lag - 1) // 2
    lags = [(0, 2 * j) for j in range(m + 1)] + [(2 * i, 2 * j) for i in range(1, m + 1) for j in range(-m, m + 1)]
    return np.stack([pair(t, u, v, periodic) for t in (p, q, e, np.sqrt(p**2 + q**2 + 1e-4) - 0.01) for u, v in lags], 1)


def pair(x, u, v, periodic):
    """mean of x(p) x(p + (u, v)), u >= 0"""
    n, nu, nv = x.shape
    if periodic:
        return (x * np.roll(x, (-u, -v), (1, 2))).mean((1, 2))
    if u >= nu or abs(v) >= nv:
        return np.zeros(n)
    return (x[:, : nu - u, max(0, -v) : nv - max(0, v)] * x[:, u:, max(0, v) : nv + min(0, v)]).mean((1, 2))


def above(x):
    return x > 0.5


def beside(x, axis, r, periodic):
    """Pixels p and p + r e along an axis of slices, where both are there."""
    if periodic:
        return x, np.roll(x, -r, axis)
    n = x.shape[axis]
    return np.take(x, np.arange(n - r), axis), np.take(x, np.arange(r, n), axis)


def surface_correlations(x, lag, periodic):
    """surface-surface along rows and columns, then surface-void"""
    inside = above(x)
    lonely = np.zeros(inside.shape, bool)
    for axis in (1, 2):
        n = x.shape[axis]
        for step in (-1, 1):
            other = ~np.roll(inside, -step, axis)
            if not periodic:
                other &= (np.arange(n) != (n - 1 if step > 0 else 0)).reshape([-1 if a == axis else 1 for a in range(3)])
            lonely |= other
    surface, out = inside & lonely, ([], [])
    for axis in (1, 2):
        for r in range(lag):
            (a, b), (c, d) = beside(surface, axis, r, periodic), beside(~inside, axis, r, periodic)
            out[0].append((a & b).mean((1, 2)))
            out[1].append(((a & d).mean((1, 2)) + (b & c).mean((1, 2))) / 2)
    return np.stack(out[0] + out[1], 1)


def chords(x, lag, periodic):
    """how likely a run of exactly 1 .. 2L pixels begins, along rows and columns"""
    out = []
    for axis in (1, 2):
        line = np.moveaxis(above(x), axis, 1)
        n = line.shape[1]
        for length in range(1, 2 * lag + 1):
            places = range(n) if periodic else range(1, n - length)
            hits = [line[:, [(i + k) % n for k in range(length)]].all(1) & ~line[:, i - 1] & ~line[:, (i + length) % n] for i in places]
            out.append(np.mean(hits, (0, 2)) if len(hits) else np.zeros(len(line)))
    return np.stack(out, 1)


def each(x, f):
    """f of every slice, as labels."""
    return np.array([f(a) for a in above(x)])


def euler_number(x, lag, periodic):
    """per pixel, joined by sides and by corners"""
    return each(x, lambda a: [counts.euler(a, periodic, corners) / a.size for corners in (False, True)])


def local_fraction(x, lag, periodic):
    """means in windows of 2, 4, .. up to L pixels (2, where L is 1), then variances"""
    edges = [2 ** k for k in range(1, 16) if 2**k <= max(lag, 2)]

    def moments(a):
        cut = [a[: a.shape[0] // e * e, : a.shape[1] // e * e].reshape(a.shape[0] // e, e, a.shape[1] // e, e).mean((1, 3)) for e in edges]
        return [m.mean() for m in cut] + [m.var() for m in cut]

    return each(x, moments)


def boundaries(x, y, lag, periodic):
    """of two phases: sides between them, and corners between pixels of both and of a third, per pixel"""
    def of(a, b):
        where = counts.boundaries(np.where(a, 1, np.where(b, 2, 0)), periodic, (1, 1, 1))
        return [where.get((1, 2), 0), where.get((0, 1, 2), 0)]

    return np.array([of(a, b) for a, b in zip(above(x), above(y))])


def cluster_function(x, lag, periodic):
    def curves(a):
        found = counts.cluster_function(a, lag, periodic)
        return found["y"] + found["x"]

    return each(x, curves)


def clusters(x, lag, periodic):
    """how many in L x L pixels, the largest over the slice, what spans over the phase, along columns and rows"""
    def of(a):
        if not a.any():
            return [0] * 4
        found = counts.clusters(a, periodic)
        return [found["number"] * lag**2 / a.size, found["largest"] / a.size, found["spanning_fraction"]["y"], found["spanning_fraction"]["x"]]

    return each(x, of)


def tortuosity(x, lag, periodic):
    """along columns, then rows: what is reached, mean and least way over the extent; 0: none"""
    def of(a):
        found = counts.tortuosity(a)
        return [found[axis][key] or 0 for axis in "yx" for key in ("reached", "mean", "least")]

    return each(x, of)


FURTHER = {"LinealPath": lineal_path, "LinealPathExact": lineal_path_exact, "LinealPathApproximation": lineal_path_approximation,
           "LineLinealPathApproximation": line_lineal_path_approximation, "TwoPointCorrelations": two_point_correlations,
           "Correlations": correlations, "LineCorrelations": line_correlations, "StructureTensor": structure_tensor,
           "SurfaceCorrelations": surface_correlations, "Chords": chords, "EulerNumber": euler_number, "LocalFraction": local_fraction,
           "ClusterFunction": cluster_function, "Clusters": clusters, "Tortuosity": tortuosity}
PAIRS = {"CrossCorrelations": cross_correlations, "Boundaries": boundaries}
COUNTED = ("LinealPathExact", "SurfaceCorrelations", "Chords", "EulerNumber", "LocalFraction", "ClusterFunction", "Clusters", "Tortuosity")  # without a gradient


def in_space(x, y, lag, periodic, first=None):
    """Mean of x(p) y(p + (d, u, v)) of volumes: [d][u][v], d from first (-L+1) on, u and v from -L+1 on."""
    lags = range(1 - lag, lag)
    out = np.empty((lag - (lags[0] if first is None else first), len(lags), len(lags)))
    here = lambda a, r: a[tuple(slice(max(0, -i), n - max(0, i)) for i, n in zip(r, a.shape))]
    for d, plane in zip(range(lag - len(out), lag), out):
        for u in lags:
            for v in lags:
                r = (d, u, v)
                pairs = x * np.roll(y, tuple(-i for i in r), (0, 1, 2)) if periodic else here(x, r) * here(y, tuple(-i for i in r))
                plane[lag - 1 + u, lag - 1 + v] = pairs.mean()
    return out
