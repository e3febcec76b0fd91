"""The networks of --arch in PyTorch, with the names of parameters that mesoforge writes. Samples are x [n][ny][nx][c]."""
import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    def __init__(self, numbers, outputs, width=256, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width if i else numbers, width) for i in range(depth))
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = functional.gelu(layer(x))
        return self.head(x)


def group_norm(channels):
    return nn.GroupNorm(next(g for g in range(8, 0, -1) if channels % g == 0), channels)


class Stage(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1)
        self.norm1 = group_norm(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
        self.norm2 = group_norm(channels)
        if stride != 1 or before != channels:
            self.skip = nn.Conv2d(before, channels, 1, stride)

    def forward(self, x):
        y = functional.silu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return functional.silu(y + (self.skip(x) if hasattr(self, "skip") else x))


class Cnn(nn.Module):
    def __init__(self, channels, outputs, width=32, depth=3):
        super().__init__()
        self.stem = nn.ModuleDict({"conv": nn.Conv2d(channels, width, 3, 2, 1), "norm": group_norm(width)})
        self.stages = nn.ModuleList(
            Stage(width << max(s - 1, 0), width << s, 2 if s else 1) for s in range(depth)
        )
        self.head = nn.Linear(width << (depth - 1), outputs)

    def forward(self, x):
        x = functional.silu(self.stem["norm"](self.stem["conv"](x.permute(0, 3, 1, 2))))
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(n, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp["fc2"](functional.gelu(self.mlp["fc1"](self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, extents, channels, outputs, width=128, depth=4, heads=4, patch=8):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(channels, width, patch, patch)})
        self.pos_embed = nn.Parameter(0.02 * torch.randn((extents[0] // patch) * (extents[1] // patch), width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        x = self.patch_embed["proj"](x.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def make(arch, extents, channels, outputs, **sizes):
    """The network of an architecture; extents: ny, nx."""
    if arch == "mlp":
        return Mlp(extents[0] * extents[1] * channels, outputs, **sizes)
    return Cnn(channels, outputs, **sizes) if arch == "cnn" else Vit(extents, channels, outputs, **sizes)
