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
