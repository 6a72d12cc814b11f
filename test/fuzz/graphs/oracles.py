"""Other implementations of ONNX that a graph's outputs are compared with.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

They are Python packages (pip install onnx onnxruntime) and are used where they can be
imported. What an oracle computes is written beside the graph; sinter-graphs compares it with
the evaluation in float64.
"""

import os

from graph import Graph

# Operators (with what is special about the node) that an oracle computes otherwise than ONNX
# says, each with the reason. A graph that holds one is not compared with that oracle.
EXCLUDED = {"onnxruntime": [], "reference": []}


def excluded(name, test):
    def register(function):
        EXCLUDED[name].append((test, function.__doc__))
        return function
    return register


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
            return f"{self.name}: {str(error).splitlines()[0][:300] if str(error) else error!r}"
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


def allNodes(graph):
    for node in graph.nodes:
        yield node
        for value in node.attributes.values():
            if isinstance(value, Graph):
                yield from allNodes(value)
