"""What an entry of test/exports' list of networks is, and the data it is trained on.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Used by the networks*.py files, which declare entries, and by reference.py, which builds
them. Everything random comes from seeds, so that an entry is the same network each time.
"""

import dataclasses
import functools
import hashlib
import inspect
import os
import typing
import zlib

import torch
from torch import nn

BATCH, ROWS = 8, 40
HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass
class Network:
    """`make` builds the module, with the initial values that PyTorch gives it; `inputs`
    maps a generator to {name: tensor of ROWS rows}. `kind` is what it is trained as:
    'classes' (labels of one class a row), 'tokens' (one class a position: the last axis
    of the output holds the classes) or 'values' (mean squared error). `why` says why a
    learning rate or an initial scale is smaller than elsewhere."""

    name: str
    make: typing.Callable[[], nn.Module]
    inputs: typing.Callable[[torch.Generator], dict]
    kind: str = "classes"
    rate: float = 0.02
    momentum: float = 0.0
    why: str = ""

    @property
    def lossOption(self):
        return {"classes": "cross-entropy", "tokens": "cross-entropy:axis=-1",
                "values": "mse"}[self.kind]

    def generator(self):
        return torch.Generator().manual_seed(zlib.crc32(self.name.encode()))

    def build(self):
        torch.manual_seed(zlib.crc32(self.name.encode()))
        model = self.make()
        for module in model.modules():
            if isinstance(module, nn.modules.dropout._DropoutNd):
                assert module.p == 0, f"{self.name} has a Dropout of {module.p}"
        return model

    @functools.cached_property
    def fingerprint(self):
        """Differs where the network, its initial values, its data, the packages or
        reference.py do: what was made for another fingerprint is made again."""
        model = self.build()
        own = {kind for kind in map(type, model.modules())
               if inspect.getfile(kind).startswith(HERE)}
        texts = [self.kind, repr((self.rate, self.momentum)), repr(model),
                 *sorted(map(inspect.getsource, own))]
        for path in ("requirements.txt", "reference.py"):
            with open(os.path.join(HERE, path)) as file:
                texts.append(file.read())
        digest = hashlib.sha256("\n".join(texts).encode())
        for values in (model.state_dict(), self.inputs(self.generator())):
            for name, value in values.items():
                digest.update(name.encode() + value.numpy().tobytes())
        return digest.hexdigest()[:16]

    def data(self, model):
        """({name: tensor}, labels), of ROWS rows."""
        generator = self.generator()
        inputs = self.inputs(generator)
        with torch.no_grad():
            shape = model(*[value[:BATCH] for value in inputs.values()]).shape
        if self.kind == "values":
            return inputs, torch.randn(ROWS, *shape[1:], generator=generator)
        rows = (ROWS,) if self.kind == "classes" else (ROWS, *shape[1:-1])
        return inputs, torch.randint(0, shape[-1], rows, generator=generator)


def hasBatchNorm(model):
    return any(isinstance(module, nn.modules.batchnorm._BatchNorm)
               for module in model.modules())


def smooth(make):
    """The network with SiLU in the place of ReLU and hard swish. In deep networks some unit
    is always so near to a kink that float32 and float64 take different sides, and then
    differ by more than any bound that means something."""
    def replaced():
        model = make()
        for module in list(model.modules()):
            for name, child in module.named_children():
                if isinstance(child, (nn.ReLU, nn.Hardswish)):
                    setattr(module, name, nn.SiLU())
        return model
    return replaced


def images(side, channels=3):
    return features(channels, side, side)


def features(*shape):
    return lambda generator: {"x": torch.randn(ROWS, *shape, generator=generator)}


def tokens(vocabulary, length, name="input_ids", first=3):
    """Ids from `first`: those before are what models pad, begin and end with."""
    return lambda generator: {name: torch.randint(first, vocabulary, (ROWS, length),
                                                  generator=generator)}


def maskedTokens(vocabulary, length):
    """Token ids and an attention mask: rows are filled to lengths of at least 3."""
    def make(generator):
        lengths = torch.randint(3, length + 1, (ROWS, 1), generator=generator)
        return {**tokens(vocabulary, length)(generator),
                "attention_mask": (torch.arange(length)[None] < lengths).long()}
    return make
