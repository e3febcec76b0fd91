#!/usr/bin/env python3
"""Times steps of training (forward, backward, clipping, AdamW) on cpu beside PyTorch, turn by turn. Needs torch.

train_step.py BENCH_TRAIN_STEP [threads = 1] [rounds = 7] [CASE ...]      prints TSV
ratio: median over the rounds of our time / PyTorch's (convolutions: channels last). memory: bytes of parameters, moments, gradients, samples and
activations of a step, ours as planned, PyTorch's by its profiler. One thread: time of the processor.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ["OMP_WAIT_POLICY"] = "passive"  # both share the cores with others
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools/pytorch"))
from mesoforge_torch import make
from mesoforge_unet import Unet

CASES = {  # arch, batch, extent, width, type of activations, experts
    "mlp": ("mlp", 64, 64, 256, "f32"),
    "cnn": ("cnn", 64, 64, 32, "f32"),
    "vit": ("vit", 64, 64, 128, "f32"),
    "convnext": ("convnext", 64, 64, 32, "f32"),
    "unet": ("unet", 32, 32, 24, "f32"),  # removes noise; one condition
    "vqa": ("vqa", 64, 64, 32, "f32"),  # questions of 16 words of 256, 8 objects, heads of train vqa
    "vqa bf16": ("vqa", 64, 64, 32, "bf16"),
    "cnn bf16": ("cnn", 64, 64, 32, "bf16"),
    "vit bf16": ("vit", 64, 64, 128, "bf16"),
    "vit 384 bf16": ("vit", 64, 64, 384, "bf16"),
    **{f"moe {e}": ("moe", 1024, 28, 256, "f32", e) for e in (8, 16, 64)},  # experts over 784 numbers
    "moe 16 bf16": ("moe", 1024, 28, 256, "bf16", 16),
}
CLASSES, SECONDS = 10, 1.0
WORDS, LENGTH, OBJECTS, HEADS = 256, 16, 8, (2, 14, 26, 4, 14)  # the last: findings


def questions(batch, cells):
    """Inputs besides the image: all tokens and objects are there."""
    share = lambda n: torch.full((batch, 1, n), 1 / n)
    return [torch.arange(batch * LENGTH).view(batch, LENGTH) % WORDS, torch.ones(batch, LENGTH, dtype=torch.bool), share(LENGTH),
            torch.rand(batch, OBJECTS, 6), share(OBJECTS), torch.full((batch, OBJECTS, cells), 1 / cells)]


def loss_of_heads(outputs, target):
    heads = (torch.nn.functional.cross_entropy(y, target % y.shape[1]) for y in outputs[:-1])
    findings = (target[:, None] + torch.arange(HEADS[-1])) % 2
    return sum(heads) + 0.3 * torch.nn.functional.binary_cross_entropy_with_logits(outputs[-1], findings.float())


class Ours:
    def __init__(self, bench, threads, case):
        self.process = subprocess.Popen(
            [bench, str(threads), *map(str, case)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.parameters, self.lasting, self.room = map(int, self.process.stdout.readline().split())

    def milliseconds(self, steps):
        print(steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def memory(self):
        return self.lasting + self.room

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    def __init__(self, case, compiled):
        arch, self.batch, extent, width, precision, *experts = case
        self.half = precision == "bf16"
        torch.manual_seed(0)
        sizes = dict(experts=experts[0], features="none") if experts else dict(words=WORDS) if arch == "vqa" else {}
        noisy, asks = arch == "unet", arch == "vqa"
        self.model = Unet((extent, extent), 1, 1, width=width) if noisy else make(arch, (extent, extent), 1, HEADS if asks else CLASSES, width=width, **sizes)
        if arch in ("cnn", "convnext", "unet", "vqa"):
            self.model = self.model.to(memory_format=torch.channels_last)
        self.loss = torch.nn.MSELoss() if noisy else loss_of_heads if asks else torch.nn.CrossEntropyLoss()
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.forward = torch.compile(self.model) if compiled else self.model
        self.x = [torch.rand(self.batch, extent, extent, 1)]
        self.target = torch.arange(self.batch) % CLASSES
        if asks:
            self.x += questions(self.batch, self.model.visual.position.shape[0])
        if noisy:
            self.x += [torch.rand(self.batch), torch.rand(self.batch, 1)]
            self.target = torch.rand(self.batch, extent, extent, 1)

    def step(self):
        x, target = [x.clone() for x in self.x], self.target.clone()
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            loss = self.loss(self.forward(*x), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()

    def milliseconds(self, steps):
        now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter  # as bench_train_step
        begin = now()
        for _ in range(steps):
            self.step()
        return 1e3 * (now() - begin) / steps

    def memory(self):
        """The most that lives at one time in a step, on top of parameters and moments."""
        from torch.profiler import ProfilerActivity, profile

        self.optimiser.zero_grad(set_to_none=True)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            self.step()
        events = (e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]")
        live = most = 0
        for event in sorted(events, key=lambda e: e.start_ns()):
            live += event.nbytes()
            most = max(most, live)
        return most + 3 * sum(p.nbytes for p in self.model.parameters())


def compare(bench, threads, rounds, name):
    ours = Ours(bench, threads, CASES[name])
    peers = {"eager": Peer(CASES[name], False), "compile": Peer(CASES[name], True)}
    for peer in peers.values():  # compiles, and makes moments
        peer.milliseconds(3)
    steps = max(1, round(1e3 * SECONDS / ours.milliseconds(2)))
    turns = [[ours.milliseconds(steps)] + [p.milliseconds(steps) for p in peers.values()] for _ in range(rounds)]
    for i, (kind, peer) in enumerate(peers.items()):
        ratios = [turn[0] / turn[1 + i] for turn in turns]
        print(
            f"{name}\t{kind}\t{statistics.median(t[0] for t in turns):.2f}\t"
            f"{statistics.median(t[1 + i] for t in turns):.2f}\t{statistics.median(ratios):.2f}\t{min(ratios):.2f}\t{max(ratios):.2f}\t"
            f"{ours.memory() / 2**20:.1f}\t{peer.memory() / 2**20:.1f}",
            flush=True,
        )
    ours.close()


def main():
    words = sys.argv[1:] + ["1", "7"][len(sys.argv) - 2 :]
    bench, threads, rounds = words[0], int(words[1]), int(words[2])
    torch.set_num_threads(threads)
    print(f"# torch {torch.__version__}, {threads} threads, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("network\tpeer\tms\tpeer_ms\tratio\tleast\tmost\tMiB\tpeer_MiB")
    for name in words[3:] or CASES:
        compare(bench, threads, rounds, name)


main()
