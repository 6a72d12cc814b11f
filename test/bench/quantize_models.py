#!/usr/bin/env python3
"""Quantises a network that models.py made, for the rows of 8 and 4 bits.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    python3 quantize_models.py FOLDER NETWORK TYPE     (PyPI: onnxruntime, onnx)

Reads NETWORK-infer.onnx and the inputs NETWORK-infer-1.npz, and writes NETWORK-infer-TYPE.onnx:

int8          codes of weights and activations (QDQ): unsigned activations with the range of the
              inputs, weights by output channel, by ONNX Runtime's own quantiser
int8-weights  codes of the matrices of products, symmetric by column: DequantizeLinear
int4-weights  the same in blocks of 32 rows: MatMulNBits
"""

import os
import sys

import numpy
import onnx
from onnxruntime import quantization
from onnx import helper, numpy_helper

BLOCK = 32  # rows of a matrix that share a scale


def quantizeAll(source, target, data):
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Inputs(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [dict(data)]

        def get_next(self):
            return self.left.pop() if self.left else None

    model = onnx.load(source)
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
    onnx.save(model, target)
    quant_pre_process(target, target, skip_symbolic_shape=True)
    quantization.quantize_static(
        target, target, Inputs(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


def codesOfColumns(matrix):
    """int8 codes, and the scale of each column."""
    scales = numpy.maximum(abs(matrix).max(0), 1e-30) / 127
    return numpy.round(matrix / scales).astype(numpy.int8), scales.astype(numpy.float32)


def nibblesOfBlocks(matrix):
    """As MatMulNBits stores them: {columns, blocks, 16} pairs of codes with the zero point 8,
    and the scale of each block."""
    rows, columns = matrix.shape
    blocks = matrix.T.reshape(columns, rows // BLOCK, BLOCK)
    scales = numpy.maximum(abs(blocks).max(-1), 1e-30) / 7
    codes = (numpy.round(blocks / scales[..., None]) + 8).astype(numpy.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, scales.astype(numpy.float32)


def quantizeWeights(source, target, bits):
    """Products of activations with a constant matrix: MatMul, and Gemm without factors."""
    model = onnx.load(source)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    nodes = []

    def matrixOf(name):
        """A constant of rank 2, also through Transpose."""
        node = producers.get(name)
        if name in constants:
            value = numpy_helper.to_array(constants[name])
        elif node and node.op_type == "Transpose" and node.input[0] in constants:
            value = numpy_helper.to_array(constants[node.input[0]]).T
        elif node and node.op_type == "Constant":
            value = numpy_helper.to_array(node.attribute[0].t)
        else:
            return None
        return value if value.ndim == 2 and value.dtype == numpy.float32 else None

    def store(name, value):
        graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    for number, node in enumerate(graph.node):
        matrix = matrixOf(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        options = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        if matrix is None or options.get("transA") or options.get("alpha", 1) != 1:
            nodes.append(node)
            continue
        if options.get("transB"):
            matrix = matrix.T
        base = f"quantized_{number}"
        bias = node.input[2] if len(node.input) > 2 else None
        product = node.output[0] if bias is None else base + "_product"
        if bits == 8:
            codes, scales = codesOfColumns(matrix)
            stored = [store(base + "_codes", codes), store(base + "_scales", scales)]
            nodes.append(helper.make_node("DequantizeLinear", stored, [base + "_matrix"],
                                          name=base, axis=1))
            nodes.append(helper.make_node("MatMul", [node.input[0], base + "_matrix"], [product],
                                          name=node.name))
        else:
            codes, scales = nibblesOfBlocks(matrix)
            nodes.append(helper.make_node(
                "MatMulNBits", [node.input[0], store(base + "_codes", codes),
                                store(base + "_scales", scales)], [product], name=node.name,
                domain="com.microsoft", K=matrix.shape[0], N=matrix.shape[1], bits=4,
                block_size=BLOCK))
        if bias is not None:
            nodes.append(helper.make_node("Add", [product, bias], [node.output[0]],
                                          name=base + "_bias"))
    del graph.node[:]
    graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    if bits == 4:
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, target)


def main():
    folder, network, kind = sys.argv[1:]
    source = os.path.join(folder, f"{network}-infer.onnx")
    target = os.path.join(folder, f"{network}-infer-{kind}.onnx")
    if kind == "int8":
        with numpy.load(os.path.join(folder, f"{network}-infer-1.npz")) as data:
            inputs = {name: data[name] for name in data.files}
        quantizeAll(source, target, inputs)
    else:
        quantizeWeights(source, target, {"int8-weights": 8, "int4-weights": 4}[kind])


if __name__ == "__main__":
    main()
