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


class Features(nn.Module):
    def __init__(self, channels, width=32, depth=3):
        super().__init__()
        self.stem = nn.ModuleDict({"conv": nn.Conv2d(channels, width, 3, 2, 1), "norm": group_norm(width)})
        self.stages = nn.ModuleList(
            Stage(width << max(s - 1, 0), width << s, 2 if s else 1) for s in range(depth)
        )
        self.columns = width << (depth - 1)

    def features(self, x):
        x = functional.silu(self.stem["norm"](self.stem["conv"](x.permute(0, 3, 1, 2))))
        for stage in self.stages:
            x = stage(x)
        return x.mean((2, 3))


class Cnn(Features):
    def __init__(self, channels, outputs, width=32, depth=3):
        super().__init__(channels, width, depth)
        self.head = nn.Linear(self.columns, outputs)

    def forward(self, x):
        return self.head(self.features(x))


def mixture(x, scores, experts, top):
    """Rows of x go to the experts with the largest scores, in a loop over experts."""
    weight, choice = torch.softmax(scores, -1).topk(top)
    if top > 1:
        weight = weight / weight.sum(-1, keepdim=True)
    y = None
    for e, expert in enumerate(experts):
        row, slot = (choice == e).nonzero(as_tuple=True)
        part = expert(x[row]) * weight[row, slot, None]
        y = part.new_zeros(len(x), part.shape[1]) if y is None else y
        y = y.index_add(0, row, part)
    return y


class Expert(nn.Module):
    def __init__(self, numbers, outputs, width, depth):
        super().__init__()
        for i in range(1, depth + 2):
            layer = nn.Linear(numbers if i == 1 else width, outputs if i == depth + 1 else width)
            self.add_module(f"fc{i}", layer)

    def forward(self, x):
        *hidden, last = self.children()
        for layer in hidden:
            x = functional.relu(layer(x))
        return last(x)


class Moe(Features):
    def __init__(self, extents, channels, outputs, features="cnn", width=256, depth=2, experts=8, top_k=2, temperature=0.8):
        super().__init__(channels) if features == "cnn" else nn.Module.__init__(self)
        numbers = self.columns if features == "cnn" else extents[0] * extents[1] * channels
        self.has_features, self.top, self.temperature = features == "cnn", top_k, temperature
        hidden = (numbers + 1) // 2
        self.gate = nn.ModuleDict({"fc1": nn.Linear(numbers, hidden), "fc2": nn.Linear(hidden, experts)})
        self.experts = nn.ModuleList(Expert(numbers, outputs, width, depth) for _ in range(experts))

    def forward(self, x):
        x = self.features(x) if self.has_features else x.flatten(1)
        scores = self.gate["fc2"](functional.relu(self.gate["fc1"](x)))
        return mixture(x, scores / self.temperature, self.experts, self.top)


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
    if arch == "moe":
        return Moe(extents, channels, outputs, **sizes)
    return Cnn(channels, outputs, **sizes) if arch == "cnn" else Vit(extents, channels, outputs, **sizes)
