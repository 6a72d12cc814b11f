#!/usr/bin/env python3
"""Makes operators.onnx: one node of every operator that the importer knows.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs onnx 1.23. The nodes of ONNX's own operators are those of its node tests, the smallest
of each; other operators, and those of com.microsoft, are below. Each node is
named after its operator, and all of its inputs are initializers. test/compiler/import extracts
the nodes and adds to each what the importer does not know (UnreadTest.cpp).
"""

import os
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

FOLDER = os.path.dirname(os.path.abspath(__file__))
OPSET = 27
UNKNOWN = {"Bernoulli", "DeformConv", "Det", "ImageDecoder", "NonMaxSuppression", "RegexFullMatch",
           "RoiAlign", "StringNormalizer", "SwiGLU", "TfIdfVectorizer", "Unique"}
# Forms that are not supported, strings, and values that newer types need.
LEFT_OUT = re.compile(r"expanded|string|STRING|_opset1[0-9]|bfloat|float8|int4|INT4|FLOAT[48]|E[45]M|E8M0|"
                      r"float16|FLOAT16|FLOAT|INT2|int2|uint2|training|seq_in|random_int|1d_int|"
                      r"optional_get_element|optional_has|sequence|loop16|loop13|scan9_multi|bitcast_.*float")


def nodeTests():
    """Operator -> the smallest of its tests: (node, values of the inputs by name)."""
    smallest = {}
    for case in collect_testcases(None):
        graph = case.model.graph if case.model is not None else None
        if graph is None or LEFT_OUT.search(case.name) or len(graph.node) != 1 or \
                graph.node[0].domain or graph.node[0].op_type.startswith("Sequence") or \
                graph.node[0].op_type in UNKNOWN:
            continue
        (given, _), = case.data_sets
        if any(not isinstance(value, np.ndarray) for value in given):
            continue
        values = dict(zip([info.name for info in graph.input], given))
        size = sum(value.size for value in given) + sum(not name for name in graph.node[0].input)
        op = graph.node[0].op_type
        if op not in smallest or size < smallest[op][0]:
            smallest[op] = (size, graph.node[0], values)
    return {op: (node, values) for op, (_, node, values) in smallest.items()}


def main():
    nodes, constants, byHand = [], [], set()

    def add(op, operands, outputs=1, domain="", **attributes):
        """Operands: arrays, "" for absent ones, or names of other nodes' outputs."""
        label = f"{domain}.{op}" if domain else op
        byHand.add(label)
        names = []
        for i, operand in enumerate(operands):
            if isinstance(operand, str):
                names.append(operand)
                continue
            names.append(f"{label}.in{i}")
            constants.append(numpy_helper.from_array(np.asarray(operand, order="C"), names[-1]))
        nodes.append(helper.make_node(op, names, [f"{label}.out{i}" for i in range(outputs)], label,
                                      domain=domain, **attributes))

    one = np.ones
    f = np.float32
    i64 = np.int64
    vector, matrix = one(2, f), one((2, 2), f)
    add("SequenceConstruct", [vector, vector])
    sequence = "SequenceConstruct.out0"
    at = np.array(0, i64)
    add("SequenceEmpty", [])
    add("SequenceAt", [sequence, at])
    add("SequenceErase", [sequence])
    add("SequenceInsert", [sequence, vector])
    add("SequenceLength", [sequence])
    add("ConcatFromSequence", [sequence], axis=0)
    add("SplitToSequence", [vector], axis=0)
    info = helper.make_tensor_value_info
    add("SequenceMap", [sequence], body=helper.make_graph(
        [helper.make_node("Neg", ["v"], ["w"])], "body", [info("v", TensorProto.FLOAT, [2])],
        [info("w", TensorProto.FLOAT, [2])]))
    add("Loop", [np.array(2, i64), np.array(True), vector], body=helper.make_graph(
        [helper.make_node("Identity", ["going"], ["still"]), helper.make_node("Neg", ["v"], ["w"])],
        "body", [info("i", TensorProto.INT64, []), info("going", TensorProto.BOOL, []),
                 info("v", TensorProto.FLOAT, [2])],
        [info("still", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, [2])]))
    add("Optional", [vector])
    add("OptionalGetElement", ["Optional.out0"])
    add("OptionalHasElement", ["Optional.out0"])
    add("SimplifiedLayerNormalization", [matrix, vector])
    u8, i32 = np.uint8, np.int32
    zero, scale = np.array(0, u8), np.array(1, f)
    image, filters = one((1, 1, 2, 2), f), one((1, 1, 1, 1), f)
    for op in ["BlackmanWindow", "HammingWindow", "HannWindow"]:
        add(op, [np.array(4, i64)])
    add("Cast", [vector], to=TensorProto.DOUBLE)
    add("CastLike", [vector, one(1, np.float64)])
    add("ConvInteger", [image.astype(u8), filters.astype(u8)])
    add("CumSum", [vector, at])
    add("Erf", [vector])
    add("GlobalLpPool", [image])
    add("Mish", [vector])
    add("OneHot", [np.zeros(2, i64), np.array(3, i64), vector])
    add("QLinearConv", [image.astype(u8), scale, zero, filters.astype(u8), scale, zero, scale, zero])
    add("Range", [at, np.array(3, i64), np.array(1, i64)])
    add("ReverseSequence", [matrix, one(2, i64)])
    add("Slice", [vector, np.zeros(1, i64), one(1, i64)])
    # Of older operator sets.
    add("Scatter", [vector, np.zeros(1, i64), one(1, f)])
    add("Upsample", [vector, one(1, f)])

    def ms(op, operands, **attributes):
        add(op, operands, domain="com.microsoft", **attributes)

    words = one((1, 2, 4), f)
    ms("Attention", [words, one((4, 12), f), one(12, f)], num_heads=2)
    ms("MultiHeadAttention", [words] * 3, num_heads=2)
    ms("GroupQueryAttention", [words] * 3 + ["", "", one(1, i32), np.array(2, i32)], num_heads=1,
       kv_num_heads=1)
    ms("RotaryEmbedding", [words, np.zeros((1, 2), i64), one((2, 2), f), one((2, 2), f)])
    ms("BiasDropout", [matrix, vector])
    ms("BiasGelu", [matrix, vector])
    ms("BiasSoftmax", [matrix, matrix], axis=1, is_inner_broadcast=1)
    ms("BiasSplitGelu", [one((1, 2, 4), f), one(4, f)])
    ms("FastGelu", [matrix])
    ms("FusedConv", [image, filters], activation="Relu")
    ms("FusedGemm", [matrix, matrix], activation="Relu")
    ms("FusedMatMul", [matrix, matrix])
    ms("TransposeMatMul", [matrix, matrix])
    ms("Gelu", [matrix])
    ms("QuickGelu", [matrix])
    ms("EmbedLayerNormalization", [np.zeros((1, 2), i32), "", matrix, matrix, "", vector, vector],
       outputs=2)
    ms("SimplifiedLayerNormalization", [matrix, vector])
    ms("SkipLayerNormalization", [words, words, one(4, f)])
    ms("SkipSimplifiedLayerNormalization", [words, words, one(4, f)])
    ms("DynamicQuantizeMatMul", [matrix, one((2, 2), u8), scale])
    ms("MatMulIntegerToFloat", [one((2, 2), u8), one((2, 2), u8), scale, scale])
    ms("MatMulNBits", [one((1, 4), f), one((1, 1, 4), u8), one((1, 1), f)], N=1, K=4, bits=8,
       block_size=4)
    for op in ["QLinearAdd", "QLinearMul"]:
        ms(op, [one(2, u8), scale, zero, one(2, u8), scale, zero, scale])
    coded = [one((1, 2, 2), u8), scale, zero]
    ms("QGemm", [one((2, 2), u8), scale, zero, one((2, 2), u8), scale, zero])
    for op in ["QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid"]:
        ms(op, [*coded, scale])
    ms("QLinearAveragePool", [*coded, scale], kernel_shape=[1])
    ms("QLinearReduceMean", [*coded, scale], axes=[1], keepdims=1)
    ms("QLinearSoftmax", [*coded, scale, zero], opset=13)
    ms("QLinearConcat", [scale, zero, *coded], axis=0)
    ms("QLinearWhere", [np.array(True), *coded, *coded, scale, zero])

    for op, (test, values) in sorted(nodeTests().items()):
        if op in byHand:
            continue
        node = onnx.NodeProto()
        node.CopyFrom(test)
        node.name = op
        for i, name in enumerate(node.input):
            if name:
                node.input[i] = f"{op}.in{i}"
                constants.append(numpy_helper.from_array(np.array(values[name], order="C"),
                                                         node.input[i]))
        for i in range(len(node.output)):
            node.output[i] = f"{op}.out{i}"
        nodes.append(node)

    model = helper.make_model(
        helper.make_graph(nodes, "operators", [],
                          [info(nodes[0].output[0], TensorProto.UNDEFINED, None)], constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)],
        ir_version=13)
    onnx.save(model, os.path.join(FOLDER, "operators.onnx"))


if __name__ == "__main__":
    main()
