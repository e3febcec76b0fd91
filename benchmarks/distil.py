#!/usr/bin/env python3
"""Times a distillation (a step of the generator, then steps of its score network) on cpu beside PyTorch. Needs torch.

distil.py MESOFORGE SET.h5 TEACHER.safetensors [score steps = 3] [rounds = 5]      prints TSV
Both have one thread and the network of the teacher: --arch unet:width=24, images of 32 x 32 pixels, 32 in a step. ours: seconds of a turn, from
--json; peer: the same in PyTorch, eager and compiled, channels last.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools/pytorch"))
from mesoforge_unet import Unet

BATCH, EXTENT, WIDTH, START, TURNS = 32, 32, 24, 2.5, 8


def ours(program, data, teacher, score_steps):
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "train", "unet", "--data", data, "--teacher", teacher, "--score-steps", score_steps, "--max-steps", TURNS, "--effective-batch", BATCH,
                 "--made-samples", 0, "--no-plots", "--threads", 1, "--plan", "off", "--json", "--results-dir", folder]
        text = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["seconds_per_step"]


class Network:
    """A network, its optimiser, and its estimate of x0."""

    def __init__(self, compiled, rate):
        self.net = Unet((EXTENT, EXTENT), 1, 1, width=WIDTH).to(memory_format=torch.channels_last)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), lr=rate, betas=(0.0, 0.99), fused=True)
        self.forward = torch.compile(self.net) if compiled else self.net

    def estimate(self, x, sigma, condition):
        s = sigma[:, None, None, None]
        all_ = s * s + 0.25
        return 0.25 / all_ * x + 0.5 * s / all_.sqrt() * self.forward(x / all_.sqrt(), sigma.log() / 4, condition)

    def learn(self, loss):
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 10.0)
        self.optimiser.step()


class Peer:
    def __init__(self, compiled, score_steps):
        torch.manual_seed(0)
        self.steps = score_steps
        self.generator, self.teacher, self.score = (Network(compiled, rate) for rate in (3e-4, 0.0, 1e-3))

    def make(self, condition):
        return self.generator.estimate(START * torch.randn(BATCH, EXTENT, EXTENT, 1), torch.full((BATCH,), START), condition)

    def noisy(self, x):
        place = 0.02 + 0.96 * torch.rand(BATCH)
        sigma = (80 ** (1 / 7) + place * (0.002 ** (1 / 7) - 80 ** (1 / 7))) ** 7
        return sigma, x + sigma[:, None, None, None] * torch.randn_like(x)

    def turn(self):
        condition = torch.rand(BATCH, 1)
        x = self.make(condition)
        sigma, seen = self.noisy(x.detach())
        with torch.no_grad():
            real, made = (one.estimate(seen, sigma, condition) for one in (self.teacher, self.score))
            g = torch.nan_to_num((made - real) / (x - real).abs().mean((1, 2, 3), keepdim=True))
        self.generator.learn(0.5 * torch.nn.functional.mse_loss(x, (x - g).detach()))
        for _ in range(self.steps):
            with torch.no_grad():
                x = self.make(condition)
            sigma, seen = self.noisy(x)
            weight = (1 / sigma**2 + 4)[:, None, None, None]
            self.score.learn((weight * (self.score.estimate(seen, sigma, condition) - x) ** 2).mean())

    def seconds(self):
        begin = time.perf_counter()
        for _ in range(TURNS):
            self.turn()
        return (time.perf_counter() - begin) / TURNS


def main():
    program, data, teacher, *rest = sys.argv[1:]
    score_steps, rounds = (int(w) for w in (rest + ["3", "5"][len(rest) :]))
    torch.set_num_threads(1)
    peers = {"eager": Peer(False, score_steps), "compile": Peer(True, score_steps)}
    for peer in peers.values():
        peer.turn()
    turns = [[ours(program, data, teacher, score_steps)] + [p.seconds() for p in peers.values()] for _ in range(rounds)]
    print(f"# torch {torch.__version__}, one thread, {score_steps} score steps, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("peer\tours_s\tpeer_s\tratio\tleast\tmost")
    for i, kind in enumerate(peers):
        ratios = [turn[0] / turn[1 + i] for turn in turns]
        print(f"{kind}\t{statistics.median(t[0] for t in turns):.3f}\t{statistics.median(t[1 + i] for t in turns):.3f}\t{statistics.median(ratios):.2f}\t{min(ratios):.2f}\t{max(ratios):.2f}")


main()
