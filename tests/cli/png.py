"""PNG of 1, 8 or 16 bits, grey or coloured, without any library of pictures."""
import struct
import zlib

import numpy

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write(path, values, bits=8):
    """@values: [y][x] of grey, or [y][x][3]; @bits: of a value."""
    rows = [numpy.packbits(r.astype("u1")) if bits == 1 else r.astype(f">u{bits // 8}") for r in values]
    head = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], bits, 2 if values.ndim == 3 else 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + r.tobytes() for r in rows))
    with open(path, "wb") as file:
        file.write(SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def between(left, up, corner):
    """Paeth's predictor."""
    guess = left + up - corner
    return min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]


def unfiltered(kind, row, above, step):
    """Bytes of a row that was stored as differences."""
    if kind in (0, 2):
        row += above * (kind // 2)
        return row
    for i in range(len(row)):
        left, corner = (int(row[i - step]), int(above[i - step])) if i >= step else (0, 0)
        up = int(above[i])
        row[i] = (int(row[i]) + (0, left, up, (left + up) // 2, between(left, up, corner))[kind]) & 255
    return row


def read(path):
    """Values of a PNG of 8 bits that is not interlaced: [y][x], or [y][x][3]."""
    data, at, packed = open(path, "rb").read(), len(SIGNATURE), b""
    assert data[:at] == SIGNATURE, path
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        assert data[at:at + 12 + length] == chunk(name, body), path
        if name == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    assert bits == 8 and colour in (0, 2), path
    step = 3 if colour == 2 else 1
    raw = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, 1 + width * step).copy()
    above = numpy.zeros(width * step, "u1")
    for row in raw:
        above = unfiltered(row[0], row[1:], above, step)
    return raw[:, 1:].reshape((height, width, 3) if step == 3 else (height, width))
