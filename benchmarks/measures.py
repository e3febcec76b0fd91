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


def main():
    if sys.argv[1:] == ["--check"]:
        check()
        return
    field, *targets = [np.load(name) for name in sys.argv[1:]]
    phases = indicators(field, targets) if field.dtype.kind in "iub" else {int(targets[0].max()): field}
    print(compare(field, phases, targets, 16), "floor", floor(targets, 16))


if __name__ == "__main__":
    main()
