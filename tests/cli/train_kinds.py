#!/usr/bin/env python3
"""Networks of all kinds on a GPU make the steps that cores make; a library that is missing is named. On the emulator (MF_CUDA_LIBRARY) and the
stand-ins of the libraries.
usage: train_kinds.py MESOFORGE"""
import json
import os
import re
import sys
import tempfile

import runs
from runs import around, check, finish

program = os.path.abspath(sys.argv[1])
scratch = tempfile.TemporaryDirectory()  # gone when the program ends
os.chdir(scratch.name)


def train(folder, arch, *words, status=0, **env):
    done = runs.run(program, "train", "classify", "--data", "set.h5", "--results-dir", folder, "--arch", arch, "--width", 16, "--depth", 2,
                    "--effective-batch", 8, "--max-steps", 3, "--threads", 1, "--no-plots", "--no-events", *words, env=around(**env))
    check(done.status == status, f"{folder} {words}: {done.status} {done.err[-500:]}")
    return done


def steps(folder, what):
    with open(f"{folder}/metrics.jsonl") as file:
        return [row[what] for row in map(json.loads, file) if row["kind"] == "step"]


check(runs.run(program, "synth", "--num-samples", 24, "--size", 16, 16, "--output", "set.h5").status == 0, "synth")
for arch in ("mlp", "cnn", "vit"):
    train(f"{arch}-cores", arch)
    train(f"{arch}-gpu", arch, "--device", "cuda")
    got, want = steps(f"{arch}-gpu", "loss"), steps(f"{arch}-cores", "loss")
    check(len(got) == 3 and all(abs(a - b) <= 1e-5 for a, b in zip(got, want)), f"{arch}: losses {got}, want {want}")
    for half in ("fp16", "bf16"):
        train(f"{arch}-{half}", arch, "--device", "cuda", "--precision-type", half)
        for what in ("loss", "norm"):
            got, want = steps(f"{arch}-{half}", what), steps(f"{arch}-cores", what)
            check(len(got) == 3 and all(abs(a - b) <= 0.03 * b for a, b in zip(got, want)), f"{arch}, {half}: {what} {got}, want {want}")



def tuned(*words, **env):
    """What a run with --compile-mode max-autotune says of algorithms: those tried, those remembered."""
    done = train("tuned", "cnn", "--compile-mode", "max-autotune", "--restart", "no", *words, XDG_CACHE_HOME=f"{scratch.name}/cache", **env)
    said = re.search(r"algorithms: (\d+) operations? tried in [\d.]+ s, (\d+) remembered", done.err)
    return done, [int(n) for n in said.groups()] if said else None


# Algorithms are tried once; later runs, and other ranks, read of the fastest. A damaged file counts as empty.
done, (tried, before) = tuned("--device", "cuda")
got, want = steps("tuned", "loss"), steps("cnn-cores", "loss")
check(tried > 3 and len(got) == 3 and all(abs(a - b) <= 1e-5 for a, b in zip(got, want)), f"tuned: losses {got}, want {want}; {done.err}")
with open("cache/mesoforge/algorithms.txt") as file:
    kept = file.read()
check(kept.count("\n") == tried + 1 and "emulated GPU, driver 13000, cuBLASLt 13.0.2, product of" in kept and "cuDNN 9.1.0, convolution of weights, " in kept, kept)
done, counts = tuned("--device", "cuda")
check(counts == [0, tried + before] and "is damaged" not in done.err, f"{counts} {done.err}")
for wrong in (kept[:-3], kept.replace("driver", "driven", 1), "", kept + "\0"):
    with open("cache/mesoforge/algorithms.txt", "w") as file:
        file.write(wrong)
    done, counts = tuned("--device", "cuda")
    check(done.err.count("algorithms.txt' is damaged and counts as empty") == 1 and counts == [tried, before], f"{counts} {done.err}")
    with open("cache/mesoforge/algorithms.txt") as file:
        check(sorted(file) == sorted(kept.splitlines(True)), "a damaged file is not written anew")
check(os.listdir("cache/mesoforge") == ["algorithms.txt"], os.listdir("cache/mesoforge"))
done, counts = tuned("--device", "cuda", "--deterministic")
check(counts is None and "--deterministic chooses nothing by time; the run goes on" in done.err, done.err)
done, counts = tuned("--device", "cpu")
check(counts is None and "there is nothing to try on cores; the run goes on" in done.err, done.err)

# Patches of a vit are a product: it needs no cuDNN.
for arch, variable, name in (("cnn", "MF_CUDNN_LIBRARY", "cuDNN 9"), ("vit", "MF_CUBLASLT_LIBRARY", "cuBLASLt")):
    done = train("never", arch, "--device", "cuda", status=4, **{variable: "/nowhere.so"})
    own = [line for line in done.err.splitlines() if line.startswith("mesoforge: ")]
    check(len(own) == 1 and f"this network needs {name} on a GPU" in own[0], f"{arch} without {name}: {done.err}")
train("patches", "vit", "--device", "cuda", MF_CUDNN_LIBRARY="/nowhere.so")
finish("train_kinds")
