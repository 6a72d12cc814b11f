#!/usr/bin/env python3
"""Makes test models of the operators that ONNX Runtime's optimizer and quantizer write.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs onnx and an onnxruntime of 1.20 or later (python3 -m venv; pip install onnx
onnxruntime). Most files hold many nodes of the domain com.microsoft, each with an output of
its own; ONNX Runtime says what the outputs are. Two files are test models as its optimizer
for transformers rewrites them, and two are a CNN that its quantizer wrote.
"""

import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.transformers import optimizer

FOLDER = os.path.dirname(os.path.abspath(__file__))
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.bool_): TensorProto.BOOL}


def runnable(model):
    """The same model without QLinearReduceMean, for which ONNX Runtime has no kernel: its
    schema says which nodes it stands for."""
    nodes = []
    for node in model.graph.node:
        if node.op_type != "QLinearReduceMean":
            nodes.append(node)
            continue
        x, scale, zero, toScale, toZero = node.input
        name = node.output[0]
        axes, keep = (helper.get_node_attr_value(node, a) for a in ("axes", "keepdims"))
        model.graph.initializer.append(numpy_helper.from_array(np.array(axes, np.int64), name + ".axes"))
        nodes += [helper.make_node("DequantizeLinear", [x, scale, zero], [name + ".x"]),
                  helper.make_node("ReduceMean", [name + ".x", name + ".axes"], [name + ".y"],
                                   keepdims=keep),
                  helper.make_node("QuantizeLinear", [name + ".y", toScale, toZero], [name])]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model.SerializeToString()


def run(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(runnable(onnx.load(path)), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def saveArrays(name, feeds, outputs):
    np.savez_compressed(os.path.join(FOLDER, name + "-in.npz"), **feeds)
    np.savez_compressed(os.path.join(FOLDER, name + "-ref.npz"), **outputs)


class Nodes:
    """A model that grows node by node; every array becomes an input or a constant."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.inputs, self.constants, self.outputs = [], {}, [], []

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32) * np.float32(0.5)

    def value(self, array, constant):
        if array is None:
            return ""
        name = f"v{len(self.inputs) + len(self.constants)}"
        if constant:
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.inputs[name] = array
        return name

    def add(self, op, arrays, constants=(), outputs=1, domain="com.microsoft", types=(), **attributes):
        """`constants`: which of the inputs are initializers. `outputs`: how many, or which.
        `types`: of outputs that are no floats."""
        wanted = range(outputs) if isinstance(outputs, int) else outputs
        names = [self.value(a, i in constants) for i, a in enumerate(arrays)]
        made = [f"{op}_{len(self.nodes)}_{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
        self.nodes.append(helper.make_node(op, names, made, domain=domain, **attributes))
        self.outputs += [helper.make_tensor_value_info(name, dict(types).get(i, TensorProto.FLOAT), None)
                         for i, name in enumerate(made) if name]

    def save(self, name):
        inputs = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape)
                  for n, a in self.inputs.items()]
        graph = helper.make_graph(self.nodes, name, inputs, self.outputs, self.constants)
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)])
        path = os.path.join(FOLDER, name + ".onnx")
        onnx.save(model, path)
        saveArrays(name, self.inputs, run(path, self.inputs))
        print(f"{name}: {len(self.nodes)} nodes, {os.path.getsize(path)} bytes")


def fused():
    m = Nodes(1)
    f = m.floats
    m.add("Gelu", [f(2, 5)])
    m.add("BiasGelu", [f(2, 3, 5), f(5)])
    m.add("FastGelu", [f(2, 5)])
    m.add("FastGelu", [f(2, 3, 5), f(5)])
    m.add("QuickGelu", [f(2, 5)])
    m.add("QuickGelu", [f(2, 5)], alpha=1.0)
    m.add("FusedMatMul", [f(2, 3, 4), f(2, 4, 5)], alpha=0.25)
    m.add("FusedMatMul", [f(2, 4, 3), f(2, 5, 4)], alpha=2.0, transA=1, transB=1)
    m.add("FusedMatMul", [f(3, 2, 4), f(2, 4, 5)], transBatchA=1)
    m.add("FusedMatMul", [f(4, 2, 3), f(4, 2, 5)], transA=1, transBatchA=1, transBatchB=1)
    for activation in ("Relu", "Tanh", "Sigmoid", "LeakyRelu"):
        alpha = {"activation_alpha": 0.1} if activation == "LeakyRelu" else {}
        m.add("FusedGemm", [f(3, 4), f(5, 4), f(5)], transB=1, alpha=0.5, beta=2.0,
              activation=activation, **alpha)
    m.add("FusedConv", [f(1, 2, 5, 5), f(4, 2, 3, 3), f(4)], activation="Relu", pads=[1, 1, 1, 1])
    m.add("FusedConv", [f(1, 4, 6, 6), f(4, 1, 3, 3), f(4), f(1, 4, 2, 2)], activation="Relu", group=4,
          strides=[2, 2])
    m.add("FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3)], activation="LeakyRelu", activation_params=[0.2])
    m.add("FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3)], activation="Clip", activation_params=[-0.1, 0.3])
    m.add("FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3)], activation="HardSigmoid",
          activation_params=[0.3, 0.4])
    m.add("SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], epsilon=1e-5)
    m.add("SkipLayerNormalization", [f(2, 3, 8), f(3, 8), f(8), f(8), f(8)], outputs=(0, 3))
    m.add("SkipLayerNormalization", [f(2, 3, 8), f(1, 3, 8), f(8)])
    m.add("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], outputs=(0, 3))
    m.add("SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8)], epsilon=1e-5)
    m.add("SimplifiedLayerNormalization", [f(2, 3, 8), f(8)], domain="", axis=-1, epsilon=1e-6,
          stash_type=1)
    words = m.random.integers(0, 9, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32)
    segments = m.random.integers(0, 2, (2, 4)).astype(np.int32)
    tables = [f(9, 8), f(6, 8)]
    m.add("EmbedLayerNormalization", [words, segments, *tables, f(2, 8), f(8), f(8)], outputs=(0, 2))
    m.add("EmbedLayerNormalization", [words, None, *tables, None, f(8), f(8), None,
                                      np.array([[3, 2, 1, 0]], np.int32)], outputs=(0, 2))
    m.add("EmbedLayerNormalization", [words, None, *tables, None, f(8), f(8), mask], outputs=2,
          types={1: TensorProto.INT32})
    m.save("ort-fused")


def attention():
    m = Nodes(2)
    f = m.floats
    ints = lambda *values: np.array(values, np.int32)
    packed = lambda: [f(2, 4, 6), f(6, 24), f(24)]
    m.add("Attention", packed(), num_heads=2)
    m.add("Attention", packed(), num_heads=2, unidirectional=1, scale=0.3)
    m.add("Attention", [*packed(), ints([1, 1, 1, 1], [1, 1, 0, 0])], num_heads=2)
    m.add("Attention", [*packed(), ints(4, 2)], num_heads=2)
    m.add("Attention", [*packed(), ints(4, 3, 1, 0)], num_heads=2)
    m.add("Attention", [*packed(), m.random.integers(0, 2, (2, 4, 4)).astype(np.int32)], num_heads=4,
          mask_filter_value=-5.0)
    m.add("Attention", [f(2, 4, 6), f(6, 20), f(20), None, None, f(2, 2, 4, 4)], num_heads=2,
          qkv_hidden_sizes=[8, 8, 4])
    m.add("Attention", [f(2, 1, 6), f(6, 24), f(24), None, f(2, 2, 2, 3, 4)], num_heads=2,
          unidirectional=1, outputs=2)
    m.add("Attention", [f(2, 2, 6), f(6, 24), f(24), ints([1] * 5, [0, 1, 1, 1, 1]), f(2, 2, 2, 3, 4)],
          num_heads=2, unidirectional=1, outputs=2)
    triple = lambda: [f(2, 4, 8), f(2, 4, 8), f(2, 4, 8)]
    m.add("MultiHeadAttention", triple(), num_heads=2)
    m.add("MultiHeadAttention", [*triple(), f(24)], num_heads=4, scale=0.4)
    m.add("MultiHeadAttention", [*triple(), None, None, f(1, 1, 4, 4)], num_heads=2)
    m.add("MultiHeadAttention", [*triple(), None, ints([1, 1, 1, 0], [1, 1, 0, 0])], num_heads=2)
    m.add("MultiHeadAttention", [*triple(), None, None], num_heads=2, unidirectional=1)
    m.add("MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 4)], num_heads=2)
    m.add("MultiHeadAttention", [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], num_heads=2)
    m.add("MultiHeadAttention", [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), None, None, None, f(2, 2, 3, 4),
                                 f(2, 2, 3, 4)], num_heads=2, outputs=3)
    angles = np.outer(np.arange(10), 0.7 ** np.arange(4)).astype(np.float32)
    cosines, sines = np.cos(angles), np.sin(angles)
    places = np.array([[0, 1, 2, 3], [4, 5, 6, 9]], np.int64)
    m.add("RotaryEmbedding", [f(2, 4, 16), places, cosines, sines])
    m.add("RotaryEmbedding", [f(2, 2, 4, 8), np.array([3], np.int64), cosines, sines], interleaved=1)
    m.add("RotaryEmbedding", [f(2, 4, 20), places, cosines, sines], num_heads=2, rotary_embedding_dim=8)
    grouped = lambda: [f(2, 4, 64), f(2, 4, 32), f(2, 4, 32)]
    angles = np.outer(np.arange(10), 0.7 ** np.arange(8)).astype(np.float32)
    tables = [np.cos(angles), np.sin(angles)]
    whole = [np.array([3, 3], np.int32), np.array(4, np.int32)]
    shape = {"num_heads": 4, "kv_num_heads": 2}
    m.add("GroupQueryAttention", [*grouped(), None, None, *whole], constants=(6,), outputs=3, **shape)
    m.add("GroupQueryAttention", [f(2, 4, 128), None, None, None, None, *whole], outputs=3, **shape)
    m.add("GroupQueryAttention", [*grouped(), None, None, *whole, *tables], do_rotary=1, outputs=3,
          **shape)
    m.add("GroupQueryAttention", [*grouped(), None, None, *whole, *tables], do_rotary=1,
          rotary_interleaved=1, local_window_size=2, softcap=5.0, **shape)
    m.add("GroupQueryAttention", [*grouped(), f(2, 2, 0, 16), f(2, 2, 0, 16), *whole], scale=0.2,
          outputs=3, **shape)
    m.add("GroupQueryAttention", [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 5, 16), f(2, 2, 5, 16),
                                  np.array([5, 5], np.int32), np.array(6, np.int32), *tables],
          constants=(5, 6), do_rotary=1, outputs=3, **shape)
    m.save("ort-attention")


def quantised():
    m = Nodes(3)
    f = m.floats
    byte = lambda *shape: m.random.integers(0, 256, shape).astype(np.uint8)
    for bits, columns, block in ((4, 48, 16), (4, 40, 16), (8, 48, 16), (8, 40, 32)):
        blocks = -(-columns // block)
        arrays = [f(2, 3, columns), byte(5, blocks, block * bits // 8), f(5, blocks)]
        form = {"K": columns, "N": 5, "bits": bits, "block_size": block, "constants": (1, 2, 3)}
        m.add("MatMulNBits", arrays, **form)
        m.add("MatMulNBits", [*arrays, byte(5, -(-blocks * bits // 8))], **form)
        m.add("MatMulNBits", [*arrays, None, None, f(5)], **form)
    m.add("MatMulNBits", [f(3, 32), byte(5, 2, 8), f(5, 2), None,
                          m.random.integers(0, 2, 32).astype(np.int32)], K=32, N=5, bits=4, block_size=16,
          constants=(1, 2, 3, 4))
    signed = lambda *shape: m.random.integers(-100, 100, shape).astype(np.int8)
    zero = np.array(3, np.int8)
    m.add("DynamicQuantizeMatMul", [f(3, 6), signed(6, 5), np.array(0.02, np.float32), zero],
          constants=(1, 2, 3))
    m.add("DynamicQuantizeMatMul", [f(2, 3, 6), signed(6, 5), np.abs(f(5)), None, f(5)],
          constants=(1, 2, 4))
    m.add("MatMulIntegerToFloat", [byte(3, 6), signed(6, 5), np.array(0.1, np.float32), np.abs(f(5)),
                                   np.array(120, np.uint8), np.zeros(5, np.int8), f(5)],
          constants=(1, 3, 5, 6))
    scale = lambda value: np.array(value, np.float32)
    for op in ("QLinearAdd", "QLinearMul"):
        m.add(op, [byte(2, 5), scale(0.02), np.array(100, np.uint8), byte(5), scale(0.03),
                   np.array(128, np.uint8), scale(0.05), np.array(90, np.uint8)], types={0: TensorProto.UINT8})
    m.save("ort-quantised")


def qlinear():
    """The operators of the format QOperator, on uint8 and on int8."""
    m = Nodes(4)
    scale = lambda value: np.array(value, np.float32)
    for type_ in (np.uint8, np.int8):
        code = TYPES[np.dtype(type_)]
        low, high = np.iinfo(type_).min, np.iinfo(type_).max + 1
        codes = lambda *shape: m.random.integers(low, high, shape).astype(type_)
        zero = lambda value: np.array(value - 128 if type_ is np.int8 else value, type_)
        coded = lambda *shape: [codes(*shape), scale(0.0371), zero(119)]

        def add(op, arrays, **attributes):
            m.add(op, arrays, types={0: code}, **attributes)

        to = [scale(0.0217), zero(101)]
        for op in ("QLinearAdd", "QLinearMul"):
            add(op, [*coded(2, 5), *coded(5), scale(0.0733), zero(90)])
        add("QLinearSigmoid", [*coded(2, 5), scale(1 / 256), zero(0)])
        add("QLinearSigmoid", [codes(2, 150), scale(0.0371), None, scale(1 / 256), None])
        add("QLinearLeakyRelu", [*coded(2, 5), *to])
        add("QLinearLeakyRelu", [*coded(2, 150), *to], alpha=0.3)
        for opset, axis in ((13, 1), (13, -1), (11, 1), (11, 2)):
            add("QLinearSoftmax", [*coded(2, 3, 4), scale(1 / 256), zero(0)], opset=opset, axis=axis)
        add("QLinearSoftmax", [codes(2, 7), scale(0.0371), None, scale(1 / 256), zero(0)], opset=12)
        add("QLinearGlobalAveragePool", [*coded(2, 3, 4, 5), *to])
        add("QLinearGlobalAveragePool", [*coded(2, 4, 5, 3), *to], channels_last=1)
        add("QLinearAveragePool", [*coded(1, 3, 6, 6), *to], kernel_shape=[2, 2], strides=[2, 2])
        add("QLinearAveragePool", [*coded(1, 2, 5, 7), *to], kernel_shape=[3, 3], strides=[2, 2],
            pads=[1, 1, 0, 1], ceil_mode=1)
        add("QLinearAveragePool", [*coded(1, 2, 5, 7), *to], kernel_shape=[3, 2], strides=[3, 3],
            pads=[1, 1, 0, 0], ceil_mode=1, count_include_pad=1)
        add("QLinearAveragePool", [*coded(1, 5, 6, 3), *to], kernel_shape=[3, 3],
            auto_pad="SAME_UPPER", channels_last=1)
        add("QLinearAveragePool", [*coded(2, 7, 3), *to], kernel_shape=[3], channels_last=1)
        add("QLinearReduceMean", [*coded(2, 3, 4), *to], axes=[0, -1], keepdims=1)
        add("QLinearReduceMean", [*coded(2, 3, 4), *to], axes=[1], keepdims=0)
        add("QLinearConcat", [*to, *coded(2, 3), codes(2, 1), *to, *coded(2, 2)], axis=1)
        add("QLinearConcat", [*to, codes(2, 3), scale(0.05), zero(3)], axis=-2)
        add("QLinearWhere", [m.random.integers(0, 2, (2, 1)).astype(bool), *coded(2, 5), codes(5),
                             scale(0.0503), zero(40), *to])

        signed = lambda *shape: m.random.integers(-128, 128, shape).astype(np.int8)
        bias = lambda *shape: m.random.integers(-9999, 9999, shape).astype(np.int32)
        columns = [np.abs(m.floats(5)) / 50, np.zeros(5, np.int8)]
        single = [scale(0.0117), np.array(7, np.int8)]
        result = [scale(0.9031), zero(130)]
        add("QGemm", [*coded(3, 6), signed(6, 5), *single, None, *result])
        add("QGemm", [*coded(3, 6), signed(6, 5), *columns, bias(5), *result], constants=(3, 4, 5, 6))
        add("QGemm", [*coded(6, 3), signed(5, 6), *columns, bias(3, 1), *result], transA=1, transB=1,
            alpha=0.5, constants=(3, 4, 5))
        m.add("QGemm", [*coded(3, 6), signed(5, 6), *single, bias(1)], transB=1, alpha=2.5)
        m.add("QGemm", [*coded(6, 3), signed(6, 5), *columns[:1], np.arange(-2, 3).astype(np.int8)],
              transA=1)
    byte = lambda *shape: m.random.integers(0, 256, shape).astype(np.uint8)
    m.add("QGemm", [byte(3, 6), scale(0.03), np.array(99, np.uint8), byte(6, 5), scale(0.02),
                    np.array(140, np.uint8), None, scale(0.7), np.array(111, np.uint8)],
          types={0: TensorProto.UINT8})
    m.save("ort-qlinear")


class Samples(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


def qoperator(name, type_):
    """A CNN in the quantizer's format QOperator. Its outputs are codes."""
    random = np.random.default_rng(5)
    nodes, constants = [], []

    def add(op, inputs, **attributes):
        names = []
        for i in inputs:
            names.append(i if isinstance(i, str) else f"w{len(constants)}")
            if not isinstance(i, str):
                constants.append(numpy_helper.from_array(i.astype(np.float32), names[-1]))
        nodes.append(helper.make_node(op, names, [f"{op}{len(nodes)}"], f"{op}{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def conv(x, out, inner, size, group=1, **attributes):
        weights = random.standard_normal((out, inner // group, size, size)) / np.sqrt(inner // group * size * size)
        return add("Conv", [x, weights, random.standard_normal(out) / 4], group=group,
                   pads=[size // 2] * 4, **attributes)

    x = add("Relu", [conv("x", 16, 3, 3)])
    x = add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    y = add("LeakyRelu", [conv(x, 16, 16, 3, group=16)], alpha=0.1)
    x = add("Add", [conv(y, 16, 16, 1), x])
    y = conv(x, 16, 16, 3)
    y = add("Mul", [y, add("Sigmoid", [y])])
    x = add("Concat", [x, y], axis=1)
    x = add("AveragePool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = add("Relu", [conv(x, 32, 32, 3)])
    x = add("Flatten", [add("GlobalAveragePool", [x])])
    logits = add("Gemm", [x, random.standard_normal((10, 32)), random.standard_normal(10)], transB=1)
    results = [logits, add("Softmax", [logits], axis=-1)]
    model = helper.make_model(helper.make_graph(
        nodes, "cnn", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 16, 16])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [2, 10]) for y in results], constants),
        ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
    samples = [{"x": random.standard_normal((2, 3, 16, 16)).astype(np.float32)} for _ in range(8)]
    path = os.path.join(FOLDER, name + ".onnx")
    quantization.quantize_static(model, path, Samples(samples), per_channel=True,
                                 quant_format=quantization.QuantFormat.QOperator, activation_type=type_,
                                 weight_type=quantization.QuantType.QInt8)
    model = onnx.load(path)
    kept = []
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.output[0] in results:
            output, = [y for y in model.graph.output if y.name == node.output[0]]
            output.name = node.input[0]
            output.type.tensor_type.elem_type = (
                TensorProto.UINT8 if type_ == quantization.QuantType.QUInt8 else TensorProto.INT8)
        else:
            kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    onnx.save(model, path)
    feeds = samples[0]
    saveArrays(name, feeds, run(path, feeds))
    print(f"{name}: {', '.join(sorted({n.op_type for n in kept}))}, {os.path.getsize(path)} bytes")


def optimised(name, source, kind, heads, hidden):
    """A test model with the nodes that ORT's optimizer for transformers finds in it."""
    path = os.path.join(FOLDER, name + ".onnx")
    model = optimizer.optimize_model(os.path.join(FOLDER, source + ".onnx"), kind, num_heads=heads,
                                     hidden_size=hidden, opt_level=0)
    model.save_model_to_file(path)
    feeds = dict(np.load(os.path.join(FOLDER, source + "-in.npz")))
    saveArrays(name, feeds, run(path, feeds))
    found = sorted({n.op_type for n in model.model.graph.node if n.domain == "com.microsoft"})
    print(f"{name}: {', '.join(found)}, {os.path.getsize(path)} bytes")


def main():
    makers = {"fused": fused, "attention": attention, "quantised": quantised,
              "qlinear": qlinear,
              "qoperator-u8": lambda: qoperator("ort-qoperator-u8", quantization.QuantType.QUInt8),
              "qoperator-s8": lambda: qoperator("ort-qoperator-s8", quantization.QuantType.QInt8),
              "bert": lambda: optimised("ort-bert", "bert", "bert", 4, 32),
              "gpt2": lambda: optimised("ort-gpt2", "gpt2", "gpt2", 4, 32)}
    for name in sys.argv[1:] or makers:
        makers[name]()


if __name__ == "__main__":
    main()
