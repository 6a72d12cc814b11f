#!/usr/bin/env python3
"""Makes the image models of test/models at small sizes (see export.py).

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import torch
from torch import nn
from torch.nn import functional as F

from export import exportModel, randomiseNorms


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.f1, self.f2, self.f3 = nn.Linear(400, 60), nn.Linear(60, 42), nn.Linear(42, 10)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.c1(x)), 2)
        x = F.max_pool2d(torch.tanh(self.c2(x)), 2)
        x = torch.tanh(self.f1(x.view(x.size(0), -1)))
        return F.log_softmax(self.f3(torch.tanh(self.f2(x))), dim=1)


def convNorm(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups,
                        bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(convNorm(inputs, width, 1), convNorm(width, width, 3, stride),
                                  convNorm(width, width * 4, 1, act=None))
        self.skip = nn.Identity()
        if stride != 1 or inputs != width * 4:
            self.skip = convNorm(inputs, width * 4, 1, stride, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class BasicBlock(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(convNorm(inputs, width, 3, stride),
                                  convNorm(width, width, 3, act=None))
        self.skip = nn.Identity()
        if stride != 1 or inputs != width:
            self.skip = convNorm(inputs, width, 1, stride, act=None)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(block, widths, depths, expand, classes=10):
    layers = [convNorm(3, widths[0], 7, 2), nn.MaxPool2d(3, 2, 1)]
    inputs = widths[0]
    for stage, (width, depth) in enumerate(zip(widths, depths)):
        for index in range(depth):
            layers.append(block(inputs, width, 2 if stage and not index else 1))
            inputs = width * expand
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, classes))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, narrow):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(channels, narrow, 1), nn.Conv2d(narrow, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(self.pool(x)))))


class InvertedResidual(nn.Module):
    """`squeeze`: channels inside the squeeze-excite block; 0: there is none."""

    def __init__(self, inputs, hidden, outputs, kernel, stride, act, squeeze):
        super().__init__()
        layers = [convNorm(inputs, hidden, 1, act=act)] if hidden != inputs else []
        layers.append(convNorm(hidden, hidden, kernel, stride, groups=hidden, act=act))
        if squeeze:
            layers.append(SqueezeExcite(hidden, squeeze))
        layers.append(convNorm(hidden, outputs, 1, act=None))
        self.body = nn.Sequential(*layers)
        self.add = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.add else self.body(x)


def mobilenetV2():
    rows = [(8, 8, 8, 1), (8, 24, 12, 2), (12, 36, 12, 1), (12, 36, 16, 2)]
    return nn.Sequential(
        convNorm(3, 8, 3, 2, act=nn.ReLU6),
        *[InvertedResidual(i, h, o, 3, s, nn.ReLU6, 0) for i, h, o, s in rows],
        convNorm(16, 40, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(40, 10))


def mobilenetV3(rows, last, hidden, classes):
    """`rows`: the arguments of the blocks; `last`: channels after the last convolution."""
    return nn.Sequential(
        convNorm(3, rows[0][0], 3, 2, act=nn.Hardswish),
        *[InvertedResidual(*row) for row in rows],
        convNorm(rows[-1][2], last, 1, act=nn.Hardswish), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(last, hidden), nn.Hardswish(), nn.Dropout(0.2),
        nn.Linear(hidden, classes))


def smallMobilenetV3():
    rows = [(8, 8, 8, 3, 2, nn.ReLU, 4), (8, 24, 12, 3, 2, nn.ReLU, 0),
            (12, 30, 12, 5, 1, nn.Hardswish, 4), (12, 36, 16, 5, 2, nn.Hardswish, 4)]
    return mobilenetV3(rows, 48, 32, 10)


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, 2 * growth, 1, bias=False),
            nn.BatchNorm2d(2 * growth), nn.ReLU(),
            nn.Conv2d(2 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet():
    layers, channels = [convNorm(3, 12, 3, 1)], 12
    for last in (False, True):
        for _ in range(3):
            layers.append(DenseLayer(channels, 6))
            channels += 6
        if not last:
            layers += [nn.BatchNorm2d(channels), nn.ReLU(),
                       nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2, 2)]
            channels //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


class UNet(nn.Module):
    """`up`: transposed convolution, or a resize mode followed by a convolution."""

    def __init__(self, up):
        super().__init__()

        def double(i, o):
            return nn.Sequential(convNorm(i, o), convNorm(o, o))

        def rise(i, o):
            if up == "transpose":
                return nn.ConvTranspose2d(i, o, 2, 2)
            align = None if up == "nearest" else up == "aligned"
            mode = "nearest" if up == "nearest" else "bilinear"
            return nn.Sequential(nn.Upsample(scale_factor=2, mode=mode, align_corners=align),
                                 nn.Conv2d(i, o, 1))

        self.d1, self.d2, self.d3 = double(1, 6), double(6, 12), double(12, 16)
        self.u2, self.u1 = rise(16, 12), rise(12, 6)
        self.e2, self.e1 = double(24, 12), double(12, 6)
        self.head = nn.Conv2d(6, 3, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        b = self.e2(torch.cat([b, self.u2(c)], 1))
        a = self.e1(torch.cat([a, self.u1(b)], 1))
        return torch.sigmoid(self.head(a))


class LayerNormFirst(nn.Module):
    """LayerNorm over the channels of NCHW, from its small ops."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.rand(channels) - 0.5)

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.p1, self.p2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.rand(width))

    def forward(self, x):
        y = self.norm(self.dw(x).permute(0, 2, 3, 1))
        y = self.gamma * self.p2(F.gelu(self.p1(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 12, 4, 4), LayerNormFirst(12), ConvNextBlock(12), ConvNextBlock(12),
            LayerNormFirst(12), nn.Conv2d(12, 20, 2, 2), ConvNextBlock(20))
        self.norm, self.head = nn.LayerNorm(20, eps=1e-6), nn.Linear(20, 10)

    def forward(self, x):
        return self.head(self.norm(self.body(x).mean([-2, -1])))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = ((q @ k.transpose(-2, -1)) * self.scale).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, c))


class VitBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(),
                                 nn.Linear(hidden, width))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class Vit(nn.Module):
    def __init__(self, width=32, heads=4, hidden=96, depth=2, patch=8, patches=16, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, patches + 1, width) * 0.2)
        self.blocks = nn.Sequential(*[VitBlock(width, heads, hidden) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class SuperResolution(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.head = nn.Conv2d(3, width, 5)
        self.prelu = nn.PReLU(width)
        self.c1, self.n1 = nn.Conv2d(width, width, 3), nn.InstanceNorm2d(width, affine=True)
        self.c2, self.n2 = nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(3, width)
        self.tail = nn.Conv2d(width, 12, 3, padding=1, padding_mode="replicate")

    def forward(self, x):
        x = self.prelu(self.head(F.pad(x, (2, 2, 2, 2), mode="reflect")))
        y = F.leaky_relu(self.n1(self.c1(F.pad(x, (1, 1, 1, 1), mode="reflect"))), 0.1)
        x = x + self.n2(self.c2(y))
        return F.pixel_shuffle(self.tail(x), 2)


def main():
    def image(*shape):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(3))

    batch = {"x": {0: "N"}, "y": {0: "N"}}
    sizes = {"x": {0: "batch", 2: "height", 3: "width"},
             "y": {0: "batch", 2: "height", 3: "width"}}
    rows = [
        ("lenet", LeNet, image(3, 1, 28, 28), 9, batch),
        ("resnet-basic", lambda: resnet(BasicBlock, (8, 16, 24), (2, 2, 1), 1),
         image(2, 3, 32, 32), 11, batch),
        ("resnet-bottleneck", lambda: resnet(Bottleneck, (6, 8, 10), (2, 2, 1), 4),
         image(2, 3, 48, 48), 17, None),
        ("mobilenet-v2", mobilenetV2, image(2, 3, 32, 32), 10, batch),
        ("mobilenet-v3", smallMobilenetV3, image(2, 3, 48, 48), 14, batch),
        ("densenet", densenet, image(2, 3, 16, 16), 12, batch),
        ("unet-transpose", lambda: UNet("transpose"), image(2, 1, 24, 20), 13, sizes),
        ("unet-nearest", lambda: UNet("nearest"), image(1, 1, 16, 24), 11, None),
        ("unet-bilinear", lambda: UNet("bilinear"), image(1, 1, 16, 16), 16, sizes),
        ("unet-aligned", lambda: UNet("aligned"), image(1, 1, 16, 20), 11, sizes),
        ("convnext", ConvNext, image(2, 3, 32, 32), 17, batch),
        ("vit", Vit, image(2, 3, 32, 32), 14, batch),
        ("vit-opset17", Vit, image(2, 3, 32, 32), 17, None),
        ("super-resolution", SuperResolution, image(1, 3, 15, 18), 13, sizes),
    ]
    for name, make, x, opset, dynamic in rows:
        torch.manual_seed(1)
        exportModel(name, randomiseNorms(make()), [x], ["x"], ["y"], opset, dynamic)


if __name__ == "__main__":
    main()
