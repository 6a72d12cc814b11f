"""The rows of test/gpu's comparisons: what is computed, with which options, on which data.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. Both sides of a row read the same files: weights
(weights.py), and an npz with the examples.
"""

import math
import os
import random
import struct
import sys
from typing import NamedTuple

import weights
# Beside this file where a folder was prepared.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools",
                             "scripts"))
from npz import writeNpz


class Row(NamedTuple):
    network: str  # of networks.py
    kind: str  # train or infer
    batch: int
    precision: str

    @property
    def name(self):
        return f"{self.network} {self.kind} {self.batch} {self.precision}"

    @property
    def file(self):
        return self.name.replace(" ", "-")


class Training(NamedTuple):
    loss: str  # sinterc's --loss
    optimizer: str
    options: dict  # of sinterc, and of the peers' optimizers


ADAM = Training("cross-entropy", "adam", {"lr": 1e-3})
MOMENTUM = Training("cross-entropy", "sgd", {"lr": 1e-3, "momentum": 0.9})
ADAMW = Training("cross-entropy", "adamw", {"lr": 1e-4, "weight-decay": 0.01})
TRAINING = {"mlp": ADAM, "resnet50": MOMENTUM, "vit": ADAMW,
            "bert-mlm": ADAMW._replace(loss="cross-entropy:axis=-1,ignore_index=-100"),
            "gpt2": ADAMW._replace(loss="cross-entropy:axis=-1")}

# Shapes of an example, words or classes, large and small.
EXAMPLES = {"mlp": [((784,), 10), ((784,), 10)],
            "resnet50": [((3, 224, 224), 1000), ((3, 64, 64), 10)],
            "vit": [((3, 224, 224), 1000), ((3, 32, 32), 10)],
            "bert": [((128,), 30522), ((16,), 96)], "bert-384": [((384,), 30522), ((32,), 96)],
            "bert-mlm": [((128,), 30522), ((16,), 96)],
            "gpt2": [((1024,), 50257), ((32,), 96)],
            "gpt2-prefill": [((1024,), 50257), ((32,), 96)],
            "gpt2-decode": [((1,), 50257), ((1,), 96)]}
# Layers of caches and the shape of one, [batch, heads, positions, size], large and small.
CACHES = {"gpt2-decode": [(12, (1, 12, 1024, 64)), (2, (1, 2, 32, 16))]}
# Whose weights are another network's.
SHARED = {"bert-384": "bert", "gpt2-prefill": "gpt2", "gpt2-decode": "gpt2"}
# Attention calls of the entry for training, and of a run: a layer's forward and backward.
LAYERS = {"bert": 12, "bert-384": 12, "bert-mlm": 12, "vit": 12, "gpt2": 12, "gpt2-prefill": 12}


def rows(text):
    """Rows from lines "NETWORK train|infer BATCH.. PRECISION.."."""
    for line in text.strip().splitlines():
        network, kind, batches, precisions = line.split()
        for precision in precisions.split(","):
            for batch in batches.split(","):
                yield Row(network, kind, int(batch), precision)


class Wave(NamedTuple):
    """Rows that are prepared together, in the order of their value."""
    share: float  # of the time; those that follow get what it leaves
    rows: list
    # "large": two kinds of peers do not fit the device's memory at a time; "cold": coldstart.py;
    # "accuracy": accuracy.py.
    kind: str = ""

    def title(self, row):
        return TITLES.get(self.kind, "") + row.name


TITLES = {"cold": "cold start: ", "accuracy": "88 % of Fashion-MNIST: "}
WAVES = [Wave(50, list(rows("""mlp train 64 fp32,bf16
                               gpt2 train 8 bf16
                               resnet50 train 64 bf16
                               mlp infer 1 fp32
                               resnet50 infer 1 bf16
                               gpt2-prefill infer 1 bf16
                               resnet50 infer 32 bf16
                               mlp infer 32,1024 fp32
                               gpt2-decode infer 1 bf16"""))),
         Wave(10, list(rows("""mlp infer 1 fp32
                               mlp train 64 fp32
                               bert infer 1 bf16
                               resnet50 infer 1 bf16""")), "cold"),
         Wave(45, list(rows("""bert-mlm train 32 bf16
                               bert infer 1 bf16
                               vit train 64 bf16
                               vit infer 1 bf16
                               bert infer 32 bf16
                               vit infer 32 bf16"""))),
         Wave(10, list(rows("mlp train 64 fp32,bf16")), "accuracy"),
         Wave(5, list(rows("resnet50 train 64 tf32"))),
         Wave(5, list(rows("""mlp train 128 fp32,bf16
                              bert-384 infer 1,32 bf16"""))),
         Wave(15, list(rows("resnet50 train 256 bf16")), "large"),
         Wave(15, list(rows("gpt2 train 32 bf16")), "large")]
SMALL_WAVES = [Wave(1, list(rows("""mlp train 8 fp32
                                    gpt2 train 2 bf16
                                    resnet50 train 4 bf16
                                    mlp infer 1 fp32"""))),
               Wave(1, list(rows("""mlp infer 1 fp32
                                    mlp train 8 fp32
                                    bert infer 2 bf16""")), "cold"),
               Wave(1, list(rows("""bert-mlm train 2 bf16
                                    vit infer 2 bf16
                                    bert infer 2 bf16
                                    bert-384 infer 2 bf16
                                    gpt2-decode infer 1 bf16"""))),
               Wave(1, list(rows("mlp train 4 fp32")), "large"),
               Wave(1, list(rows("mlp train 8 fp32")), "accuracy")]
# Measured against a second process of ours, too.
AGAIN = {"mlp train 64 fp32", "bert infer 1 bf16", "mlp train 8 fp32", "bert infer 2 bf16"}
# Measured against the same program as one kernel, too.
ONE_KERNEL = {"mlp train 64 fp32", "mlp train 64 bf16", "mlp train 8 fp32"}
# Measured against the same program with a gradient stream, too.
TWO_STREAMS = {"mlp train 64 fp32", "resnet50 train 64 bf16", "gpt2 train 8 bf16",
               "mlp train 8 fp32", "gpt2 train 2 bf16"}
# The sides of ours that are other files: the end of their names, options.
VARIANTS = {"sinter-one": ("-one", ["--persistent-kernel=on"]),
            "sinter-streams": ("-streams", ["--gradient-stream=on"])}
# Inference that is compiled ahead, with its weights, for cold starts.
AHEAD = {"mlp infer 1 fp32"}
# Of losses and outputs, relative.
TOLERANCE = {"fp32": 1e-4, "tf32": 2e-2, "bf16": 2e-2}


def waves(small):
    return SMALL_WAVES if small else WAVES


def isChosen(only, title):
    """Whether --only=TEXT;TEXT.. wants a row: one text is in its title. Texts without a colon
    are of plain rows, whose titles have none: not of cold starts and accuracies."""
    return not only or any(text in title and (":" in text) >= (":" in title)
                           for text in only.split(";") if text)


def graph(row, small):
    return row.network + ("-small" if small else "")


def weightsOf(network, small):
    return SHARED.get(network, network) + ("-small" if small else "") + ".safetensors"


def takesTokens(network):
    return network.startswith(("bert", "gpt2"))


def caches(network, small):
    """{input: shape} of keys and values that stay where they are from run to run."""
    layers, shape = CACHES[network][small] if network in CACHES else (0, ())
    return {f"past_{kind}_{layer}": shape for layer in range(layers) for kind in ("k", "v")}


def trainerOf(row, side):
    """The file of a trainer, from bench's folder on."""
    return row.file + (VARIANTS[side][0] if side in VARIANTS else "")


def compileOptions(row, side="sinter"):
    """sinterc's, but for model, output and target."""
    options = [f"--batch={row.batch}", f"--precision={row.precision}"]
    if side in VARIANTS:
        options += VARIANTS[side][1]
    if row.kind == "train":
        training = TRAINING[row.network]
        options += ["--train", f"--loss={training.loss}", f"--optimizer={training.optimizer}"]
        options += [f"--{key}={value}" for key, value in training.options.items()]
    if row.network in CACHES:
        options.append(r"--state=past_(.*)=present_\1")
    return options


# --- data ------------------------------------------------------------------------------------


def batchesOf(row):
    """How many batches there are; steps take them in turn."""
    return 1 if row.kind == "infer" else 64 if row.network == "mlp" else 2


def integers(generator, count, most):
    return struct.pack(f"<{count}q", *(generator.randrange(most) for _ in range(count)))


def writeData(row, small, path):
    """x, and for training labels: random pixels of size 1, random words and classes."""
    generator = random.Random(row.name)
    shape, classes = EXAMPLES[row.network][small]
    count = row.batch * batchesOf(row)
    size = count * math.prod(shape)
    arrays = {}
    if takesTokens(row.network):
        arrays["x"] = ("<i8", (count, *shape), integers(generator, size, classes))
    else:
        arrays["x"] = ("<f4", (count, *shape), weights.randomFloats(generator, size, 0x3f))
    if row.network in CACHES:  # the last position: all others are looked at
        _, cache = CACHES[row.network][small]
        arrays["position"] = ("<i8", (1,), struct.pack("<q", cache[2] - 1))
        for name in caches(row.network, small):
            arrays[name] = ("<u2", cache, weights.randomHalves(generator, math.prod(cache)))
    if row.network == "bert-mlm":  # the words that were masked
        labels = [generator.randrange(classes) if generator.random() < 0.15 else -100
                  for _ in range(size)]
        arrays["labels"] = ("<i8", (count, *shape), struct.pack(f"<{size}q", *labels))
    elif row.kind == "train":
        shape = shape if takesTokens(row.network) else ()
        arrays["labels"] = ("<i8", (count, *shape),
                            integers(generator, count * math.prod(shape), classes))
    writeNpz(path, arrays)
