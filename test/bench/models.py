#!/usr/bin/env python3
"""The networks of the rows of tools/dev bench, at their real sizes and with random weights.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 models.py FOLDER NETWORK infer|train BATCH...
                                             (Debian: python3-torch, python3-onnx)

Writes what all sides of a row read: the graph (NETWORK-KIND.onnx), the weights for PyTorch
(.pt), the inputs, called x and so on, and in training the labels (NETWORK-KIND-BATCH.npz), and
the sizes of tables of which only some rows are read, and of those that are weights, too (.json).
The output is y. Of training, also what the losses of the first steps should be
(NETWORK-KIND-BATCH-losses.json). peers.py takes the modules, losses and optimizers from here.
"""

import itertools
import json
import os
import sys
from typing import Callable, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE] + [os.path.join(HERE, *path) for path in (
    ("..", "models"), ("..", "gpu"), ("..", "..", "docs", "examples"))]
import networks
import rows
from make_cnn import FashionCnn
from make_models import Recurrent, largeMobilenetV3
from make_vision import Bottleneck, ConvNextBlock, InvertedResidual, convNorm, resnet

WORDS, PAST = 50257, 512
ROUNDED = 3  # runs in float32


class MBConv(nn.Module):
    """Inverted residual of EfficientNet, with squeeze and excitation."""

    def __init__(self, inputs, outputs, expand, kernel, stride):
        super().__init__()
        hidden, narrow = inputs * expand, max(1, inputs // 4)
        self.widen = convNorm(inputs, hidden, 1, act=nn.SiLU) if expand > 1 else nn.Identity()
        self.depthwise = convNorm(hidden, hidden, kernel, stride, hidden, nn.SiLU)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(hidden, narrow, 1),
                                     nn.SiLU(), nn.Conv2d(narrow, hidden, 1), nn.Sigmoid())
        self.narrow = convNorm(hidden, outputs, 1, act=None)
        self.add = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.depthwise(self.widen(x))
        y = self.narrow(y * self.squeeze(y))
        return x + y if self.add else y


def efficientNetB0():
    stages = [(1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2),
              (6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1)]
    layers, inputs = [convNorm(3, 32, 3, 2, act=nn.SiLU)], 32
    for expand, outputs, depth, kernel, stride in stages:
        for index in range(depth):
            layers.append(MBConv(inputs, outputs, expand, kernel, 1 if index else stride))
            inputs = outputs
    return nn.Sequential(*layers, convNorm(320, 1280, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(1280, 1000))


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of NCHW."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextTiny(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96, 1e-6)], 96
        for width, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
            if width != inputs:
                layers += [ChannelNorm(inputs, 1e-6), nn.Conv2d(inputs, width, 2, 2)]
            layers += [ConvNextBlock(width) for _ in range(depth)]
            inputs = width
        self.body = nn.Sequential(*layers)
        self.norm, self.head = nn.LayerNorm(768, 1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        return self.head(self.norm(self.body(x).mean([-2, -1])))


class UNet(nn.Module):
    """Four levels from 32 to 512 channels; classes of pixels."""

    def __init__(self, classes=3):
        super().__init__()

        def double(inputs, outputs):
            return nn.Sequential(convNorm(inputs, outputs), convNorm(outputs, outputs))
        widths = [32, 64, 128, 256, 512]
        self.down = nn.ModuleList(map(double, [3] + widths, widths))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2)
                                  for width in widths[-2::-1])
        self.up = nn.ModuleList(double(2 * width, width) for width in widths[-2::-1])
        self.head = nn.Conv2d(32, classes, 1)

    def forward(self, x):
        kept = []
        for index, level in enumerate(self.down):
            x = level(F.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for rise, up, skip in zip(self.rise, self.up, kept[-2::-1]):
            x = up(torch.cat([skip, rise(x)], 1))
        return self.head(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert, self.head = networks.Bert(30522, 512, 768, 12, 12), nn.Linear(768, 2)

    def forward(self, x):
        return self.head(self.bert(x))


class Decoder(networks.Gpt2):
    """Logits after one more word at `position`. `past` are the keys and values of the words before,
    of each layer; the results after the first are those of this word."""

    def forward(self, x, position, *past):
        x, now = self.word(x) + self.position(position), []
        for index, block in enumerate(self.blocks):
            keys, values = past[2 * index:2 * index + 2]
            own, heads = block.attention, keys.shape[1]
            q, k, v = (part.reshape(1, 1, heads, -1).transpose(1, 2)
                       for part in own.qkv(block.norm1(x)).chunk(3, 2))
            q = q * q.shape[-1]**-0.5
            scores = torch.cat([q @ keys.transpose(-1, -2), q @ k.transpose(-1, -2)], -1)
            share = scores.softmax(-1)
            y = share[..., :PAST] @ values + share[..., PAST:] * v
            x = x + own.output(y.transpose(1, 2).reshape(1, 1, -1))
            x = x + block.mlp(block.norm2(x))
            now += [k, v]
        return F.linear(self.norm(x[:, -1]), self.word.weight), *now


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class LlamaBlock(nn.Module):
    """Grouped queries with rotary positions, and a gated perceptron."""

    def __init__(self, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.o = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.k, self.v = (nn.Linear(width, groups * self.size, False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, False) for _ in range(2))
        self.down = nn.Linear(hidden, width, False)

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def spread(self, x):
        """A group's keys or values for each of its heads."""
        b, g, n, d = x.shape
        each = self.heads // self.groups
        return x[:, :, None].expand(b, g, each, n, d).reshape(b, g * each, n, d)

    def forward(self, x, cos, sin):
        b, n, width = x.shape
        y = self.norm1(x)
        q, k, v = (part.reshape(b, n, -1, self.size).transpose(1, 2)
                   for part in (self.q(y), self.k(y), self.v(y)))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        y = networks.attention(q, self.spread(k), self.spread(v), True)
        x = x + self.o(y.transpose(1, 2).reshape(b, n, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class SmolLm2(nn.Module):
    """As SmolLM2-135M: 30 layers; the words' table is the last layer's weight, too."""

    def __init__(self, words=49152, width=576, heads=9, groups=3, hidden=1536, layers=30,
                 length=128):
        super().__init__()
        self.word = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups, hidden)
                                    for _ in range(layers))
        self.norm = RmsNorm(width)
        size = width // heads
        angles = torch.outer(torch.arange(length).float(),
                             100000.0 ** (-torch.arange(0, size, 2).float() / size))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        x = self.word(x)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.linear(self.norm(x), self.word.weight)


class Network(NamedTuple):
    make: Callable
    shape: tuple  # of one example of x
    words: int = 0  # x are so many words or, if 0, floats
    classes: int = 0  # of labels; 0: labels are floats, as y
    labels: tuple = ()  # shape of one example of labels
    isTied: bool = False  # the table `word` is a weight of a product, too


IMAGE = (3, 224, 224)
NETWORKS = {
    "resnet50": Network(lambda: resnet(Bottleneck, (64, 128, 256, 512), (3, 4, 6, 3), 4, 1000),
                        IMAGE, 0, 1000),
    "mobilenet-v3": Network(largeMobilenetV3, IMAGE),
    "efficientnet-b0": Network(efficientNetB0, IMAGE),
    "convnext-t": Network(ConvNextTiny, IMAGE),
    "unet": Network(UNet, (3, 128, 128), 0, 3, (128, 128)),
    "vit-b": Network(lambda: networks.make("vit"), IMAGE),
    "bert-base": Network(lambda: networks.make("bert"), (128,), 30522),
    "bert-base train": Network(Classifier, (128,), 30522, 2),
    "gpt2": Network(lambda: networks.make("gpt2"), (128,), WORDS, WORDS, (128,), True),
    "gpt2-decode": Network(lambda: Decoder(WORDS, 1024, 768, 12, 12), (1,), WORDS, isTied=True),
    "smollm2": Network(SmolLm2, (128,), 49152, 49152, (128,), True),
    "lstm": Network(Recurrent, (64, 256), 0, 0, (64, 256)),
    "gru": Network(lambda: Recurrent(nn.GRU), (64, 256), 0, 0, (64, 256)),
    "mlp": Network(lambda: networks.make("mlp"), (784,), 0, 10),
    "cnn": Network(FashionCnn, (1, 28, 28), 0, 10),
}


def find(network, kind):
    """What is trained may have another head."""
    return NETWORKS.get(f"{network} {kind}") or NETWORKS[network]


def draw(network, kind, batch):
    """{name: tensor}: inputs, in the order of forward(), and in training the labels."""
    own, generator = find(network, kind), torch.Generator().manual_seed(2)

    def tensor(shape, words):
        return (torch.randint(0, words, shape, generator=generator) if words
                else 2 * torch.rand(shape, generator=generator) - 1)
    found = {"x": tensor((batch, *own.shape), own.words)}
    if network == "gpt2-decode":
        found["position"] = torch.tensor([PAST])
        for layer in range(12):
            for part in "kv":
                found[f"past_{part}_{layer}"] = tensor((1, 12, PAST, 64), 0)
    if kind == "train":
        found["labels"] = tensor((batch, *own.labels), own.classes)
    return found


def residualNorms(model):
    """The last norms of residual branches of convolutions."""
    for module in model.modules():
        if isinstance(module, (Bottleneck, InvertedResidual, MBConv)):
            branch = module.narrow if isinstance(module, MBConv) else module.body
            if getattr(module, "add", True):
                yield [part for part in branch.modules() if isinstance(part, nn.BatchNorm2d)][-1]


def make(network, kind):
    """The module with its weights: distinct scales and shifts of norms, small tables, statistics
    that fit the activations. Residual branches have small scales, as in trained networks, whose
    initial ones are often zero (Goyal et al., Accurate, Large Minibatch SGD): with those of other
    norms, each block would multiply the rounding of the one before it."""
    torch.manual_seed(1)
    model = find(network, kind).make()
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (nn.BatchNorm2d, nn.LayerNorm, RmsNorm)):
                module.weight.uniform_(0.5, 1.5)
                if hasattr(module, "bias"):
                    module.bias.uniform_(-0.3, 0.3)
            if isinstance(module, nn.Embedding):
                module.weight.mul_(0.02)
        for norm in residualNorms(model):
            norm.weight.mul_(0.1)
        if norms:
            for norm in norms:
                norm.momentum = 1.0
            model.train()(draw(network, "infer", 4)["x"])
            for norm in norms:
                norm.momentum = 0.1
    return model.eval()


def lossOf(network, y, labels):
    kind, _, options = rows.TRAINING[network].loss.partition(":")
    if kind == "mse":
        return F.mse_loss(y, labels)
    if options == "axis=-1":
        return F.cross_entropy(y.flatten(0, -2), labels.flatten())
    return F.cross_entropy(y, labels)


def optimizerOf(network, module):
    training, optim = rows.TRAINING[network], torch.optim
    kind = {"adam": optim.Adam, "adamw": optim.AdamW, "sgd": optim.SGD}[training.optimizer]
    options = {key.replace("-", "_"): value for key, value in training.options.items()}
    try:
        return kind(module.parameters(), fused=True, **options)
    except (TypeError, RuntimeError):  # older ones
        return kind(module.parameters(), **options)


def firstLosses(network, weights, batch, dtype):
    """Of the first steps, in `dtype`."""
    module, losses = find(network, "train").make(), []
    module.load_state_dict(weights)
    module = module.to(dtype).train()
    optimizer = optimizerOf(network, module)
    x, labels = (tensor.to(dtype) if tensor.is_floating_point() else tensor
                 for tensor in draw(network, "train", batch).values())
    for _ in range(rows.FIRST_STEPS):
        optimizer.zero_grad()
        loss = lossOf(network, module(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def reference(network, weights, batch):
    """{"losses": those of the first steps in float64, "rounding": how far they are in float32,
    relative}. A network may amplify rounding: of ResNet-50 with random weights, some values
    have the other sign and ReLU passes other gradients. So `rounding` is measured: the largest
    distance of ROUNDED runs up to each step. Their weights differ by at most one unit in the
    last place, so that the runs round differently."""
    losses = firstLosses(network, weights, batch, torch.float64)
    generator, rounding = torch.Generator().manual_seed(3), [0.0] * len(losses)

    def moved(weight):
        if not weight.is_floating_point():
            return weight
        units = 2 * torch.rand(weight.shape, generator=generator, dtype=torch.float64) - 1
        return weight * (1 + 2.0**-23 * units)

    for _ in range(ROUNDED):
        run = firstLosses(network, {name: moved(weight) for name, weight in weights.items()},
                          batch, torch.float32)
        rounding = [max(old, abs(loss / own - 1))
                    for old, loss, own in zip(rounding, run, losses)]
    return {"losses": losses, "rounding": list(itertools.accumulate(rounding, max))}


def export(folder, network, kind):
    model, base = make(network, kind), os.path.join(folder, f"{network}-{kind}")
    isFixed = network in rows.FIXED
    inputs = draw(network, "infer", 1 if isFixed else 2)
    training = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    outputs = ["y", *(name.replace("past", "new") for name in list(inputs)[2:])]
    torch.onnx.export(model, tuple(inputs.values()), base + ".onnx", opset_version=17,
                      input_names=list(inputs), output_names=outputs,
                      dynamic_axes=None if isFixed else {"x": {0: "N"}, "y": {0: "N"}},
                      **(training if kind == "train" else {}))
    torch.save(model.state_dict(), base + ".pt")
    sizes = {name: module.weight.numel() for name, module in model.named_modules()
             if isinstance(module, nn.Embedding)}
    tied = sizes.pop("word") if find(network, kind).isTied else 0
    with open(base + ".json", "w") as file:
        json.dump({"table_elements": sum(sizes.values()), "tied_elements": tied}, file)
    return model.state_dict()


def outputOf(network, weights, batch):
    """y in float32."""
    module = find(network, "infer").make()
    module.load_state_dict(weights)
    with torch.no_grad():
        found = module.eval()(*draw(network, "infer", batch).values())
    return found[0] if isinstance(found, tuple) else found


def main():
    import numpy
    folder, network, kind = sys.argv[1:4]
    weights = export(folder, network, kind)
    for batch in sys.argv[4:]:
        arrays = {name: tensor.numpy() for name, tensor in draw(network, kind, int(batch)).items()}
        row = rows.Row(network, kind, int(batch), "fp32", 1)
        numpy.savez(os.path.join(folder, row.data), **arrays)
        if kind == "train":
            with open(os.path.join(folder, row.losses), "w") as file:
                json.dump(reference(network, weights, int(batch)), file)
        else:
            numpy.savez(os.path.join(folder, row.exact),
                        y=outputOf(network, weights, int(batch)).numpy())


if __name__ == "__main__":
    main()
