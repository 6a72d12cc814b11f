"""Hand-written networks without attention: one of the lists of networks.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from network import Network, features, images, tokens


def mlp():
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(),
                         nn.Linear(32, 7))


def groupNormCnn():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.GroupNorm(4, 16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, 16), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def batchNormCnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Dropout(0.0), nn.Flatten(), nn.Linear(16 * 64, 32), nn.BatchNorm1d(32), nn.ReLU(),
        nn.Dropout(0.0), nn.Linear(32, 10))


class Recurrent(nn.Module):
    """A classifier of sequences; the state begins as the zeros that PyTorch makes."""

    def __init__(self, kind, layers=1, bidirectional=False, last="state"):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.rnn = kind(12, 16, layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(32 if bidirectional else 16, 6)
        self.last = last

    def forward(self, tokens):
        output, state = self.rnn(self.embed(tokens))
        if self.last == "mean":
            return self.head(output.mean(1))
        state = state[0] if isinstance(state, tuple) else state
        return self.head(state[-1])


class SpatialTransformer(nn.Module):
    """Predicts an affine map and samples the image there; the base grid is a buffer."""

    def __init__(self, side=16):
        super().__init__()
        self.local = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(8 * 36, 6))
        with torch.no_grad():  # as in PyTorch's tutorial: begins at the identity
            self.local[3].weight.zero_()
            self.local[3].bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
        # Half a pixel inside of the border: at a pixel's centre sampling has a kink.
        line = torch.linspace(-0.91, 0.89, side)
        y, x = torch.meshgrid(line, line, indexing="ij")
        self.register_buffer("grid", torch.stack([x, y, torch.ones_like(x)], -1).view(-1, 3))
        self.classify = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AvgPool2d(2),
                                      nn.Flatten(), nn.Linear(8 * 49, 10))

    def forward(self, x):
        theta = self.local(x).view(-1, 2, 3)
        grid = (self.grid @ theta.transpose(1, 2)).view(x.shape[0], *x.shape[2:], 2)
        return self.classify(F.grid_sample(x, grid, align_corners=False))


class SplineLayer(nn.Module):
    """A layer of a Kolmogorov-Arnold network: cubic B-splines over knots that are a buffer."""

    def __init__(self, inputs, outputs, intervals=5, order=3):
        super().__init__()
        self.order = order
        step = 2 / intervals
        knots = (torch.arange(-order, intervals + order + 1) * step - 1).expand(inputs, -1)
        self.register_buffer("knots", knots.contiguous())
        self.base = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.kaiming_uniform_(self.base, a=5 ** 0.5)
        self.spline = nn.Parameter(0.1 * torch.randn(outputs, inputs, intervals + order))

    def forward(self, x):
        knots, y = self.knots, x.unsqueeze(-1)
        bases = ((y >= knots[:, :-1]) & (y < knots[:, 1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (y - knots[:, :-(k + 1)]) / (knots[:, k:-1] - knots[:, :-(k + 1)])
            right = (knots[:, k + 1:] - y) / (knots[:, k + 1:] - knots[:, 1:-k])
            bases = left * bases[..., :-1] + right * bases[..., 1:]
        return (F.linear(F.silu(x), self.base)
                + F.linear(bases.flatten(1), self.spline.flatten(1)))


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 16, mode="mean")
        self.head = nn.Linear(16, 5)

    def forward(self, tokens):
        return self.head(F.relu(self.bag(tokens)))


class PaddedWords(nn.Module):
    """The mean of embeddings; 0 pads, and its row is never trained (padding_idx)."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 5))

    def forward(self, tokens):
        return self.head(self.embed(tokens).mean(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def block(inputs, outputs):
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1),
                                 nn.GroupNorm(4, outputs), nn.SiLU())

        self.down1, self.down2, self.middle = block(2, 8), block(8, 16), block(16, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, stride=2), nn.Upsample(scale_factor=2)
        self.join2, self.join1 = block(32, 8), block(16, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2))
        c = self.join2(torch.cat([self.up2(c), b], 1))
        return self.head(self.join1(torch.cat([self.up1(c), a], 1)))


class LayerScaleNet(nn.Module):
    """PReLU with a slope a channel, and residual branches with scales that begin small."""

    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width),
                          nn.PReLU(2 * width), nn.Linear(2 * width, width)) for _ in range(3))
        self.scales = nn.ParameterList(nn.Parameter(1e-1 * torch.ones(width)) for _ in range(3))
        self.act = nn.PReLU()
        self.head = nn.Linear(width, 6)

    def forward(self, x):
        x = self.stem(x)
        for block, scale in zip(self.blocks, self.scales):
            x = x + scale * block(x)
        return self.head(self.act(x))


class RmsNormNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.stem = nn.Linear(12, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-6) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.downs = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(2))
        self.head = nn.Linear(width, 4, bias=False)

    def forward(self, x):
        x = self.stem(x)
        for norm, gate, down in zip(self.norms, self.gates, self.downs):
            x = x + down(F.glu(gate(norm(x))))
        return self.head(self.norms[2](x))


NETWORKS = [
    Network("mlp", mlp, features(20), momentum=0.9),
    Network("cnn-group-norm", groupNormCnn, images(16), momentum=0.9),
    Network("cnn-batch-norm", batchNormCnn, images(16)),
    Network("lstm", lambda: Recurrent(nn.LSTM), tokens(40, 9, "tokens"), rate=0.3,
            momentum=0.9),
    Network("lstm-2-bidirectional", lambda: Recurrent(nn.LSTM, 2, True, "mean"),
            tokens(40, 9, "tokens"), rate=0.3, momentum=0.9),
    Network("gru", lambda: Recurrent(nn.GRU), tokens(40, 9, "tokens"), rate=0.3,
            momentum=0.9),
    Network("weight-norm", lambda: nn.Sequential(
        weight_norm(nn.Linear(12, 24)), nn.ReLU(), weight_norm(nn.Linear(24, 24)), nn.ReLU(),
        nn.Linear(24, 3)), features(12), "values"),
    Network("spatial-transformer", SpatialTransformer, images(16, 1), rate=0.002,
            why="sampling has kinks at each pixel"),
    Network("spline-kan", lambda: nn.Sequential(SplineLayer(8, 16), nn.Tanh(),
                                                SplineLayer(16, 3)), features(8), "values"),
    Network("embedding-bag", BagOfWords, tokens(50, 8, "tokens"), rate=0.05, momentum=0.9),
    Network("embedding-padding", PaddedWords, tokens(20, 8, "tokens", first=0), rate=0.1),
    Network("unet-group-norm", UNet, images(16, 2), "values"),
    Network("prelu-layer-scale", LayerScaleNet, features(12), momentum=0.9),
    Network("rms-norm-glu", RmsNormNet, features(12)),
]
