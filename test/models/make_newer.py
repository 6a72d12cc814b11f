#!/usr/bin/env python3
"""Makes one test model of the operators that newer operator sets added.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs an onnx of 1.23 or later (python3 -m venv; pip install onnx), whose own test cases are
joined: their nodes are those of newer.onnx, their values newer-in.npz and newer-ref.npz. The
cases that Debian has end with operator set 17 (test/conformance).
"""

import os
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

FOLDER = os.path.dirname(os.path.abspath(__file__))
OPSET = 27
# Operators, and which of their inputs must be known at compile time.
OPERATORS = {"AffineGrid": (1,), "Attention": (), "BitCast": (), "CausalConvWithState": (),
             "CenterCropPad": (1,), "Col2Im": (1, 2), "CumProd": (1,), "DFT": (1, 2),
             "LinearAttention": (), "RMSNormalization": (), "RotaryEmbedding": (), "Swish": (),
             "TensorScatter": ()}
# Of BitCast only integers are done; half precision has other tolerances; some are large.
LEFT_OUT = re.compile(r"expanded|opset19|bitcast_.*float|bitcast_bool|fp16|bf16|float16|dft_inverse|"
                      r"attention_3d_(?!with_past_and_present_qk_matmul_softmax)|"
                      r"4d_diff_heads_with_past|gqa_(attn|causal|scaled|softcap)|linear_attention_no_past")


def main():
    nodes, inputs, constants, outputs, feeds, results = [], [], [], [], {}, {}
    for case in sorted(collect_testcases(None), key=lambda c: c.name):
        graph = case.model.graph if case.model is not None else None
        if graph is None or LEFT_OUT.search(case.name) or len(graph.node) != 1 or \
                graph.node[0].op_type not in OPERATORS or graph.node[0].domain:
            continue
        node = onnx.NodeProto()
        node.CopyFrom(graph.node[0])
        node.name = case.name
        (given, wanted), = case.data_sets
        known = {node.input[i] for i in OPERATORS[node.op_type] if i < len(node.input)}
        for info, value in zip(graph.input, given):
            name = f"{case.name}.{info.name}"
            value = np.array(value, order="C")
            if info.name in known:
                constants.append(numpy_helper.from_array(value, name))
            else:
                dtype = info.type.tensor_type.elem_type
                inputs.append(helper.make_tensor_value_info(name, dtype, value.shape))
                feeds[name] = value
        for info, value in zip(graph.output, wanted):
            name = f"{case.name}.{info.name}"
            outputs.append(helper.make_tensor_value_info(name, info.type.tensor_type.elem_type, None))
            results[name] = np.array(value, order="C")
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = name and f"{case.name}.{name}"
        nodes.append(node)
    graph = helper.make_graph(nodes, "newer", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=13, opset_imports=[helper.make_opsetid("", OPSET)])
    path = os.path.join(FOLDER, "newer.onnx")
    onnx.save(model, path)
    np.savez_compressed(os.path.join(FOLDER, "newer-in.npz"), **feeds)
    np.savez_compressed(os.path.join(FOLDER, "newer-ref.npz"), **results)
    print(f"newer: {len(nodes)} nodes of {len({n.op_type for n in nodes})} operators, "
          f"{os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
