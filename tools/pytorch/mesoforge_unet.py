"""The U-Net of mesoforge in PyTorch, which removes noise from images. Needs torch 2.0 or newer, and nothing else.

    net = mesoforge_unet.Unet((32, 32), channels=1, conditions=1)
    net.load_state_dict({name.removeprefix("model."): w for name, w in weights.items()})
    net(c_in * x, c_noise, condition)       x [n][y][x][channel], c_noise [n], condition [n][conditions]
"""

import torch
from torch import nn
from torch.nn import functional


def noise(c_noise, width):
    """cos(c f_i), then sin(c f_i), f_i = 10000^(-i / (width / 2)): [n][width]"""
    half = width // 2
    angle = c_noise[:, None] * 1e4 ** (-torch.arange(half, dtype=c_noise.dtype) / half)
    return torch.cat([angle.cos(), angle.sin()], 1)


def norm(channels):
    return nn.GroupNorm(min(32, channels // 4), channels, eps=1e-5)


def zero(layer):
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Block(nn.Module):
    def __init__(self, before, channels, embedding, dropout=0.0, attention=False, down=False, up=False):
        super().__init__()
        self.down, self.up, self.dropout = down, up, dropout
        self.norm0, self.conv0 = norm(before), nn.Conv2d(before, channels, 3, padding=1)
        self.affine = nn.Linear(embedding, 2 * channels)
        self.norm1, self.conv1 = norm(channels), zero(nn.Conv2d(channels, channels, 3, padding=1))
        if before != channels:
            self.skip = nn.Conv2d(before, channels, 1)
        if attention:
            self.norm2, self.qkv = norm(channels), nn.Conv2d(channels, 3 * channels, 1)
            self.proj = zero(nn.Conv2d(channels, channels, 1))
            self.heads = next(h for h in range(max(1, channels // 64), 0, -1) if channels % h == 0)

    def resample(self, x):
        if self.down:
            return functional.avg_pool2d(x, 2)
        return functional.interpolate(x, scale_factor=2, mode="nearest") if self.up else x

    def attend(self, x):
        n, c, height, width = x.shape
        q, k, v = self.qkv(self.norm2(x)).reshape(n, self.heads, c // self.heads, 3, height * width).transpose(2, 4).unbind(3)
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(2, 3).reshape(n, c, height, width))

    def forward(self, x, embedding):
        scale, shift = self.affine(embedding)[:, :, None, None].chunk(2, 1)
        h = self.conv0(self.resample(functional.silu(self.norm0(x))))
        h = functional.silu(self.norm1(h) * (1 + scale) + shift)
        h = self.conv1(functional.dropout(h, self.dropout, self.training))
        x = self.resample(x)
        x = h + (self.skip(x) if hasattr(self, "skip") else x)
        return x + self.attend(x) if hasattr(self, "qkv") else x


class Unet(nn.Module):
    def __init__(self, extents, channels, conditions=0, width=24, depth=2, blocks=1, attention=8, patch=2, dropout=0.0):
        super().__init__()
        self.width, self.patch = width, patch
        inner, wide = channels * patch**2, 4 * width
        self.map_layer0, self.map_layer1 = nn.Linear(width, wide), nn.Linear(wide, wide)
        if conditions:
            self.map_label = nn.Linear(conditions, wide, bias=False)
            nn.init.normal_(self.map_label.weight)
        self.enc, self.dec = nn.ModuleDict(), nn.ModuleDict()
        now, given = inner, []
        for level in range(depth):
            place, sides = self.place(extents, level)
            if level == 0:
                self.enc[f"{place}_conv"] = nn.Conv2d(inner, width, 3, padding=1)
                now = width
            else:
                self.enc[f"{place}_down"] = Block(now, now, wide, dropout, down=True)
            given.append(now)
            for k in range(blocks):
                after = width * (level + 1)
                self.enc[f"{place}_block{k}"] = Block(now, after, wide, dropout, max(sides) <= attention)
                now = after
                given.append(now)
        for level in reversed(range(depth)):
            place, sides = self.place(extents, level)
            if level == depth - 1:
                self.dec[f"{place}_in0"] = Block(now, now, wide, dropout, attention=True)
                self.dec[f"{place}_in1"] = Block(now, now, wide, dropout)
            else:
                self.dec[f"{place}_up"] = Block(now, now, wide, dropout, up=True)
            for k in range(blocks + 1):
                after = width * (level + 1)
                self.dec[f"{place}_block{k}"] = Block(now + given.pop(), after, wide, dropout, max(sides) <= attention)
                now = after
        self.out_norm, self.out_conv = norm(now), zero(nn.Conv2d(now, inner, 3, padding=1))

    def place(self, extents, level):
        sides = [extent // self.patch >> level for extent in extents]
        return f"{sides[0]}x{sides[1]}", sides

    def forward(self, x, c_noise, condition=None):
        n, ny, nx, channels = x.shape
        p = self.patch
        e = self.map_layer1(functional.silu(self.map_layer0(noise(c_noise, self.width))))
        e = functional.silu(e if condition is None else e + self.map_label(condition))
        x = x.reshape(n, ny // p, p, nx // p, p, channels).permute(0, 2, 4, 5, 1, 3).reshape(n, -1, ny // p, nx // p)
        given = []
        for layer in self.enc.values():
            x = layer(x, e) if isinstance(layer, Block) else layer(x)
            given.append(x)
        for name, layer in self.dec.items():
            x = layer(torch.cat([x, given.pop()], 1) if "_block" in name else x, e)
        x = self.out_conv(functional.silu(self.out_norm(x)))
        return x.reshape(n, p, p, channels, ny // p, nx // p).permute(0, 4, 1, 5, 2, 3).reshape(n, ny, nx, channels)
