#!/usr/bin/env python3
"""Times layers of experts on cpu, forward and backward, beside PyTorch's loop over experts and beside dense layers of the same operations,
turn by turn. Needs torch.

moe.py BENCH_MOE [threads = 1] [rounds = 7] [f32|bf16] [CASE ...]      prints TSV
Rows go to two experts each, drawn by Zipf's law. speedup: median over the rounds of PyTorch's time / ours. of_dense: that of the time of
dense layers / ours, and the same of PyTorch. One thread: time of the processor.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_WAIT_POLICY"] = "passive"  # both share the cores with others
import torch

ROWS, TOP, SECONDS = 4096, 2, 1.0
CASES = [f"{experts} {widths}" for widths in ("784-512-256", "784-256-256-10") for experts in (8, 16, 64)]


def draw(experts):
    """Logits whose two best follow Zipf's law: its logarithms, and noise of Gumbel."""
    torch.manual_seed(0)
    law = -torch.log(torch.arange(1.0, experts + 1))
    return law - torch.log(-torch.log(torch.rand(ROWS, experts)))


class Ours:
    def __init__(self, words):
        self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def milliseconds(self, steps):
        print(steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def mlp(widths):
    layers = []
    for k, m in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(k, m), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


class Peer:
    def __init__(self, logits, widths, half):
        self.logits, self.half = logits, half
        self.experts = torch.nn.ModuleList(mlp(widths) for _ in range(max(1, logits.shape[1])))
        self.x = torch.randn(ROWS if logits.shape[1] else TOP * ROWS, widths[0], requires_grad=True)
        self.outputs = widths[-1]
        self.logits.requires_grad_()

    def layer(self):
        if not self.logits.shape[1]:
            return self.experts[0](self.x)
        best, choice = self.logits.topk(TOP, dim=-1)
        weight = best.softmax(-1)
        out = torch.zeros(ROWS, self.outputs)
        for e, expert in enumerate(self.experts):
            row, slot = torch.where(choice == e)
            out.index_add_(0, row, (expert(self.x[row]) * weight[row, slot, None]).float())
        return out

    def step(self):
        self.experts.zero_grad(set_to_none=True)
        self.x.grad = self.logits.grad = None
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            y = self.layer()
        (y.float() ** 2).mean().backward()

    def milliseconds(self, steps):
        now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter  # as bench_moe
        begin = now()
        for _ in range(steps):
            self.step()
        return 1e3 * (now() - begin) / steps


def compare(bench, threads, rounds, precision, case):
    experts, widths = case.split()
    sizes = list(map(int, widths.split("-")))
    logits = draw(int(experts))
    with tempfile.NamedTemporaryFile() as file:
        logits.numpy().tofile(file.name)
        ours = [Ours([bench, threads, n, ROWS, widths, precision, file.name]) for n in (experts, 0)]
        runs = ours + [Peer(l, sizes, precision == "bf16") for l in (logits, torch.zeros(ROWS, 0))]
        for run in runs:
            run.milliseconds(2)
    steps = max(1, round(1e3 * SECONDS / ours[0].milliseconds(2)))
    turns = [[run.milliseconds(steps) for run in runs] for _ in range(rounds)]
    for run in ours:
        run.close()

    def median(over, under):
        ratios = sorted(t[over] / t[under] for t in turns)
        return f"{statistics.median(ratios):.2f}\t{ratios[0]:.2f}\t{ratios[-1]:.2f}"

    work = 6e-6 * TOP * ROWS * sum(k * m for k, m in zip(sizes, sizes[1:]))
    mine = statistics.median(t[0] for t in turns)
    print(
        f"{case}\t{precision}\t{mine:.1f}\t{statistics.median(t[2] for t in turns):.1f}\t{work / mine:.1f}\t"
        f"{median(2, 0)}\t{median(1, 0)}\t{median(3, 0)}",
        flush=True,
    )


def main():
    words = sys.argv[1:] + ["1", "7", "f32"][len(sys.argv) - 2 :]
    bench, threads, rounds, precision = words[0], int(words[1]), int(words[2]), words[3]
    torch.set_num_threads(threads)
    print(f"# torch {torch.__version__}, {threads} threads, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("experts and widths\ttype\tms\tpeer_ms\tGF/s\tspeedup\tleast\tmost\tof_dense\tleast\tmost\tof_peer_dense\tleast\tmost")
    for case in words[4:] or CASES:
        compare(bench, threads, rounds, precision, case)


main()
