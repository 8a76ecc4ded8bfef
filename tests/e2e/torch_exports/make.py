#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports small networks from PyTorch, for tests/e2e/test_torch_exports.py: make.py FOLDER

The networks have what exporters write today: LayerNormalization and Gelu as operators, scaled dot-product attention, torch.roll, PixelShuffle. Each
is exported by the exporter on torch.export to opsets 18 to 23, in turn, and two by the older one. Needs torch 2.9 or newer and onnxscript. The
files next to this script were made with torch 2.15.
"""
import os
import sys

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Convolutions with BatchNormalization, a residual Add, depthwise layers and squeeze-excitation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish())
        self.deep = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1, groups=16, bias=False), nn.BatchNorm2d(16), nn.ReLU6(), nn.Conv2d(16, 16, 1))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1), nn.Hardsigmoid())
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.deep(x) * self.gate(x)
        return self.head(functional.relu(x).mean((2, 3)))


class UNet(nn.Module):
    """Down and up with skips: GroupNorm, SiLU, MaxPool, nearest and transposed up, Concat."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.up, self.c, self.d = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 3, 1)

    def forward(self, x):
        a = functional.silu(self.a(x))
        b = functional.silu(self.norm(self.b(functional.max_pool2d(a, 2))))
        b = functional.interpolate(functional.avg_pool2d(b, 2), scale_factor=2.0, mode="nearest") + b
        return torch.sigmoid(self.d(functional.silu(self.c(torch.cat([a, self.up(b)], 1)))))


class Encoder(nn.Module):
    """A vision transformer: patches, two blocks of attention with scaled_dot_product_attention, a class token."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 17, width) / 4)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"n": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "o": nn.Linear(width, width), "m": nn.LayerNorm(width),
                           "f": nn.Linear(width, 2 * width), "g": nn.Linear(2 * width, width)}) for _ in range(2))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            q, k, v = block["qkv"](block["n"](x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            x = x + block["o"](functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            x = x + block["g"](functional.gelu(block["f"](block["m"](x))))
        return self.head(x[:, 0])


class Swin(nn.Module):
    """A block of shifted windows: torch.roll, windows of 4 x 4, a relative position bias and a mask of the shift."""

    def __init__(self, width=16, heads=2, side=8, window=4, shift=2):
        super().__init__()
        self.heads, self.side, self.window, self.shift = heads, side, window, shift
        self.n, self.m = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.f, self.g = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.bias = nn.Parameter(torch.randn(1, heads, window * window, window * window) / 4)
        regions = torch.zeros(1, side, side, 1)
        cuts = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
        for i, (rows, columns) in enumerate((a, b) for a in cuts for b in cuts):
            regions[:, rows, columns] = i
        regions = self.windows(regions).squeeze(-1)
        apart = regions.unsqueeze(1) != regions.unsqueeze(2)
        self.register_buffer("mask", apart.float().unsqueeze(1) * -100 if shift else torch.zeros(1, 1, 1, 1))

    def windows(self, x):
        n, w = self.side // self.window, self.window
        return x.reshape(-1, n, w, n, w, x.shape[-1]).transpose(2, 3).reshape(-1, w * w, x.shape[-1])

    def image(self, x):
        n, w = self.side // self.window, self.window
        return x.reshape(-1, n, n, w, w, x.shape[-1]).transpose(2, 3).reshape(-1, self.side, self.side, x.shape[-1])

    def forward(self, x):  # [N, side * side, width]
        y = self.n(x).reshape(-1, self.side, self.side, x.shape[-1])
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        q, k, v = self.qkv(self.windows(y)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5) + self.bias
        y = self.image(self.o((torch.softmax(scores + self.mask, -1) @ v).transpose(1, 2).flatten(2)))
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y.flatten(1, 2)
        return x + self.g(functional.gelu(self.f(self.m(x))))


class SwinNet(nn.Module):
    """A classifier of patches with two Swin blocks, the second one shifted."""

    def __init__(self):
        super().__init__()
        self.patches, self.blocks, self.head = nn.Conv2d(3, 16, 4, 4), nn.Sequential(Swin(shift=0), Swin()), nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class SwinIR(nn.Module):
    """Super-resolution: Conv, Swin blocks between residuals, Conv, PixelShuffle after the last Conv."""

    def __init__(self, width=16, side=8):
        super().__init__()
        self.side, self.first, self.last = side, nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 12, 3, padding=1)
        self.blocks, self.norm, self.body = nn.Sequential(Swin(shift=0), Swin()), nn.LayerNorm(width), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        y = self.norm(self.blocks(x.flatten(2).transpose(1, 2))).transpose(1, 2).unflatten(2, (self.side, self.side))
        return functional.pixel_shuffle(self.last(x + self.body(y)), 2)


# name, network, input size, opset, exporter on torch.export
EXPORTS = [("residual_18", Residual, 32, 18, True), ("residual_legacy_18", Residual, 32, 18, False), ("unet_19", UNet, 32, 19, True),
           ("unet_23", UNet, 32, 23, True), ("encoder_20", Encoder, 16, 20, True), ("encoder_22", Encoder, 16, 22, True),
           ("encoder_23", Encoder, 16, 23, True), ("encoder_legacy_18", Encoder, 16, 18, False), ("swin_21", SwinNet, 32, 21, True),
           ("swin_legacy_18", SwinNet, 32, 18, False), ("swinir_legacy_18", SwinIR, 8, 18, False), ("swinir_23", SwinIR, 8, 23, True)]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, network, size, opset, is_new in EXPORTS:
        torch.manual_seed(3)
        model = network().eval()
        for layer in model.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.running_mean.uniform_(-0.5, 0.5)
                layer.running_var.uniform_(0.5, 2)
        path = os.path.join(folder, f"{name}.onnx")
        sample = torch.randn(1, 3, size, size)
        torch.onnx.export(model, (sample,), path, opset_version=opset, dynamo=is_new, input_names=["image"], output_names=["y"],
                          **({"external_data": False} if is_new else {}))
        print(name, os.path.getsize(path))


if __name__ == "__main__":
    main()
