#!/usr/bin/env python3
"""Trains the network that answers questions about made microstructures, beside the same network in PyTorch. Needs torch, h5py, tokenizers.

vqa.py MESOFORGE [seeds = 3] [SAMPLES = 6000] [EPOCHS = 10] [EXTENT = 64]    prints TSV: accuracy by type on the test split, fresh images and held-out words
vqa.py start MESOFORGE [rounds = 5]      seconds of a run of one step with all scores, beside `accelerate launch` (needs accelerate)
Both sides have the same questions, sizes, flips, optimiser and schedule; start weights and orders are their own. We answer the questions of an image together. The score is that of the epoch that is best on
the validation split.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

RATE, DECAY, BATCH, EACH, FINDINGS, WITHOUT, GRID = 1e-3, 0.01, 64, 4, 0.3, 0.1, 5  # BATCH: questions of a step; EACH: of an image


def synth(program, path, samples, extent):
    words = ["synth", "--num-samples", str(samples), "--size", str(extent), str(extent), "--questions", str(EACH), "--output", str(path)]
    subprocess.run([program, *words], check=True, capture_output=True)


def train(program, path, seed, epochs, *more):
    words = ["train", "vqa", "--data", str(path), "--epochs", str(epochs), "--learning-rate", str(RATE), "--weight-decay", str(DECAY)]
    words += ["--effective-batch", str(BATCH // EACH), "--seed", str(seed), "--results-dir", str(path.parent / f"run{seed}"), "--no-plots", "--json", *more]
    done = subprocess.run([program, *words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


# -- PyTorch --


class Questions:
    """All questions of a file in numbers of the network."""

    def __init__(self, path):
        import h5py
        import torch
        from tokenizers import BertWordPieceTokenizer

        with h5py.File(path) as f:
            self.x = torch.tensor(f["samples/x"][:]).float()[..., None]
            self.sample, self.label, self.type = (torch.tensor(f[f"questions/{k}"][:].astype("int64")) for k in ("sample", "label", "type"))
            self.split = torch.tensor(f["index/split"][:])[self.sample]
            texts = [row.tobytes().rstrip(b"\0").decode() for row in f["questions/text"][:]]
            words = f["questions/vocabulary"][()].decode().split()
            self.types = list(f["questions/type"].attrs["types"])
            self.outputs = [int(n) for n in f["questions/label"].attrs["answers"]]
            self.object = torch.tensor(f["samples/objects"][:])
            findings = torch.tensor(f["samples/findings"][:]).float()
        self.findings = torch.where(findings > 1, torch.nan, findings)
        self.outputs.append(findings.shape[1])
        self.words = len(words)
        cut = BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
        rows = [cut.encode(text).ids for text in texts]
        self.seen = torch.arange(-(-max(map(len, rows)) // 8) * 8) < torch.tensor([len(row) for row in rows])[:, None]
        self.tokens = torch.zeros(self.seen.shape, dtype=torch.int64)
        for i, row in enumerate(rows):
            self.tokens[i, :len(row)] = torch.tensor(row)
        self.map = [math.ceil(n / 8) for n in self.x.shape[1:3]]

    def region(self, box):
        """Shares of the cells of the last feature map in boxes."""
        import torch

        def overlap(first, end, n):
            k = torch.arange(n)
            return (torch.minimum(end[..., None] * n, k + 1) - torch.maximum(first[..., None] * n, k)).clamp(min=0)

        both = overlap(box[..., 0], box[..., 2], self.map[0])[..., None] * overlap(box[..., 1], box[..., 3], self.map[1])[..., None, :]
        return both.flatten(-2) / both.sum((-2, -1)).clamp(min=1e-9)[..., None]

    def rows(self, items, train):
        """Inputs of the network, labels and findings; flipped at random, a tenth without objects."""
        import torch

        n, of = len(items), self.sample[items]
        x, box, place = self.x[of].clone(), self.object[of].clone(), self.label[items, 2].clone()
        there = (box[..., 2] > box[..., 0]) & (box[..., 3] > box[..., 1])
        if train:
            there &= (torch.rand(n) >= WITHOUT)[:, None]
            for axis, step in ((0, GRID), (1, 1)):
                flip = torch.rand(n) < 0.5
                x[flip] = x[flip].flip(1 + axis)
                box[flip, :, axis], box[flip, :, axis + 2] = 1 - box[flip, :, axis + 2], 1 - box[flip, :, axis]
                cell = place // step % GRID
                place = torch.where(flip & (place >= 0) & (place < GRID * GRID), place + (GRID - 1 - 2 * cell) * step, place)
        label = self.label[items].clone()
        label[:, 2] = place
        box *= there[..., None]
        share = [mask.float() / mask.sum(1, keepdim=True).clamp(min=1) for mask in (self.seen[items], there)]
        inputs = x, self.tokens[items], self.seen[items], share[0][:, None], box, share[1][:, None], self.region(box) * there[..., None]
        return inputs, label, self.findings[of]


def loss_of(outputs, label, findings):
    from torch.nn import functional

    loss, known = 0, ~findings.isnan()
    for h, y in enumerate(outputs[:-1]):
        if (label[:, h] >= 0).any():
            loss = loss + functional.cross_entropy(y, label[:, h], ignore_index=-1)
    return loss + FINDINGS * functional.binary_cross_entropy_with_logits(outputs[-1][known], findings[known])


def rate_of(step, steps):
    warm = min(steps // 20, 500)
    if step < warm:
        return RATE * (step + 1) / (warm + 1)
    return RATE * (1 + math.cos(math.pi * (step - warm) / (steps - warm))) / 2


def accuracy(model, q, split):
    """Of each type."""
    import torch

    right, asked = torch.zeros(len(q.types)), torch.zeros(len(q.types))
    model.eval()
    with torch.no_grad():
        for items in (q.split == split).nonzero()[:, 0].split(256):
            inputs, label, _ = q.rows(items, False)
            outputs = model(*inputs)
            for h, y in enumerate(outputs[:-1]):
                counts = label[:, h] >= 0
                right.index_add_(0, q.type[items][counts], (y.argmax(1) == label[:, h])[counts].float())
                asked.index_add_(0, q.type[items][counts], counts[counts].float())
    return {name: 100 * (r / a).item() for name, r, a in zip(q.types, right, asked)}


def model_of(q):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools/pytorch"))
    from mesoforge_torch import Vqa

    return Vqa(q.x.shape[1:3], 1, q.outputs, q.words, width=16, text_width=64, text_depth=1)


def peer(path, seed, epochs):
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    q = Questions(path)
    model = model_of(q)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    train_items = (q.split == 0).nonzero()[:, 0]
    steps, step, best, score = epochs * -(-len(train_items) // BATCH), 0, -1, None
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(train_items)).split(BATCH):
            inputs, label, findings = q.rows(train_items[rows], True)
            optimiser.zero_grad()
            loss_of(model(*inputs), label, findings).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.param_groups[0]["lr"] = rate_of(step, steps)
            optimiser.step()
            step += 1
        seen = statistics.mean(accuracy(model, q, 1).values())
        if seen > best:
            best, score = seen, accuracy(model, q, 2)
    return score


def first_step(path):
    """What `accelerate launch` runs: one step of two processes."""
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    q = Questions(path)
    items = (q.split == 0).nonzero()[:, 0]
    model, optimiser = model_of(q), None
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    model, optimiser = accelerator.prepare(model, optimiser)
    inputs, label, findings = q.rows(items[accelerator.process_index:BATCH:accelerator.num_processes], True)
    accelerator.backward(loss_of(model(*inputs), label, findings))
    optimiser.step()


# -- the two beside each other --


def compare(program, seeds, samples, epochs, extent):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "q.h5"
        synth(program, path, samples, extent)
        for seed in range(1, seeds + 1):
            begin = time.process_time(), os.times()
            ours = {name: 100 * right for name, right in train(program, path, seed, epochs, "--threads", "1")["test"]["types"].items()}
            middle = time.process_time(), os.times()
            theirs = peer(path, seed, epochs)
            spent = sum(middle[1][2:4]) - sum(begin[1][2:4]), time.process_time() - middle[0]
            found.append((ours, theirs, spent))
            print(f"# seed {seed}: {spent[0]:.0f} s of the processor, PyTorch {spent[1]:.0f} s", flush=True)
    print("type\tseeds\taccuracy\ttorch\tdifference")
    for name in found[0][1]:
        a, b = ([pair[k][name] for pair in found] for k in (0, 1))
        print(f"{name}\t{seeds}\t{statistics.mean(a):.2f}\t{statistics.mean(b):.2f}\t{statistics.mean(a) - statistics.mean(b):+.2f}")


def seconds(words):
    """Of the clock, and of the processor."""
    clock, before = time.monotonic(), os.times()
    subprocess.run(words, check=True, capture_output=True)
    return time.monotonic() - clock, sum(os.times()[2:4]) - sum(before[2:4])


def start(program, rounds):
    here = pathlib.Path(__file__).resolve()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "q.h5"
        synth(program, path, 100, 64)
        ours = ["mpirun", "-n", "2", program, "train", "vqa", "--data", str(path), "--max-steps", "1", "--effective-batch", str(BATCH // EACH), "--no-plots", "--threads", "1"]
        theirs = [str(pathlib.Path(sys.executable).parent / "accelerate"), "launch", "--cpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no",
                  "--dynamo_backend", "no", "--num_cpu_threads_per_process", "1", str(here), "first", str(path)]
        pairs = [(seconds([*ours, "--results-dir", f"{folder}/run{k}"]), seconds(theirs)) for k in range(rounds)]
    print("seconds of\tours\taccelerate\tratio")
    for k, name in enumerate(("the clock", "the processor")):
        print(name, *(f"{statistics.median(pair[i][k] for pair in pairs):.2f}" for i in (0, 1)), f"{statistics.median(b[k] / a[k] for a, b in pairs):.1f}", sep="\t")


def main():
    words = sys.argv[1:]
    if not words:
        sys.exit(__doc__)
    if words[0] == "first":
        return first_step(words[1])
    if words[0] == "start":
        return start(str(pathlib.Path(words[1]).resolve()), int(words[2]) if len(words) > 2 else 5)
    numbers = [int(word) for word in words[1:]]
    return compare(str(pathlib.Path(words[0]).resolve()), *numbers, *(3, 6000, 10, 64)[len(numbers):])


main()
