"""What the tests of whole programs run on. Exit status 77 (skipped): NumPy is missing."""
import hashlib
import os
import struct
import sys
import zlib

try:
    import numpy as np
except ImportError:
    print("no numpy")
    sys.exit(77)


def blobs(shape, fractions, seed, width=1.5):
    """Labels 0..P-1 with these volume fractions: smoothed noise, cut by rank."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    for axis, n in enumerate(shape):
        k = np.minimum(np.arange(n), n - np.arange(n))
        wave = np.fft.fft(np.exp(-0.5 * (k / width) ** 2)).real
        noise = np.fft.ifft(np.fft.fft(noise, axis=axis) * wave.reshape([-1 if a == axis else 1 for a in range(len(shape))]), axis=axis).real
    rank = np.argsort(np.argsort(noise.reshape(-1))) / noise.size
    return np.searchsorted(np.cumsum(fractions)[:-1], rank, side="right").reshape(shape).astype(np.uint8)


def grey(shape, phases, seed):
    """A field strictly inside the box, or the simplex (phases last) when there are several."""
    random = np.random.default_rng(seed)
    if phases == 1:
        return random.uniform(0.02, 0.98, shape).astype(np.float32)
    x = random.uniform(0.2, 1, (*shape, phases))
    return (x / x.sum(-1, keepdims=True)).astype(np.float32)


def save(folder, name, array):
    path = os.path.join(folder, name)
    np.save(path, array)
    return path


def undone(rows):
    """Pixels of a PNG whose rows are differences from those above. (accumulate goes down each column, which takes a hundred times as long.)"""
    rows = rows.copy()
    for above, row in zip(rows, rows[1:]):
        row += above
    return rows


def page_of(path):
    """The pixels of a PNG of ours, whose rows are differences from those above."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    return undone(rows[:, 1:]).reshape(height, width, 3)


def digest(path):
    """Of the values of an array."""
    return hashlib.sha256(np.load(path).tobytes()).hexdigest()
