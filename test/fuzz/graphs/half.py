"""A graph in float16 that was made in float32.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from graph import F16, F32, Graph, Tensor, allNodes

# Their float operands are float32 in ONNX, or in the opsets that generate.py makes.
FLOAT32_ONLY = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearMatMul",
                "QLinearConv", "QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu",
                "QLinearSoftmax", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearWhere",
                "QLinearConcat", "QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
                "Range", "Celu", "CumSum", "IsInf"}
# Operands that stay float32: operator, number of the input.
SCALES = {("Resize", 2), ("Upsample", 1)}
LARGEST = 6e4


def halve(graph):
    """The graph with float16 in place of float32; None if ONNX has no such graph."""
    nodes = list(allNodes(graph))
    tensors = [*graph.inputs.values(), *graph.initializers.values()]
    if any(n.op in FLOAT32_ONLY or n.op == "LayerNormalization" and len(n.outputs) > 1
           for n in nodes) or any(
            abs(number) > LARGEST for t in tensors if t.type == F32 for number in t.numbers):
        return None
    kept = {n.inputs[i] for n in nodes for op, i in SCALES if n.op == op and len(n.inputs) > i}
    kept -= {""}
    if any(name in kept and (n.op, i) not in SCALES for n in nodes
           for i, name in enumerate(n.inputs)):
        return None  # scales that are data too
    graph = graph.copy()
    convert(graph, kept)
    return graph


def narrow(type_):
    return F16 if type_ == F32 else type_


def convert(graph, kept):
    for tensors in (graph.inputs, graph.initializers):
        for name, tensor in tensors.items():
            if name not in kept:
                tensor.type = narrow(tensor.type)
    for name, value in graph.values.items():
        if name not in kept:
            value.type = narrow(value.type)
    graph.outputs = [(name, type_ if name in kept else narrow(type_))
                     for name, type_ in graph.outputs]
    graph.parameters = [(name, narrow(type_), shape) for name, type_, shape in graph.parameters]
    for node in graph.nodes:
        if node.op == "Cast":
            node.attributes["to"] = narrow(node.attributes["to"])
        for value in node.attributes.values():
            if isinstance(value, Tensor) and not set(node.outputs) & kept:
                value.type = narrow(value.type)
            if isinstance(value, Graph):
                convert(value, kept)
