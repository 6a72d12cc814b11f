"""The rows of tools/dev bench: which network, what is done with it, in which type.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. A row's name, such as "resnet50 infer 1 fp32", is what --only
searches. Networks are those of models.py.
"""

from typing import NamedTuple


class Row(NamedTuple):
    network: str
    kind: str  # infer or train
    batch: int
    precision: str  # fp32, FAST, bf16, or one of QUANTIZED
    threads: int

    @property
    def name(self):
        threads = f" {self.threads} threads" if self.threads > 1 else ""
        return f"{self.network} {self.kind} {self.batch} {self.precision}{threads}"

    @property
    def file(self):
        return self.name.replace(" ", "-")

    @property
    def model(self):
        """The files that models.py makes: NAME.onnx, NAME.pt."""
        return f"{self.network}-{self.kind}"

    @property
    def graph(self):
        """The ONNX file: that of models.py, or of quantize_models.py."""
        return self.model + (f"-{self.precision}" if self.precision in QUANTIZED else "") + ".onnx"

    @property
    def exact(self):
        """The output y of the network in fp32."""
        return f"{self.model}-{self.batch}-exact.npz"

    @property
    def data(self):
        """The inputs, and in training the labels."""
        return f"{self.network}-{self.kind}-{self.batch}.npz"

    @property
    def losses(self):
        """What the losses of the first steps should be (models.py)."""
        return f"{self.network}-{self.kind}-{self.batch}-losses.json"


# Ours with --fast-convolutions, peers as in fp32, which have no such choice.
FAST = "fp32-fast"
# Codes of weights and activations, or of weights alone; the other values are fp32.
QUANTIZED = ("int8", "int8-weights", "int4-weights")


class Training(NamedTuple):
    loss: str  # of sinterc's --loss
    optimizer: str
    options: dict  # of sinterc, and of PyTorch's optimizer


# The steps are small enough that float32 follows float64. ResNet-50 has so large a gradient that
# at a rate of 1e-3 their third losses differ by a tenth of what the steps change.
ADAM = {"lr": 1e-4}
ADAMW = {"lr": 1e-4, "weight-decay": 0.01}
TRAINING = {
    "mlp": Training("cross-entropy", "adam", ADAM),
    "cnn": Training("cross-entropy", "adam", ADAM),
    "resnet50": Training("cross-entropy", "sgd", {"lr": 1e-5, "momentum": 0.9}),
    "unet": Training("cross-entropy:axis=1", "adam", ADAM),
    "lstm": Training("mse", "adam", ADAM),
    "gru": Training("mse", "adam", ADAM),
    "bert-base": Training("cross-entropy", "adamw", ADAMW),
    "gpt2": Training("cross-entropy:axis=-1", "adamw", ADAMW),
    "smollm2": Training("cross-entropy:axis=-1", "adamw", ADAMW),
}

# network  kind  batches  types  threads
TABLE = """
    resnet50         infer  1,8   fp32,bf16  1,2
    mobilenet-v3     infer  1,8   fp32,bf16  1,2
    efficientnet-b0  infer  1,8   fp32       1
    bert-base        infer  1,8   fp32,bf16  1,2
    vit-b            infer  1,8   fp32,bf16  1
    gpt2             infer  1,8   fp32,bf16  1
    convnext-t       infer  1,8   fp32       1
    unet             infer  1,8   fp32       1
    lstm             infer  1,16  fp32       1,2
    gru              infer  1,16  fp32       1
    mlp              infer  1     fp32       1
    smollm2          infer  1     fp32,bf16  1
    gpt2-decode      infer  1     fp32,bf16  1
    resnet50         infer  1,8   fp32-fast  1
    unet             infer  1,8   fp32-fast  1
    resnet50         infer  1     int8       1
    bert-base        infer  1     int8       1
    gpt2-decode      infer  1     int8-weights,int4-weights  1
    mlp              train  64    fp32       1
    cnn              train  128   fp32       1
    resnet50         train  8     fp32       1
    gpt2             train  2     fp32       1
    unet             train  4     fp32       1
    lstm             train  16    fp32       1
    gru              train  16    fp32       1
    bert-base        train  4     fp32,bf16  1
    smollm2          train  1     fp32,bf16  1
"""
# Graphs with one example, not a symbolic dimension, in every row: PyTorch's exporter takes minutes
# for the shapes of a deep network.
FIXED = {"gpt2-decode", "smollm2"}
# Of --table, unless --only chooses others.
QUICK = {"mlp infer 1 fp32", "lstm infer 1 fp32", "mobilenet-v3 infer 1 fp32",
         "resnet50 infer 1 fp32", "bert-base infer 1 fp32", "bert-base infer 1 bf16",
         "gpt2-decode infer 1 fp32", "mlp train 64 fp32"}

# Outputs of two sides differ by at most this, relative to the largest value; in bf16 ours differs
# from that of the network in fp32 by at most this, root mean square, relative.
TOLERANCE = {"fp32": 1e-4, FAST: 1e-4, "bf16": 2e-2, "int8-weights": 1e-4, "int4-weights": 1e-4}
# Types in which roundings grow from layer to layer: the distance from the network in fp32, root
# mean square, is measured.
ROUNDED = ("bf16", "int8")
# With codes of activations, a code more or less grows from layer to layer: two runs of one
# framework differ by a tenth. So that distance may be larger than a peer's by this share.
MORE_ERROR = 0.1
# Losses of the first steps are compared with those in float64.
FIRST_STEPS = 3
LOSS_TOLERANCE = {"fp32": 1e-5, "bf16": 2e-2}

# The least ratio to the best peer. What comes first counts.
GOALS = [("mlp infer", 2.0), ("mlp train", 3.5), ("lstm infer", 1.2), ("lstm train", 1.5),
         ("gru infer", 1.2), ("gru train", 1.5), ("train", {"fp32": 1.1, "bf16": 1.2}),
         ("infer", {"fp32": 0.97, "bf16": 0.95, "int8": 0.95})]


def allRows():
    """Rows of one thread come first, and batches of a row with two threads are the first."""
    rows = []
    for line in TABLE.strip().splitlines():
        network, kind, batches, precisions, threads = line.split()
        first = int(batches.split(",")[0])
        rows += [Row(network, kind, int(batch), precision, int(count))
                 for count in threads.split(",") for precision in precisions.split(",")
                 for batch in batches.split(",")
                 if count == "1" or (int(batch) == first and precision == "fp32")]
    return sorted(rows, key=lambda row: row.threads)


def chooseRows(only, isQuick, threads):
    """Those whose names contain `only`; with `threads`, all of them on so many."""
    rows = [row._replace(threads=threads or row.threads) for row in allRows()]
    if isQuick and not only:
        quick = {row._replace(threads=threads or row.threads) for row in allRows()
                 if row.name in QUICK}
        rows = [row for row in rows if row in quick]
    return [row for row in dict.fromkeys(rows) if only in row.name]


def recipeOf(row):
    """Text of what the losses of its first steps come from, beside the model."""
    return f" {FIRST_STEPS} {TRAINING[row.network]}" if row.kind == "train" else ""


def goalOf(row):
    for text, goal in GOALS:
        if row.name.startswith(text) or row.kind == text:
            return goal.get(row.precision) if isinstance(goal, dict) else goal
    return None
