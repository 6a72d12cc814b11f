"""Other implementations of ONNX that a graph's outputs are compared with.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

They are Python packages (pip install onnx onnxruntime) and are used where they can be
imported. What an oracle computes is written beside the graph; sinter-graphs compares it with
the evaluation in float64.
"""

import os
import re

from graph import allNodes

# Operators (with what is special about the node) that an oracle computes otherwise than ONNX
# says, each with the reason. A graph that holds one is not compared with that oracle. Where
# onnx.reference gives other numbers, ONNX Runtime agrees with Sinter (LSTM with clip apart).
EXCLUDED = {"onnxruntime": [], "reference": []}


def excluded(name):
    def register(function):
        EXCLUDED[name].append((function, " ".join(function.__doc__.split())))
        return function
    return register


@excluded("onnxruntime")
def resizeByScales(node, graph):
    """Resize with scales, and align_corners or pytorch_half_pixel: it reads the size of the
    result as a whole number, where the standard's reference has it before it is rounded down"""
    return (node.op == "Resize" and len(node.inputs) == 3
            and node.attributes.get("coordinate_transformation_mode") in (
                "align_corners", "pytorch_half_pixel"))


@excluded("onnxruntime")
def lstmClip(node, graph):
    """LSTM with clip: it does not bound the cell, which is the input of an activation too"""
    return node.op == "LSTM" and "clip" in node.attributes


@excluded("onnxruntime")
def recurrentOfNothing(node, graph):
    """RNN, LSTM and GRU of a batch without rows: it ends the process"""
    return node.op in ("RNN", "LSTM", "GRU") and graph.values[node.inputs[0]].size == 0


@excluded("onnxruntime")
def normalisedConstant(node, graph):
    """MeanVarianceNormalization: it computes the function as it is written, whose variance of
    equal numbers is a little below 0 and has no root"""
    return node.op == "MeanVarianceNormalization"


@excluded("reference")
def oldSoftmax(node, graph):
    """Softmax, LogSoftmax and Hardmax before opset 13: it does not fold the axes that follow"""
    return node.op in ("Softmax", "LogSoftmax", "Hardmax") and graph.opset < 13


@excluded("reference")
def oldBatchNorm(node, graph):
    """BatchNormalization before opset 14: it gives other numbers"""
    return node.op == "BatchNormalization" and graph.opset < 14


@excluded("reference")
def recurrentOptions(node, graph):
    """RNN, LSTM and GRU with lengths, clip, activations or reverse: it gives other numbers"""
    return node.op in ("RNN", "LSTM", "GRU") and (
        {"clip", "activations"} & set(node.attributes)
        or node.attributes.get("direction") == "reverse"
        or (len(node.inputs) > 4 and node.inputs[4] != ""))


@excluded("reference")
def groupedConvTranspose(node, graph):
    """ConvTranspose with groups and a bias: it gives other numbers"""
    return (node.op == "ConvTranspose" and "group" in node.attributes
            and len(node.inputs) == 3)


@excluded("reference")
def localNorm(node, graph):
    """LRN: it gives other numbers"""
    return node.op == "LRN"


@excluded("reference")
def globalMaxPool(node, graph):
    """GlobalMaxPool: its results have the rank of pictures"""
    return node.op == "GlobalMaxPool"


@excluded("reference")
def stackedByLoop(node, graph):
    """Loop: it joins what the iterations give along the first axis, without a new one"""
    return node.op == "Loop" and len(node.outputs) > 1


@excluded("reference")
def integerReduce(node, graph):
    """ReduceSumSquare: the result of int32 is int64"""
    return node.op == "ReduceSumSquare"


@excluded("reference")
def averageOfCeil(node, graph):
    """AveragePool with ceil_mode: it gives other numbers"""
    return node.op == "AveragePool" and "ceil_mode" in node.attributes


@excluded("reference")
def antialias(node, graph):
    """Resize with antialias: it gives other numbers"""
    return node.op == "Resize" and "antialias" in node.attributes


class Oracle:
    """`name` is onnxruntime or reference."""

    def __init__(self, name):
        import numpy
        import onnx
        self.name, self.numpy, self.onnx = name, numpy, onnx
        if name == "onnxruntime":
            import onnxruntime
            self.module = onnxruntime
            onnxruntime.set_default_logger_severity(4)
        else:
            import onnx.reference
            self.module = onnx.reference

    def write(self, graph, folder):
        """Writes the outputs. Returns why there are none, or None."""
        for node in allNodes(graph):
            for test, why in EXCLUDED[self.name]:
                if test(node, graph):
                    return f"{self.name} is not asked: {why}"
        try:
            results = self.compute(graph)
        except Exception as error:  # whatever the package raises
            text = (str(error) or repr(error)).splitlines()[0]
            return f"{self.name}: " + re.sub(r"'\w+_\d+'", "", text)[:200]
        for number, ((name, _), array) in enumerate(zip(graph.outputs, results)):
            tensor = self.onnx.numpy_helper.from_array(self.numpy.asarray(array), name)
            path = os.path.join(folder, "test_data_set_0", f"output_{number}.pb")
            with open(path, "wb") as file:
                file.write(tensor.SerializeToString())
        return None

    def compute(self, graph):
        types = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool",
                 10: "float16", 11: "float64", 12: "uint32"}
        feeds = {name: self.numpy.array(t.numbers, dtype=types[t.type]).reshape(t.shape)
                 for name, t in graph.inputs.items()}
        content = graph.bytes()
        if self.name == "reference":
            with self.numpy.errstate(all="ignore"):
                return self.module.ReferenceEvaluator(
                    self.onnx.load_from_string(content)).run(None, feeds)
        options = self.module.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = self.module.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = self.module.InferenceSession(content, options,
                                               providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
