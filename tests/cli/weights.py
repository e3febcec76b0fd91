"""A file of weights of VGG-19, of random numbers."""
import json

from samples import np

CHANNELS = (3, 64, 64, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512, 512, 512, 512, 512)
LAYERS = [(block, i == count, f"conv{block}_{i}") for block, count in enumerate((2, 2, 4, 4, 4), 1) for i in range(1, count + 1)]


def network():
    """Weights that leave activations at about one, some of them below zero."""
    random = np.random.default_rng(7)
    arrays = {"mean": np.array([120, 115, 101], "<f4")}
    for i, (_, _, name) in enumerate(LAYERS):
        n, m = CHANNELS[i], CHANNELS[i + 1]
        scale = 1 / 128 if i == 0 else 1
        arrays[f"{name}.weight"] = random.standard_normal((m, n, 3, 3), np.float32) * np.float32(scale * np.sqrt(2 / (9 * n)))
        arrays[f"{name}.bias"] = 0.2 * random.standard_normal(m, np.float32)
    return arrays


def write(path, arrays, change=lambda header: header, length=None, tail=b""):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = change(header)
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    with open(path, "wb") as file:
        file.write((len(text) if length is None else length).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.tobytes())
        file.write(tail)
    return path
