#!/usr/bin/env python3
"""Makes derivatives-exported.onnx and derivatives-operators.onnx: PyTorch's values and
gradients at ties, bounds, signed zeros, subnormals, large numbers, infinities and NaN.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Each file is one graph of many cases. A case NAME has the inputs NAME/x0, NAME/x1 .. and
the output NAME/y. The first file holds functions of PyTorch as its two exporters write
them (NAME ends with .script and .dynamo; where both write the same, with .both), the
second operators of ONNX with the PyTorch function that each stands for. Initializers
that no node reads hold the table, for each case:

  NAME#x0 ..       the inputs, float32
  NAME#y, NAME#d0  the value, and the gradients of the sum of y times COTANGENT, that
                   PyTorch computes in float64
  NAME#y32 ..      the same in float32 where it differs: float64's numbers, or those on
                   the way to them, may be out of float32's reach

test/ops/DerivativesTest.cpp reads them.
"""

import io
import logging
import math
import os
import warnings

import numpy
import onnx
import torch
from onnx import helper, numpy_helper
from torch.nn import functional as F

FOLDER = os.path.dirname(os.path.abspath(__file__))
INF, NAN = math.inf, math.nan
COTANGENT = [1.0, -2.0, 0.5, 3.0]  # over and over

# ------------------------------------------------------------------------------
# Where
# ------------------------------------------------------------------------------

MAGNITUDES = [1e-45, 1e-40, 1e-3, 0.5, 1, 2, 3, 6, 20, 88.7, 104, 1e4, 1e30, INF]
POINTS = [0.0, -0.0] + [s * m for m in MAGNITUDES for s in (1, -1)] + [NAN]
# Sine and its kin of numbers beyond 2^52 have a page of their own (docs/numerics.md).
ANGLES = [p for p in POINTS if not abs(p) > 1e29]
POSITIVE = [p for p in POINTS if p > 0] + [0.0]  # where C's pow is PyTorch's
FINITE = [0.5, -0.5, 1, -1, 2, -3, 104]
FEW = [0.0, -0.0, 1e-40, -1e-40, 1, -1, 2, 3, -3, 104, 1e30, -1e30, INF, -INF, NAN]
ROWS = [
    [0, 0, 0, 0], [-0.0, 0, -0.0, 0], [1, 1, 1, 1], [-3, -3, -3, -3], [1e4] * 4,
    [1, 2, 2, 1], [2, 2, -2, -2], [0, 0, 0, 1], [0, 3, 4, 0], [1e-40, -1e-40, 0, 1e-45],
    [1e-20, 2e-20, -1e-20, 0], [88.7, -88.7, 104, -104], [1e4, -1e4, 1, 0],
    [1e30, 1, -1e30, 1e30], [0.5, -0.25, 1.5, 1e-3]]
# Next to these, squares and cubes are within float32.
TAME_ROWS = [r for r in ROWS if all(x == 0 or 1e-10 < abs(x) < 1e10 for x in r)]
# PyTorch picks any of equal ones.
UNEQUAL_ROWS = [r for r in ROWS if len(set(r)) == 4]
# The derivative at a row of these is often NaN, in PyTorch too.
WILD_ROWS = [
    [INF, 1, 2, 3], [-INF, 1, 2, 3], [-INF] * 4, [INF, INF, 0, 1], [-INF, 0, 0, -INF],
    [NAN, 1, 2, 3]]


def column(points):
    return torch.tensor(points, dtype=torch.float32).reshape(-1, 1)


def points(*extra, among=POINTS, near=True):
    """`near`: the next numbers on both sides of the extra ones, too."""
    near = near and [float(numpy.nextafter(numpy.float32(e), numpy.float32(to)))
            for e in extra for to in (-INF, INF)]
    return [column(list(among) + list(extra) + (near or []))]


def pairs(first=FEW, second=FEW):
    both = [(a, b) for a in first for b in second]
    return [column([a for a, _ in both]), column([b for _, b in both])]


def rows(wild=True, among=ROWS):
    return [torch.tensor(among + (WILD_ROWS if wild else []), dtype=torch.float32)]


def tame():
    return rows(wild=False, among=TAME_ROWS)


def empty(*shape):
    return [torch.zeros(shape, dtype=torch.float32)]


def images(wild=True, among=ROWS):
    """[N, 2, 2, 4]: rows, and the same in other orders, so that windows have ties."""
    table = rows(wild, among)[0]
    return [torch.stack([table, table.flip(1), table.roll(1, 1), table], 1).reshape(-1, 2, 2, 4)]


# ------------------------------------------------------------------------------
# What PyTorch computes
# ------------------------------------------------------------------------------


def reference(function, inputs, dtype):
    leaves = [x.detach().clone().to(dtype).requires_grad_() for x in inputs]
    y = function(*leaves)
    cotangent = torch.tensor(COTANGENT, dtype=dtype).repeat(y.numel() // 4 + 1)[:y.numel()]
    gradients = [None] * len(leaves)
    if y.requires_grad:
        gradients = torch.autograd.grad(y, leaves, cotangent.reshape(y.shape), allow_unused=True)
    gradients = [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, leaves)]
    return [y.detach(), *gradients]


class Table:
    def __init__(self, opset):
        self.opset = opset
        self.nodes, self.tensors, self.inputs, self.outputs = [], [], [], []

    def add(self, name, nodes, constants, function, inputs):
        """Nodes read x0, x1 .. and write y; their names get the case's as a prefix."""
        def own(value):
            return f"{name}/{value}" if value else ""
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.ClearField("doc_string")
            copy.name = own(node.name or node.op_type)
            copy.input[:] = [own(i) for i in node.input]
            copy.output[:] = [own(o) for o in node.output]
            kept = [p for p in node.metadata_props if p.key == "pkg.torch.onnx.fx_node"]
            del copy.metadata_props[:]
            copy.metadata_props.extend(kept)
            self.nodes.append(copy)
        for key, value in constants.items():
            self.tensors.append(numpy_helper.from_array(value, own(key)))

        def keep(key, value):
            self.tensors.append(numpy_helper.from_array(value.numpy(), f"{name}#{key}"))
        wide = reference(function, inputs, torch.float64)
        narrow = reference(function, inputs, torch.float32)
        for i, x in enumerate(inputs):
            self.inputs.append(helper.make_tensor_value_info(own(f"x{i}"), 1, list(x.shape)))
            keep(f"x{i}", x)
        for i, (a, b) in enumerate(zip(wide, narrow)):
            key = f"d{i - 1}" if i else "y"
            keep(key, a)
            if not torch.allclose(a.float(), b, 1e-6, 2.0 ** -126, equal_nan=True):
                keep(key + "32", b)
        y = wide[0]
        self.outputs.append(helper.make_tensor_value_info(own("y"), 1, list(y.shape)))

    def save(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=10)
        model.producer_name = "test/ops/Inputs/make_derivatives.py"
        onnx.save(model, os.path.join(FOLDER, name + ".onnx"))
        print(f"{name}: {len(self.outputs)} cases, {model.ByteSize()} bytes")


# ------------------------------------------------------------------------------
# Functions, as the exporters write them
# ------------------------------------------------------------------------------

EXPORTED_OPSET = 20


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def exported(function, inputs, dynamo):
    """Nodes and constants, with x0 .. and y as names; None where it cannot be exported."""
    names = [f"x{i}" for i in range(len(inputs))]
    module = Module(function).eval()
    try:
        if dynamo:
            model = torch.onnx.export(module, tuple(inputs), dynamo=True, verbose=False,
                                      input_names=names, output_names=["y"],
                                      opset_version=EXPORTED_OPSET).model_proto
        else:
            buffer = io.BytesIO()
            torch.onnx.export(module, tuple(inputs), buffer, dynamo=False, input_names=names,
                              output_names=["y"], opset_version=EXPORTED_OPSET)
            model = onnx.load_from_string(buffer.getvalue())
    except Exception:  # each exporter has its own, and many
        return None
    if model.functions or any(a.HasField("g") for n in model.graph.node for a in n.attribute):
        return None
    assert [o.version for o in model.opset_import if not o.domain] == [EXPORTED_OPSET]
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return list(model.graph.node), constants


def shapeOf(nodes):
    """What is compared to tell whether both exporters write the same."""
    return [(n.op_type, len(n.input), str(sorted((a.name, str(a)) for a in n.attribute)))
            for n in nodes if n.op_type != "Constant"]


def functions():
    """(name, function, inputs); bounds and corners are among the points."""
    yield "relu", F.relu, points()
    yield "relu6", F.relu6, points(0, 6)
    yield "hardtanh", F.hardtanh, points(-1, 1)
    yield "hardtanh-2-3", lambda x: F.hardtanh(x, -2, 3), points(-2, 3)
    yield "clamp", lambda x: x.clamp(-1, 1), points(-1, 1)
    yield "clamp-0-6", lambda x: x.clamp(0, 6), points(0, 6)
    yield "clamp-min", lambda x: x.clamp(min=0.5), points(0.5)
    yield "clamp-min-0", lambda x: x.clamp(min=0), points(0)
    yield "clamp-max", lambda x: x.clamp(max=2), points(2)
    yield "hardsigmoid", F.hardsigmoid, points(-3, 3, near=False)
    yield "hardswish", F.hardswish, points(-3, 3, near=False)
    yield "hardshrink", F.hardshrink, points(-0.5, 0.5)
    yield "softshrink", F.softshrink, points(-0.5, 0.5)
    yield "threshold", lambda x: F.threshold(x, 1.0, 0.5), points(1)
    yield "threshold-0", lambda x: F.threshold(x, 0.0, 0.0), points(0)
    yield "elu", F.elu, points()
    yield "elu-2", lambda x: F.elu(x, 2.0), points()
    yield "selu", F.selu, points()
    yield "celu", F.celu, points()
    yield "celu-half", lambda x: F.celu(x, 0.5), points()
    yield "leaky-relu", lambda x: F.leaky_relu(x, 0.25), points()
    yield "prelu", F.prelu, [points()[0], torch.tensor([0.25])]
    yield "rrelu", F.rrelu, points()
    yield "gelu", F.gelu, points()
    yield "gelu-tanh", lambda x: F.gelu(x, approximate="tanh"), points()
    yield "silu", F.silu, points()
    yield "mish", F.mish, points()
    yield "softplus", F.softplus, points(20)
    yield "softplus-beta", lambda x: F.softplus(x, 2.0), points(10)
    yield "softsign", F.softsign, points()
    yield "tanhshrink", F.tanhshrink, points()
    yield "sigmoid", torch.sigmoid, points()
    yield "logsigmoid", F.logsigmoid, points()
    yield "glu", F.glu, rows()
    yield "abs", torch.abs, points()
    yield "sign", torch.sign, points()
    yield "sqrt", torch.sqrt, points()
    yield "rsqrt", torch.rsqrt, points()
    yield "reciprocal", torch.reciprocal, points()
    yield "square", torch.square, points()
    yield "exp", torch.exp, points()
    yield "exp2", torch.exp2, points()
    yield "expm1", torch.expm1, points()
    yield "log", torch.log, points()
    yield "log1p", torch.log1p, points(-1)
    yield "log2", torch.log2, points()
    yield "log10", torch.log10, points()
    yield "erf", torch.erf, points()
    yield "pow-2", lambda x: x ** 2, points()
    yield "pow-3", lambda x: x ** 3, points()
    yield "pow-half", lambda x: x ** 0.5, points(among=POSITIVE)
    yield "pow-minus-1", lambda x: x ** -1, points()
    yield "pow-1.5", lambda x: x ** 1.5, points(among=POSITIVE)
    yield "where-sqrt", lambda x: torch.where(x > 0, torch.sqrt(x), x), points()
    yield "maximum", torch.maximum, pairs()
    yield "minimum", torch.minimum, pairs()
    yield "maximum-0", lambda x: torch.maximum(x, torch.zeros_like(x)), points()
    yield "logaddexp", torch.logaddexp, pairs()
    yield "atan2", torch.atan2, pairs(FINITE, FINITE)
    yield "xlogy", torch.xlogy, pairs(FINITE, FEW)
    yield "xlogy-0", torch.xlogy, pairs([0.0], [0.0])
    yield "mul", torch.mul, pairs()
    yield "div", torch.div, pairs()
    yield "remainder", torch.remainder, pairs(FINITE, FINITE)
    yield "fmod", torch.fmod, pairs()
    yield "lerp", lambda x, y: torch.lerp(x, y, 0.25), pairs()
    yield "max-dim", lambda x: x.max(1).values, rows()
    yield "min-dim", lambda x: x.min(1).values, rows()
    yield "amax", lambda x: x.amax(1), rows()
    yield "amin", lambda x: x.amin(1, keepdim=True), rows()
    yield "max-all", lambda x: torch.max(x), [torch.tensor([[1.0, 3], [3, 0]])]
    yield "sum", lambda x: x.sum(1), rows()
    yield "mean", lambda x: x.mean(1), rows()
    yield "prod", lambda x: x.prod(1), rows()
    yield "cumsum", lambda x: x.cumsum(1), rows()
    yield "logsumexp", lambda x: x.logsumexp(1), rows()
    yield "logsumexp-keep", lambda x: x.logsumexp(1, keepdim=True), rows()
    yield "softmax", lambda x: x.softmax(1), rows()
    yield "softmin", lambda x: F.softmin(x, 1), rows()
    yield "log-softmax", lambda x: x.log_softmax(1), rows()
    yield "norm", lambda x: x.norm(dim=1), rows()
    yield "norm-1", lambda x: x.norm(p=1, dim=1), rows()
    yield "norm-3", lambda x: torch.linalg.vector_norm(x, 3.0, dim=1), tame()
    yield "norm-inf", lambda x: torch.linalg.vector_norm(x, INF, dim=1), rows()
    yield "norm-all", lambda x: torch.linalg.norm(x), empty(2, 3)
    yield "normalize", F.normalize, rows()
    yield "normalize-1", lambda x: F.normalize(x, p=1.0), rows()
    yield "normalize-3", lambda x: F.normalize(x, p=3.0), tame()
    yield "std", lambda x: x.std(1), tame()
    yield "std-biased", lambda x: x.std(1, correction=0), tame()
    yield "var", lambda x: x.var(1), tame()
    yield "cosine-similarity", lambda x, y: F.cosine_similarity(x, y, dim=1), [
        *tame(), torch.tensor([[1.0, 2, 2, 1]]).repeat(len(TAME_ROWS), 1)]
    yield "pairwise-distance", F.pairwise_distance, tame() + tame()
    yield "layer-norm", lambda x: F.layer_norm(x, (4,)), tame()
    yield "rms-norm", lambda x: F.rms_norm(x, (4,), eps=1e-6), tame()
    yield "group-norm", lambda x: F.group_norm(x, 1), images(wild=False, among=TAME_ROWS)
    yield "instance-norm", F.instance_norm, images(wild=False, among=TAME_ROWS)
    yield "batch-norm", lambda x: F.batch_norm(x, x.new_zeros(4), x.new_ones(4)), rows()
    yield "local-response-norm", lambda x: F.local_response_norm(x, 2), images(wild=False)
    yield "max-pool", lambda x: F.max_pool2d(x, 2), images()
    yield "max-pool-padded", lambda x: F.max_pool2d(x, 3, 1, 1), images()
    yield "avg-pool", lambda x: F.avg_pool2d(x, 2), images()
    yield "adaptive-max-pool", lambda x: F.adaptive_max_pool2d(x, 1), images()
    yield "lp-pool", lambda x: F.lp_pool2d(x, 2.0, 2), images(wild=False)
    yield "topk", lambda x: x.topk(2, 1).values, rows(wild=False, among=UNEQUAL_ROWS)
    yield "bce-logits", lambda x: F.binary_cross_entropy_with_logits(
        x, torch.full_like(x, 0.25), reduction="none"), points()
    yield "l1-loss", lambda x: F.l1_loss(x, torch.ones_like(x), reduction="none"), points(1)
    yield "mse-loss", lambda x: F.mse_loss(x, torch.ones_like(x), reduction="none"), points(1)
    yield "huber-loss", lambda x: F.huber_loss(x, torch.ones_like(x), "none"), points(0, 2)
    yield "smooth-l1-loss", lambda x: F.smooth_l1_loss(
        x, torch.ones_like(x), reduction="none"), points(0, 2)
    yield "relu-of-empty", F.relu, empty(0, 3)
    yield "amax-of-empty", lambda x: x.amax(1), empty(0, 3)
    yield "norm-of-empty", lambda x: x.norm(dim=1), empty(2, 0)
    yield "logsumexp-of-empty", lambda x: x.logsumexp(1), empty(2, 0)
    yield "softmax-of-empty", lambda x: x.softmax(1), empty(2, 0)


def exportedCases():
    table = Table(EXPORTED_OPSET)
    for name, function, inputs in functions():
        written = {"script": exported(function, inputs, False),
                   "dynamo": exported(function, inputs, True)}
        if written["script"] and written["dynamo"] and shapeOf(
                written["script"][0]) == shapeOf(written["dynamo"][0]):
            # The newer exporter's also says what it was.
            written = {"both": written["dynamo"]}
        if not any(written.values()):
            print(f"{name}: no exporter writes it")
        for exporter, model in written.items():
            if model:
                table.add(f"{name}.{exporter}", *model, function, inputs)
    return table


# ------------------------------------------------------------------------------
# Operators
# ------------------------------------------------------------------------------


def operators():
    """(name, operator or nodes, attributes, PyTorch's function, inputs, constants)."""
    def one(op, function, inputs, name=None, constants=(), **attributes):
        values = {f"k{i}": numpy.asarray(c) for i, c in enumerate(constants)}
        names = [f"x{i}" for i in range(len(inputs))] + list(values)
        node = helper.make_node(op, names, ["y"], **attributes)
        return name or op, [node], values, function, inputs

    f4 = numpy.float32
    axis = numpy.array([1], dtype=numpy.int64)
    for op, function in [
            ("Abs", torch.abs), ("Acos", torch.acos), ("Acosh", torch.acosh),
            ("Asin", torch.asin), ("Asinh", torch.asinh), ("Atan", torch.atan),
            ("Atanh", torch.atanh), ("Ceil", torch.ceil), ("Cosh", torch.cosh),
            ("Erf", torch.erf), ("Exp", torch.exp), ("Floor", torch.floor), ("Log", torch.log),
            ("Mish", F.mish), ("Neg", torch.neg), ("Reciprocal", torch.reciprocal),
            ("Relu", F.relu), ("Round", torch.round), ("Sigmoid", torch.sigmoid),
            ("Sign", torch.sign), ("Sinh", torch.sinh), ("Softplus", F.softplus),
            ("Softsign", F.softsign), ("Sqrt", torch.sqrt), ("Tanh", torch.tanh),
            ("HardSwish", F.hardswish), ("Identity", lambda x: x * 1)]:
        yield one(op, function, points(-3, 3, -1, 1, near=op != "HardSwish"))
    for op, function in [("Cos", torch.cos), ("Sin", torch.sin), ("Tan", torch.tan)]:
        yield one(op, function, points(among=ANGLES))
    yield one("Gelu", F.gelu, points())
    yield one("Gelu", lambda x: F.gelu(x, approximate="tanh"), points(), "Gelu.tanh",
              approximate="tanh")
    yield one("Swish", F.silu, points())
    yield one("Swish", lambda x: x * torch.sigmoid(2 * x), points(), "Swish.2", alpha=2.0)
    yield one("Elu", F.elu, points())
    yield one("Selu", F.selu, points())
    yield one("Celu", lambda x: F.celu(x, 2.0), points(), alpha=2.0)
    yield one("LeakyRelu", lambda x: F.leaky_relu(x, 0.25), points(), alpha=0.25)
    yield one("PRelu", lambda x, a: torch.where(x > 0, x, a * torch.where(x > 0, 0, x)),
              pairs())
    yield one("ThresholdedRelu", lambda x: F.threshold(x, 1.0, 0.0), points(1), alpha=1.0)
    yield one("HardSigmoid", lambda x: F.hardtanh(0.25 * x + 0.5, 0, 1), points(-2, 2),
              alpha=0.25, beta=0.5)
    yield one("Shrink", F.softshrink, points(-0.5, 0.5), lambd=0.5, bias=0.5)
    yield one("Clip", lambda x: x.clamp(-1, 1), points(-1, 1), constants=[f4(-1), f4(1)])
    yield one("Clip", F.relu6, points(0, 6), "Clip.relu6", [f4(0), f4(6)])
    yield one("Clip", lambda x: x.clamp(3, 1), points(1, 3), "Clip.crossed", [f4(3), f4(1)])
    # Bounds in another place, type and shape are bounds all the same.
    yield "Clip.cast", [
        helper.make_node("Constant", [], ["low"], value_floats=[0.0]),
        helper.make_node("Cast", ["k"], ["high"], to=1),
        helper.make_node("Clip", ["x0", "low", "high"], ["y"])], {
            "k": numpy.array([6], dtype=numpy.float64)}, F.relu6, points(0, 6)
    yield "Clip.computed", [
        helper.make_node("Clip", ["x0", "x1", "x2"], ["y"])], {}, torch.clamp, [
            *points(1, among=POINTS[:-1]), torch.tensor(-1.0), torch.tensor(1.0)]  # without NaN
    for op, function in [
            ("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Div", torch.div),
            ("Pow", torch.pow), ("Max", torch.maximum), ("Min", torch.minimum)]:
        yield one(op, function, pairs())
    yield one("Sum", torch.add, pairs())
    yield one("Mean", lambda x, y: (x + y) / 2, pairs())
    yield one("Mod", torch.fmod, pairs(), fmod=1)
    yield "Where", [
        helper.make_node("Less", ["x0", "x1"], ["c"]),
        helper.make_node("Where", ["c", "x0", "x1"], ["y"])], {}, (
            lambda x, y: torch.where(x < y, x, y)), pairs()
    for op, function in [
            ("ReduceL1", lambda x: x.norm(p=1, dim=1)), ("ReduceL2", lambda x: x.norm(dim=1)),
            ("ReduceLogSum", lambda x: x.sum(1).log()),
            ("ReduceLogSumExp", lambda x: x.logsumexp(1)), ("ReduceMax", lambda x: x.amax(1)),
            ("ReduceMean", lambda x: x.mean(1)), ("ReduceMin", lambda x: x.amin(1)),
            ("ReduceProd", lambda x: x.prod(1)), ("ReduceSum", lambda x: x.sum(1)),
            ("ReduceSumSquare", lambda x: (x * x).sum(1))]:
        yield one(op, function, rows(), constants=[axis], keepdims=0)
    yield one("ReduceL2", lambda x: x.norm(dim=1), points(), "ReduceL2.one", [axis], keepdims=0)
    yield one("ReduceMax", lambda x: x.amax(1), points(), "ReduceMax.one", [axis], keepdims=0)
    yield one("CumSum", lambda x: x.cumsum(1), rows(), constants=[numpy.int64(1)])
    yield one("CumProd", lambda x: x.cumprod(1), rows(wild=False), constants=[numpy.int64(1)])
    yield one("Softmax", lambda x: x.softmax(1), rows())
    yield one("LogSoftmax", lambda x: x.log_softmax(1), rows())

    def lpNormalized(p):
        def function(x):
            size = x.norm(p=p, dim=1, keepdim=True)
            return x / torch.where(size == 0, 1, size)
        return function
    yield one("LpNormalization", lpNormalized(2), tame())
    yield one("LpNormalization", lpNormalized(1), tame(), "LpNormalization.1", p=1)
    ones, zeros = numpy.ones(4, f4), numpy.zeros(4, f4)
    two = numpy.ones(2, f4), numpy.zeros(2, f4)
    yield one("LayerNormalization", lambda x: F.layer_norm(x, (4,)), tame(),
              constants=[ones, zeros])
    yield one("RMSNormalization", lambda x: F.rms_norm(x, (4,), eps=1e-5), tame(),
              constants=[ones])
    yield one("GroupNormalization", lambda x: F.group_norm(x, 1),
              images(wild=False, among=TAME_ROWS), constants=two, num_groups=1)
    yield one("InstanceNormalization", F.instance_norm, images(wild=False, among=TAME_ROWS),
              constants=two)
    yield one("BatchNormalization", lambda x: F.batch_norm(x, x.new_zeros(4), x.new_ones(4)),
              rows(), constants=[ones, zeros, zeros, ones])
    yield one("MeanVarianceNormalization", lambda x: (x - x.mean(1, keepdim=True)) / (
        x.std(1, correction=0, keepdim=True) + 1e-9), tame(), axes=[1])
    yield one("LRN", lambda x: F.local_response_norm(x, 3), images(wild=False), size=3)
    yield one("MaxPool", lambda x: F.max_pool2d(x, 2), images(), kernel_shape=[2, 2],
              strides=[2, 2])
    yield one("AveragePool", lambda x: F.avg_pool2d(x, 2), images(), kernel_shape=[2, 2],
              strides=[2, 2])
    yield one("LpPool", lambda x: F.lp_pool2d(x, 2.0, 2), images(wild=False),
              kernel_shape=[2, 2], strides=[2, 2])
    yield one("GlobalMaxPool", lambda x: x.amax((2, 3), keepdim=True), images())
    yield one("GlobalAveragePool", lambda x: x.mean((2, 3), keepdim=True), images())
    yield one("GlobalLpPool", lambda x: x.flatten(2).norm(dim=2)[..., None, None],
              images(wild=False))
    top = helper.make_node("TopK", ["x0", "k"], ["y", "i"], axis=1)
    yield "TopK", [top], {"k": numpy.array([2])}, lambda x: x.topk(
        2, 1).values, rows(wild=False, among=UNEQUAL_ROWS)
    labels = torch.arange(len(ROWS + WILD_ROWS)) % 4
    yield one("SoftmaxCrossEntropyLoss", lambda x: F.cross_entropy(x, labels, reduction="none"),
              rows(), constants=[labels.numpy()], reduction="none")
    yield one("NegativeLogLikelihoodLoss", lambda x: F.nll_loss(x, labels, reduction="none"),
              rows(), constants=[labels.numpy()], reduction="none")
    # Sums of products, and what moves elements: the rows are full of infinities.
    matrix = torch.tensor([[1.0, -2], [0, 3], [0.5, 0], [-1, 1]])
    yield one("MatMul", torch.matmul, [rows()[0], matrix])
    yield one("Gemm", lambda x, w: x @ w, [rows()[0], matrix])
    yield one("Einsum", torch.matmul, [rows()[0], matrix], equation="ij,jk->ik")
    filters = torch.linspace(-1, 1, 16).reshape(2, 2, 2, 2)
    yield one("Conv", F.conv2d, [images()[0], filters])
    yield one("ConvTranspose", F.conv_transpose2d, [images()[0], filters])
    small = torch.tensor([r for r in ROWS if all(x == 0 or 1e-10 < abs(x) < 50 for x in r)])
    yield one("Attention", F.scaled_dot_product_attention, [
        small.roll(k, 0).reshape(-1, 1, 3, 4) for k in range(3)])
    i8 = numpy.int64
    for op, function, constants, attributes in [
            ("Transpose", lambda x: x.T, [], {"perm": [1, 0]}),
            ("Reshape", lambda x: x.reshape(2, -1, 2), [i8([2, -1, 2])], {}),
            ("Flatten", lambda x: x.reshape(1, -1), [], {"axis": 0}),
            ("Unsqueeze", lambda x: x[:, None], [i8([1])], {}),
            ("Squeeze", lambda x: x * 1, [], {}),
            ("Slice", lambda x: x[1:, ::2], [i8([1, 0]), i8([99, 99]), i8([0, 1]), i8([1, 2])],
             {}),
            ("Gather", lambda x: x[:, [3, 0, 3]], [i8([3, 0, 3])], {"axis": 1}),
            ("GatherND", lambda x: x[[1, 1], [0, 2]], [i8([[1, 0], [1, 2]])], {}),
            ("GatherElements", lambda x: x[:1].gather(1, torch.tensor([[2, 2, 0]])),
             [i8([[2, 2, 0]])], {"axis": 1}),
            ("Pad", lambda x: F.pad(x, (1, 2), value=7.0), [i8([0, 1, 0, 2]), f4(7)], {}),
            ("Expand", lambda x: x.expand(2, -1, -1), [i8([2, 1, 1])], {}),
            ("Tile", lambda x: x.tile(1, 3), [i8([1, 3])], {}),
            ("Trilu", torch.triu, [], {"upper": 1}),
            ("Cast", lambda x: x * 1, [], {"to": 1})]:
        yield one(op, function, rows(), constants=constants, **attributes)
    yield one("Concat", lambda x, y: torch.cat([x, y], 1), rows() + rows(), axis=1)
    yield "Split", [helper.make_node("Split", ["x0"], ["y", "rest"], axis=1, num_outputs=2)], {}, (
        lambda x: x[:, :2] * 1), rows()
    yield one("DepthToSpace", lambda x: F.pixel_shuffle(x, 2), [
        rows()[0].reshape(-1, 4, 1, 1)], blocksize=2, mode="CRD")
    yield one("SpaceToDepth", lambda x: x.permute(0, 2, 3, 1).reshape(-1, 4, 1, 1), [
        rows()[0].reshape(-1, 1, 2, 2)], blocksize=2)
    yield one("Relu", F.relu, empty(0, 3), "Relu.empty")
    yield one("ReduceL2", lambda x: x.norm(dim=1), empty(2, 0), "ReduceL2.empty", [axis],
              keepdims=0)
    yield one("ReduceLogSumExp", lambda x: x.logsumexp(1), empty(2, 0), "ReduceLogSumExp.empty",
              [axis], keepdims=0)
    yield one("LogSoftmax", lambda x: x.log_softmax(1), empty(2, 0), "LogSoftmax.empty")


def operatorCases():
    table = Table(26)
    for case in operators():
        table.add(*case)
    return table


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    operatorCases().save("derivatives-operators")
    exportedCases().save("derivatives-exported")


if __name__ == "__main__":
    main()
