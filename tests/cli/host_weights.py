#!/usr/bin/python3
"""Weights of a model in host memory, beside a GPU (the emulator) that holds half of them: answers have the bits of a GPU
that holds all, and bytes of both memories are those of the plan. A language model, and a network of train.
usage: host_weights.py MESOFORGE FOLDER_OF_FAKE_NVML MODEL MPIEXEC"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish

program, fake, model = (os.path.abspath(word) for word in sys.argv[1:4])
ENV = dict(os.environ, LD_LIBRARY_PATH=fake + ":" + os.environ.get("LD_LIBRARY_PATH", ""), FAKE_NVML_GPUS="2", MF_EMU_DEVICES="2")
LAYERS, MEMORY = 8, 80 * 2**30


def deepen(folder):
    """The same layers again and again."""
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    with open(os.path.join(model, "model.safetensors"), "rb") as file:
        data = file.read()
    begin = 8 + int.from_bytes(data[:8], "little")
    arrays, body, had = {}, b"", config["n_layer"]
    for name, entry in json.loads(data[8:begin]).items():
        if name == "__metadata__":
            continue
        first, end = entry["data_offsets"]
        before, _, behind = name.partition(".h.")
        names = [f"{before}.h.{k}.{behind.split('.', 1)[1]}" for k in range(int(behind[0]), LAYERS, had)] if behind else [name]
        for one in names:
            arrays[one] = dict(entry, data_offsets=[len(body), len(body) + end - first])
            body += data[begin + first:begin + end]
    head = json.dumps(arrays).encode()
    head += b" " * (-len(head) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head + body)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(dict(config, n_layer=LAYERS), file)


def infer(code, *words, ranks=1):
    status, out, err = runs.run(program, "infer", "text-generation", ".", "--tokens", "5,7,9", "--max-new-tokens", "2", "--device", "cuda",
                                "--json", *words, env=ENV, ranks=ranks, mpiexec=sys.argv[4:])
    check(status == code, f"{words}: {status}, want {code}: {err[-600:]}")
    return json.loads(out) if status == 0 else err


def classify(code, *words):
    status, out, err = runs.run(program, "infer", "classify", "run/model.safetensors", "set.h5", "--batch-size", 1, "--device", "cuda", "--json",
                                *words, env=ENV)
    check(status == code, f"{words}: {status}, want {code}: {err[-600:]}")
    return json.loads(out) if status == 0 else err


def network():
    """A transformer of eight blocks."""
    for words in (("synth", "--num-samples", 8, "--size", 8, 8, "--output", "set.h5"),
                  ("train", "classify", "--data", "set.h5", "--arch", "vit:width=32,depth=8,heads=2,patch=4", "--epochs", 1, "--results-dir", "run")):
        status, _, err = runs.run(program, *words, "--device", "cpu", "--threads", 1, env=ENV)
        check(status == 0, f"{words}: {err}")
    whole = classify(0)
    bytes_ = whole["peak_bytes"]["device"][0]
    half = ("--gpu-memory-fraction", bytes_ / 2 / MEMORY)
    check("--gpu-memory-fraction" in classify(5, *half), "a network does not fit half of its bytes")
    for fraction, least in ((0.5, LAYERS - 1), (0.8, 2)):
        done = classify(0, "--offload-weights", "host", "--gpu-memory-fraction", fraction * bytes_ / MEMORY)
        peak, streamed = done["peak_bytes"], done["plan"]["settings"]["streamed"]
        check(done["predictions"] == whole["predictions"], "a network answers with the same bits")
        check(peak["device"] == peak["predicted_device"] and peak["device"][0] <= fraction * bytes_, f"a network on the GPU: {peak}")
        check(peak["arena"] == peak["predicted"], f"a network on the host: {peak}")
        check(least <= streamed <= LAYERS + 2, f"parts of a network in host memory: {streamed}")


def read(path):
    with open(path, "rb") as file:
        return file.read()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    deepen(folder)
    whole = infer(0, "--logits", "whole.npy")
    weights = whole["plan"]["bytes"]["arrays"]["weights"]
    half = ("--gpu-memory-fraction", weights / 2 / MEMORY)
    check("--gpu-memory-fraction" in infer(5, *half), "weights do not fit half of their bytes")
    for fraction, least in ((0.5, LAYERS - 1), (0.8, 3)):
        done = infer(0, "--logits", "half.npy", "--offload-weights", "host", "--gpu-memory-fraction", fraction * weights / MEMORY)
        peak, plan = done["peak_bytes"], done["plan"]
        check(read("half.npy") == read("whole.npy"), "the same bits")
        check(peak["device"] == peak["predicted_device"] and peak["device"][0] <= fraction * weights, f"of the GPU: {peak}")
        check(peak["arena"] == peak["predicted"], f"of the host: {peak}")
        check(least <= plan["settings"]["streamed"] <= LAYERS + 2, f"parts in host memory: {plan['settings']}")
        check(plan["host_bytes"]["arrays"]["weights in host memory"] > 0.2 * weights, f"{plan['host_bytes']}")
    infer(0, "--logits", "tied.npy", "--offload-weights", "host", "--plan", "off", "--pp", 2, ranks=2)
    check(read("tied.npy") == read("whole.npy"), "the table of tokens, which the head reads too, is in the host memory of two stages")
    network()
finish("host_weights")
