#!/usr/bin/env python3
"""Trains on scikit-learn's digits (1797 images of 8 x 8), or on made microstructures of 32 x 32, beside PyTorch. Needs torch, scikit-learn, h5py.

digits.py MESOFORGE [seeds = 5] [SAMPLES]      prints TSV. SAMPLES: so many microstructures; left out: digits
Both sides have the same network, samples of each split, optimiser and schedule; start weights and orders are their own. The score is the accuracy on the
test split (digits: 30 %, else 10 %) of the epoch that is best on the validation split (10 %), in percent: mean and deviation over the seeds.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

os.environ["OMP_WAIT_POLICY"] = "passive"
os.environ["OMP_NUM_THREADS"] = "1"
import h5py
import numpy
import torch
from sklearn.datasets import load_digits

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools/pytorch"))
from mesoforge_torch import make

CASES = {
    "mlp": dict(width=64, depth=2),
    "cnn": dict(width=16, depth=2),
    "moe": dict(width=64, depth=2, experts=8, top_k=2, features="none", balance=0),
}
EPOCHS, BATCH, RATE, DECAY = 30, 64, 3e-3, 0.01
MADE = {"cnn": dict(), "moe": dict(width=64, depth=1, experts=8, top_k=2, features="cnn", balance=0)}


def dataset(program, folder):
    digits = load_digits()
    numpy.save(folder / "x.npy", digits.images.astype(numpy.uint8))
    numpy.save(folder / "label.npy", digits.target.astype(numpy.int32))
    words = ["data", "import", "x.npy", "--labels", "label.npy", "--train", "0.6", "--validation", "0.1"]
    subprocess.run([program, *words, "--output", "digits.h5"], cwd=folder, check=True, capture_output=True)


def made(program, folder, samples):
    words = [program, "synth", "--num-samples", str(samples), "--size", "32", "32", "--output", "digits.h5"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


def ours(program, folder, arch, seed):
    sizes = [word for k, v in CASES[arch].items() for word in (f"--{k.replace('_', '-')}", str(v))]
    words = ["train", "classify", "--data", "digits.h5", "--arch", arch, *sizes, "--epochs", str(EPOCHS)]
    words += ["--learning-rate", str(RATE), "--weight-decay", str(DECAY), "--effective-batch", str(BATCH)]
    words += ["--seed", str(seed), "--results-dir", f"{arch}{seed}", "--threads", "1", "--no-plots", "--json"]
    done = subprocess.run([program, *words], cwd=folder, check=True, capture_output=True, text=True)
    return 100 * json.loads(done.stdout)["test"]["accuracy"]


def accuracy(model, x, label):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == label).double().mean().item()


def rate_of(step, steps):
    warm = min(steps // 20, 500)
    if step < warm:
        return RATE * (step + 1) / (warm + 1)
    return RATE * (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2


def theirs(folder, arch, seed):
    with h5py.File(folder / "digits.h5") as f:
        x, label, split = (torch.tensor(f[k][:]) for k in ("samples/x", "samples/label", "index/split"))
    x, label = x.float()[..., None], label.long()
    if x.max() > 1:  # grey, not phases
        x = (x - x[split == 0].mean()) / x[split == 0].std()
    train, validation, test = ((x[split == k], label[split == k]) for k in range(3))
    torch.manual_seed(seed)
    sizes = {k: v for k, v in CASES[arch].items() if k != "balance"}
    model = make(arch, x.shape[1:3], 1, int(label.max()) + 1, **sizes)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    steps, step = EPOCHS * -(-len(train[0]) // BATCH), 0
    best, score = -1, 0
    for _ in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(train[0])).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(train[0][rows]), train[1][rows]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.param_groups[0]["lr"] = rate_of(step, steps)
            optimiser.step()
            step += 1
        seen = accuracy(model, *validation)
        if seen > best:
            best, score = seen, 100 * accuracy(model, *test)
    return score


def main():
    program, seeds = str(pathlib.Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    torch.set_num_threads(1)
    print("network\tseeds\taccuracy\tdeviation\ttorch\ttorch_deviation\tdifference")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if len(sys.argv) > 3:
            CASES.clear()
            CASES.update(MADE)
            made(program, folder, int(sys.argv[3]))
        else:
            dataset(program, folder)
        for arch in CASES:
            a, b = zip(*((ours(program, folder, arch, s), theirs(folder, arch, s)) for s in range(1, seeds + 1)))
            print(
                f"{arch}\t{seeds}\t{statistics.mean(a):.2f}\t{statistics.stdev(a):.2f}\t{statistics.mean(b):.2f}\t"
                f"{statistics.stdev(b):.2f}\t{statistics.mean(a) - statistics.mean(b):+.2f}",
                flush=True,
            )


main()
