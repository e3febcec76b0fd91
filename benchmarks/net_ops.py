#!/usr/bin/env python3
"""Times operations of networks on cpu beside PyTorch, turn by turn. Needs torch.

net_ops.py BENCH_NET_OPS [threads = 1] [rounds = 5] [OPERATION ...]      prints TSV
ratio: median over the rounds of our time / PyTorch's on the same shape (channels last; its outputs are new each time, as users have it).
"""
import os
import statistics
import subprocess
import sys
import time

os.environ["OMP_WAIT_POLICY"] = "passive"  # both share the cores with others
import torch

SHAPES = [
    ("3x3 64->64 @64", "conv2d", [16, 64, 64, 64, 3, 1]),
    ("3x3 192->192 @32", "conv2d", [16, 192, 32, 192, 3, 1]),
    ("3x3 768->768 @8", "conv2d", [16, 768, 8, 768, 3, 1]),
    ("3x3 s2 64->128 @64", "conv2d", [16, 64, 64, 128, 3, 2]),
    ("1x1 192->384 @32", "conv2d", [16, 192, 32, 384, 1, 1]),
    ("3x3 stem 3->64 @32", "conv2d", [64, 3, 32, 64, 3, 1]),
    ("depthwise 7x7 96 @16", "conv_depthwise", [64, 96, 16, 7]),
    ("depthwise 7x7 192 @8", "conv_depthwise", [64, 192, 8, 7]),
    ("depthwise 7x7 384 @4", "conv_depthwise", [64, 384, 4, 7]),
    ("group norm 192 @32", "group_norm", [16, 192, 32, 32]),
    ("pool 64 @64", "pool", [16, 64, 64]),
    ("mean 192 @32", "mean", [16, 192, 32]),
    ("attention 8x12 @256", "attention", [8, 12, 256, 64]),
    ("attention 2x12 @1024", "attention", [2, 12, 1024, 64]),
    ("causal 2x12 @1024", "attention", [2, 12, 1024, 64, 1]),
    ("layer norm 2048x768", "layer_norm", [2048, 768]),
    ("softmax 24576x256", "softmax", [24576, 256]),
    ("gelu 2048x3072", "gelu", [2048, 3072]),
    ("gelu, tanh 2048x3072", "gelu_tanh", [2048, 3072]),
    ("silu 2048x3072", "silu", [2048, 3072]),
    ("softmax loss 4096x1000", "softmax_loss", [4096, 1000]),
    ("adamw 10 M", "adamw", [10000000]),
]
SECONDS = 0.5


def ours(bench, threads, op, numbers):
    words = [bench, str(threads), str(SECONDS), op, *map(str, numbers)]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return {row[0]: (float(row[1]), float(row[2])) for row in (line.split("\t") for line in lines)}


def attention(x, n, heads, length, d, causal=0):
    q, k, v = x.view(n, length, 3, heads, d).permute(2, 0, 3, 1, 4)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
    return y.transpose(1, 2).reshape(n, length, heads * d)


def rows_of(op, numbers):
    """The same of operations on rows."""
    f = torch.nn.functional
    if op == "attention":
        n, heads, length, d = numbers[:4]
        return torch.randn(n, length, 3 * heads * d), None, lambda x, w: attention(x, *numbers)
    x = torch.randn(*numbers)
    if op == "layer_norm":
        b = torch.randn(numbers[1])
        return x, torch.randn(numbers[1]), lambda x, w: f.layer_norm(x, numbers[1:], w, b)
    if op == "softmax_loss":
        labels = torch.randint(numbers[1], (numbers[0],))
        return x, None, lambda x, w: f.cross_entropy(x, labels)
    one = {"softmax": lambda x: f.softmax(x, -1), "gelu": f.gelu, "silu": f.silu}
    one["gelu_tanh"] = lambda x: f.gelu(x, approximate="tanh")
    return x, None, lambda x, w: one[op](x)


def forward_of(op, numbers):
    """The operation as a function of x, and the tensors that it trains."""
    if op not in ("conv2d", "conv_depthwise", "group_norm", "pool", "mean"):
        return rows_of(op, numbers)
    n, c, extent = numbers[:3]
    x = torch.randn(n, c, extent, extent).to(memory_format=torch.channels_last)
    if op == "conv2d":
        o, k, stride = numbers[3:]
        w = torch.randn(o, c, k, k).to(memory_format=torch.channels_last)
        b = torch.randn(o)
        return x, w, lambda x, w: torch.nn.functional.conv2d(x, w, b, stride, k // 2)
    if op == "conv_depthwise":
        k = numbers[3]
        w = torch.randn(c, 1, k, k).to(memory_format=torch.channels_last)
        b = torch.randn(c)
        return x, w, lambda x, w: torch.nn.functional.conv2d(x, w, b, 1, k // 2, 1, c)
    if op == "group_norm":
        b = torch.randn(c)
        return x, torch.randn(c), lambda x, w: torch.nn.functional.group_norm(x, numbers[3], w, b)
    if op == "pool":
        return x, None, lambda x, w: torch.nn.functional.avg_pool2d(x, 2)
    return x, None, lambda x, w: x.mean((2, 3))


def least(run):
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter  # as bench_net_ops
    run()
    begin, best, n = now(), float("inf"), 0
    while n < 5 or now() - begin < SECONDS:
        start = now()
        run()
        best = min(best, now() - start)
        n += 1
    return 1e3 * best


def optimiser(n):
    p = torch.randn(n)
    p.grad = torch.randn(n)
    return {"forward": least(torch.optim.AdamW([p], fused=True).step)}


def theirs(op, numbers):
    if op == "adamw":
        return optimiser(*numbers)
    x, w, f = forward_of(op, numbers)
    took = {}
    with torch.no_grad():
        took["forward"] = least(lambda: f(x, w))
    for name, wanted in (("data", x), ("weights", w)):
        if wanted is None:
            continue
        wanted.requires_grad_()
        y = f(x, w)
        slope = torch.ones_like(y)
        took[name] = least(lambda: torch.autograd.grad(y, wanted, slope, retain_graph=True))
        wanted.requires_grad_(False)
    return took


def main():
    words = sys.argv[1:] + ["1", "5"][len(sys.argv) - 2 :]
    chosen = words[3:] or {op for _, op, _ in SHAPES}
    bench, threads, rounds = words[0], int(words[1]), int(words[2])
    torch.set_num_threads(threads)
    print(f"# torch {torch.__version__}, {threads} threads, {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    print("operation\tpass\tms\tGF/s\ttorch_ms\tratio")
    for name, op, numbers in (row for row in SHAPES if row[1] in chosen):
        turns = [(ours(bench, threads, op, numbers), theirs(op, numbers)) for _ in range(rounds)]
        for key in turns[0][1]:
            ms, peer = min(a[key][0] for a, _ in turns), min(b[key] for _, b in turns)
            rate = max(a[key][1] for a, _ in turns)
            ratio = statistics.median(a[key][0] / b[key] for a, b in turns)
            print(f"{name}\t{key}\t{ms:.3f}\t{rate:.1f}\t{peer:.3f}\t{ratio:.2f}", flush=True)


main()
