#!/usr/bin/env python3
"""Turns weights that PyTorch saved (.pth, .pt, .bin) into a .safetensors file, which mesoforge reads. Needs PyTorch.

    pth2safetensors.py weights.pth [-o weights.safetensors] [--key ema] [--prefix module.]

PyTorch opens the file with weights_only=True: it takes arrays and plain Python objects, and runs nothing else of the pickle.
Names, extents and types of arrays stay. --key names the part of a checkpoint that has the weights; without it, it is the only
one with arrays. --prefix is cut off the names of those arrays that have it."""
import argparse
import json
import os
import pickle
import sys

try:
    import torch
except ImportError as missing:
    if not {"-h", "--help"} & set(sys.argv):
        sys.exit(f"pth2safetensors: {missing}; it needs PyTorch")
    torch = None


def arrays_of(content, key):
    """Names and arrays of a state_dict, which a checkpoint may hold beside other things."""
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__}, not a state_dict")
    parts = {"": content, **{name: part for name, part in content.items() if isinstance(part, dict)}}
    parts = {name: {k: v for k, v in part.items() if isinstance(v, torch.Tensor)} for name, part in parts.items()}
    parts = {name: part for name, part in parts.items() if part}
    if key is None and len(parts) == 1:
        return next(iter(parts.values()))
    if key is None and "" in parts:
        return parts[""]
    if key not in parts:
        raise ValueError(f"choose the part with the weights: --key {', '.join(name for name in parts if name) or '(no part has arrays)'}")
    return parts[key]


def write(path, arrays):
    words = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64", torch.int64: "I64", torch.int32: "I32",
             torch.uint8: "U8", torch.bool: "BOOL"}
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        if array.dtype not in words:
            raise ValueError(f"array '{name}' is of type {array.dtype}")
        size = array.numel() * array.element_size()
        header[name] = {"dtype": words[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".part", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            flat = array.detach().cpu().contiguous().reshape(-1)
            if flat.numel():
                file.write(memoryview(flat.view(torch.uint8).numpy()))
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("-o", "--output")
    parser.add_argument("--key")
    parser.add_argument("--prefix", default="")
    given = parser.parse_args()
    output = given.output or os.path.splitext(given.file)[0] + ".safetensors"
    try:
        if os.path.exists(output):
            raise ValueError(f"'{output}' is there already; name another output by -o")
        arrays = arrays_of(torch.load(given.file, map_location="cpu", weights_only=True), given.key)
        named = {name.removeprefix(given.prefix): array for name, array in arrays.items()}
        if len(named) < len(arrays):
            raise ValueError("without the prefix some names are the same")
        write(output, named)
    except pickle.UnpicklingError:
        sys.exit(f"pth2safetensors: {given.file}: no pickle, or one with more than arrays, which may run any code; save the state_dict alone by the program that made it")
    except Exception as wrong:  # torch.load has many kinds of them
        sys.exit(f"pth2safetensors: {given.file}: {str(wrong).splitlines()[0] if str(wrong) else type(wrong).__name__}")
    print(f"{output}: {len(arrays)} arrays, {sum(a.numel() for a in arrays.values())} numbers")


main()
