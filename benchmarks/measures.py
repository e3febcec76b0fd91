"""Measures of a field against its target, by numpy alone: they judge the program and its peers alike.

Arrays are [z][y][x] or [y][x]; slices with normal z are (y, x), with normal y (z, x), with normal x (z, y).
    python3 measures.py FIELD.npy TARGET.npy [TARGET_Y.npy TARGET_X.npy]     prints what it finds
    python3 measures.py --check                                            compares itself with plain loops
"""
import itertools
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NORMALS = "zyx"


def header(out, command):
    """Writes the `#` lines on machine, compiler, commit and command."""
    out.write(subprocess.run([os.path.join(HERE, "machine.sh"), *command], check=True, text=True,
                             stdout=subprocess.PIPE).stdout)


def directions(field):
    """Normals of the slices of a field: an image is one slice normal to z."""
    return [0] if field.ndim == 2 else [0, 1, 2]


def slices(field, normal):
    """All slices with this normal, first axis counts them."""
    return field[None] if field.ndim == 2 else np.moveaxis(field, normal, 0)


def s2(field, normal, lag):
    """Mean periodic two-point correlation of the slices, (2 lag - 1)^2, zero lag in the centre."""
    cut = slices(field, normal).astype(float)
    power = sum(np.abs(np.fft.rfft2(plane)) ** 2 for plane in cut) / len(cut)
    full = np.fft.irfft2(power, s=cut.shape[1:]) / cut[0].size
    return np.roll(full, (lag - 1, lag - 1), (0, 1))[: 2 * lag - 1, : 2 * lag - 1]


def interfaces(field, normal):
    """Interface density of the slices: every jump between neighbours once, for each pixel."""
    cut = slices(field, normal).astype(float)
    return sum(np.abs(cut - np.roll(cut, 1, axis)).sum() for axis in (1, 2)) / cut.size


def compare(field, phases, targets, lag):
    """Errors of a field. phases: {label: indicator of the field}; targets: one image, or those normal to z, y, x."""
    targets = targets * 3 if len(targets) == 1 else targets
    found = {"s2": {n: 0.0 for n in NORMALS[: len(directions(field))]}, "voxels": 0.0, "interface": 0.0, "signed": 0.0}
    for label, x in phases.items():
        here = directions(field)
        share = np.mean([(targets[n] == label).mean() for n in here])
        found["voxels"] = max(found["voxels"], abs(x.sum(dtype=float) - share * x.size))
        for n in here:
            y = targets[n] == label
            rms = np.sqrt(np.mean((s2(x, n, lag) - s2(y, 0, lag)) ** 2))
            found["s2"][NORMALS[n]] = max(found["s2"][NORMALS[n]], rms)
            relative = interfaces(x, n) / interfaces(y, 0) - 1
            if abs(relative) > found["interface"]:
                found["interface"], found["signed"] = abs(relative), relative
    found["grey"] = max(np.mean((x > 0.05) & (x < 0.95)) for x in phases.values())
    return found


def indicators(field, targets):
    """{label: indicator} of a labelled field; two phases: of the last alone, the other follows."""
    labels = np.unique(np.concatenate([t.ravel() for t in targets]))
    return {int(k): (field == k) for k in (labels if len(labels) > 2 else labels[-1:])}


def floor(targets, lag):
    """Least S2 rms per normal that any volume can have: an axis is met by two normals, which share its curve."""
    targets = targets * 3 if len(targets) == 1 else targets
    middle, worst = lag - 1, np.zeros(3)
    for label in np.unique(targets[0])[1 if len(np.unique(targets[0])) == 2 else 0:]:
        t = [s2(image == label, 0, lag) for image in targets]
        left = [np.zeros_like(a) for a in t]
        # (normal, does the axis run along its columns?): z, y and x are met by these two
        for (a, down_a), (b, down_b) in (((1, 1), (2, 1)), ((0, 1), (2, 0)), ((0, 0), (1, 0))):
            at_a, at_b = [((slice(None), middle) if d else (middle, slice(None))) for d in (down_a, down_b)]
            half = (t[a][at_a] - t[b][at_b]) / 2
            left[a][at_a], left[b][at_b] = half, -half
        zero = [a[middle, middle] for a in t]
        for a, z in zip(left, zero):
            a[middle, middle] = z - np.mean(zero)
        worst = np.maximum(worst, [np.sqrt(np.mean(a ** 2)) for a in left])
    return dict(zip(NORMALS, worst))


# -- what a texture looks like, by measures that no descriptor aims at; fields are not periodic here --

LENGTHS = (5, 10, 15)  # of lineal paths [pixels]
FAR = 10               # of the two-point cluster function
SPECK = 3              # most pixels of a speck


def runs(line):
    """Lengths of the runs of True whose ends are not the border."""
    turns = np.flatnonzero(np.diff(line.astype(np.int8)))
    return [b - a for a, b in zip(turns, turns[1:]) if line[b]]


def chords(x):
    """Mean length of runs along rows, columns and both diagonals; 0: there is none."""
    size = range(1 - x.shape[0], x.shape[1])
    ways = (x, x.T, [np.diagonal(x, k) for k in size], [np.diagonal(x[:, ::-1], k) for k in size])
    lengths = [[n for line in way for n in runs(np.asarray(line))] for way in ways]
    return [float(np.mean(n)) if n else 0.0 for n in lengths]


def lineal_path(x, n):
    """Share of the straight runs of n pixels along both axes that lie in x."""
    windows = [np.lib.stride_tricks.sliding_window_view(x, n, axis).all(-1) for axis in (0, 1)]
    return sum(w.sum() for w in windows) / sum(w.size for w in windows)


def components(x):
    """Number of the component (joined by edges) of every pixel, from 1 on; 0 outside of x."""
    label = np.where(x, np.arange(1, x.size + 1).reshape(x.shape), 0)
    while True:
        wide, before = np.pad(label, 1), label
        label = np.max([label, wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]], 0) * x
        if (label == before).all():
            return np.unique(label, return_inverse=True)[1].reshape(x.shape) + (label.min() > 0)


def euler(x):
    """Mean of the Euler numbers with pixels joined by edges, and by corners too; per pixel."""
    by_edges = x.sum() - (x[1:] & x[:-1]).sum() - (x[:, 1:] & x[:, :-1]).sum()
    by_edges += (x[1:, 1:] & x[1:, :-1] & x[:-1, 1:] & x[:-1, :-1]).sum()
    wide = np.pad(x, 1)
    down, along = wide[1:] | wide[:-1], wide[:, 1:] | wide[:, :-1]
    by_corners = x.sum() - down.sum() - along.sum() + (down[:, 1:] | down[:, :-1]).sum()
    return (int(by_edges) + int(by_corners)) / 2 / x.size


def texture(x):
    """Measures of one phase of an image, by name; chords are four."""
    label = components(x)
    pairs = [(label[FAR:], label[:-FAR]), (label[:, FAR:], label[:, :-FAR])]
    return {"chords": chords(x), **{f"lineal_path_{n}": [lineal_path(x, n)] for n in LENGTHS}, "euler": [euler(x)],
            "components": [label.max() / x.size],
            f"cluster_{FAR}": [sum((a * (a == b) > 0).sum() for a, b in pairs) / sum(a.size for a, _ in pairs)]}


def specks(field):
    """Share of the pixels that are in small components, in percent."""
    sizes = np.concatenate([np.bincount(components(field == k).ravel())[1:] for k in np.unique(field)])
    return 100 * sizes[sizes <= SPECK].sum() / field.size


def off(got, want):
    """|got - want| / |want|, at most 2, and 2 where only want is 0."""
    return min(2.0, abs(got - want) / abs(want)) if want else 2.0 * (got != want)


def score(field, target):
    """How unlike an image (or several slices, of which the means count) looks: mean of seven relative errors, each a mean over phases, and 0.1 times
    the difference of specks in percent; and those errors."""
    cuts, error = slices(field, 0) if field.ndim == 2 else field, {}
    for label in np.unique(target):
        want, got = texture(target == label), [texture(cut == label) for cut in cuts]
        for name, value in want.items():
            mean = np.mean([one[name] for one in got], 0)
            error.setdefault(name, []).append(np.mean([off(g, w) for g, w in zip(mean, value)]))
    error = {name: float(np.mean(values)) for name, values in error.items()}
    error["specks"] = float(abs(np.mean([specks(cut) for cut in cuts]) - specks(target)))
    return float(np.mean([v for k, v in error.items() if k != "specks"]) + 0.1 * error["specks"]), error


def copied(field, target, edge=16, many=1024):
    """Share of the windows of an image (evenly spread ones, at most many / edge along an axis), of those with at least a tenth
    of a second phase, that agree in 95 % with a window of the target."""
    if min(field.shape) < edge:
        return 0.0
    all_of = lambda image: np.lib.stride_tricks.sliding_window_view(image.astype(np.uint8), (edge, edge))
    step = [-(-(n - edge + 1) // (many // edge)) for n in field.shape]
    labels, found = np.unique(target), []
    mine, theirs = [w.reshape(-1, edge * edge) for w in (all_of(field)[::step[0], ::step[1]], all_of(target))]
    most = np.max([(mine == k).sum(1) for k in labels], 0)
    mine = mine[most <= 0.9 * edge * edge]
    theirs = [(theirs == k).astype(np.float32).T for k in labels]
    for some in np.array_split(mine, len(mine) // 1024 + 1):
        agree = sum((some == k).astype(np.float32) @ other for k, other in zip(labels, theirs))
        found.append(agree.max(1) >= 0.95 * edge * edge)
    return float(np.concatenate(found).mean()) if len(mine) else 0.0


def halves_share(target, edge=16, many=512):
    """What two halves of the target have of each other: no result can be asked to have less in common with it."""
    shares = []
    for image in (target, target.T):
        one, other = image[:len(image) // 2], image[len(image) // 2:]
        shares += [copied(one, other, edge, many), copied(other, one, edge, many)]
    return float(np.mean(shares))


def window(field, target):
    """Edge of the windows that copies are known by: as large as it takes for halves of the target to have at most a
    twentieth of theirs in common, at most a quarter of the target's shorter edge and half of the field's."""
    edge = 16
    while edge < 64 and 8 * edge <= min(target.shape) and 4 * edge <= min(field.shape) and halves_share(target, edge) > 0.05:
        edge *= 2
    return edge


def slow_s2(plane, lag):
    """What s2 means, for one plane."""
    out = np.zeros((2 * lag - 1, 2 * lag - 1))
    for i, j in itertools.product(range(1 - lag, lag), repeat=2):
        for y, x in np.ndindex(plane.shape):
            out[i + lag - 1, j + lag - 1] += plane[y, x] * plane[(y + i) % plane.shape[0], (x + j) % plane.shape[1]]
    return out / plane.size


def check():
    """Plain loops give the same numbers."""
    field = np.random.default_rng(1).random((5, 7, 9)) < 0.4
    for n in range(3):
        cut = slices(field, n)
        slow = np.mean([slow_s2(plane, 3) for plane in cut], axis=0)
        assert np.allclose(s2(field, n, 3), slow, atol=1e-12)
        jumps = sum(int(p[y, x] != p[y - 1, x]) + int(p[y, x] != p[y, x - 1]) for p in cut
                    for y, x in np.ndindex(p.shape))
        assert np.isclose(interfaces(field, n), jumps / field.size)
    check_texture()


def check_texture():
    """A picture that can be counted by hand."""
    x = np.array([[int(c) for c in row] for row in ("0100110", "0110010", "1000000", "0011101")], bool)
    assert components(x).max() == 5 and chords(x)[0] == np.mean([1, 2, 2, 1, 3]) and chords(x)[1] == 1
    assert np.isclose(lineal_path(x, 2), (1 + 1 + 2 + 1 + 1) / (4 * 6 + 3 * 7))
    assert np.isclose(euler(x) * x.size, (5 + 4) / 2)
    ring = np.pad(np.zeros((1, 1), bool), 1, constant_values=True)
    assert euler(ring) == 0 and components(~ring).max() == 1 and components(np.ones((2, 2), bool)).max() == 1
    assert off(1, 0) == 2 and off(0, 0) == 0 and off(5, 1) == 2
    big = np.random.default_rng(2).random((24, 24)) < 0.5
    assert score(big, big)[0] == 0 and score(np.array([big, big]), big)[0] == 0 and copied(big, big) == 1 and copied(big, ~big) == 0
    assert copied(big, big, many=32) == 1 and halves_share(np.tile(big, (2, 2)), 8) == 1 and halves_share(big, 8) == 0
    meshes = np.tile(np.pad(np.zeros((17, 17), bool), ((3, 0), (3, 0)), constant_values=True), (7, 7))[:128, :128]
    assert [window(meshes[:n, :n], meshes) for n in (63, 128)] == [16, 32] and window(meshes, meshes[:127]) == 16


def main():
    if sys.argv[1:] == ["--check"]:
        check()
        return
    field, *targets = [np.load(name) for name in sys.argv[1:]]
    phases = indicators(field, targets) if field.dtype.kind in "iub" else {int(targets[0].max()): field}
    print(compare(field, phases, targets, 16), "floor", floor(targets, 16))


if __name__ == "__main__":
    main()
