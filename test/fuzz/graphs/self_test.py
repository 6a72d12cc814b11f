"""The fuzzer finds what is wrong, and makes it small.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    self_test.py BUILD FOLDER

Prints `N passed, M failed, 0 skipped`.
"""

import os
import subprocess
import sys

from generate import generate
from graph import F32, Graph, Node, Tensor
from runner import Result
from shrink import shrink


def sumOf(numbers):
    graph = Graph(17, [Node("Add", ["x", "w"], ["y"])])
    graph.inputs["x"] = Tensor(F32, (3,), [1.0, 2.0, 3.0])
    graph.initializers["w"] = Tensor(F32, (3,), numbers)
    graph.outputs = [("y", F32)]
    return graph


def answers(build, folder, graph, expected, modes):
    graph.write(folder)
    with open(os.path.join(folder, "test_data_set_0", "output_0.pb"), "wb") as file:
        file.write(Tensor(F32, (3,), expected).bytes("y"))
    done = subprocess.run([os.path.join(build, "bin", "sinter-graphs")], text=True,
                          input="\t".join([folder, *modes]) + "\n", stdout=subprocess.PIPE)
    return [tuple(line.split("\t")[1:3]) for line in done.stdout.splitlines()]


class Pretended:
    """A runner whose compiler is wrong for all graphs with such a node."""

    def __init__(self, op, size):
        self.op, self.size = op, size

    def run(self, graphs, timeoutSeconds=0):
        def isWrong(graph):
            return any(node.op == self.op for node in graph.nodes) and any(
                self.size in t.shape for t in [*graph.inputs.values(),
                                               *graph.initializers.values()])
        return {name: [Result("cpu", "failed" if isWrong(graph) else "passed", "")]
                for name, (graph, _) in graphs.items()}


def shrunk():
    """The first graph of more than five nodes with a Softmax and a size of 1."""
    runner = Pretended("Softmax", 1)
    for seed in range(1000):
        graph = generate(seed)
        if (len(graph.nodes) > 5
                and runner.run({"": (graph, [])})[""][0].outcome == "failed"):
            return shrink(graph, "cpu", ("cpu", "failed", ""), runner)
    return Graph()


def main():
    build, folder = sys.argv[1:]
    small = shrunk()
    right, wrong = [1.5, 2.5, 3.5], [1.5, 2.5, 3.501]
    tests = {
        "a right output passes": answers(build, folder, sumOf([0.5] * 3), right, ["cpu", "sim"])
        == [("oracle", "passed"), ("cpu", "passed"), ("sim", "passed")],
        "a wrong output fails": answers(build, folder, sumOf([0.5] * 3), wrong, [])
        == [("oracle", "failed")],
        "a graph that is not valid is refused": answers(
            build, folder, Graph(17, [Node("Add", ["x"], ["y"])], outputs=[("y", F32)]), right,
            ["cpu"]) == [("import", "refused")],
        "gradients are compiled": ("cpu-grad", "passed") in answers(
            build, folder, sumOf([0.5] * 3), right, ["cpu-grad"]),
        "nodes are left out": [node.op for node in small.nodes] == ["Softmax"],
        "attributes and numbers are left out": not small.nodes[0].attributes
        and sum(len(t.numbers) for t in [*small.inputs.values(),
                                         *small.initializers.values()]) == 1,
    }
    failed = [name for name, passed in tests.items() if not passed]
    for name in failed:
        print(f"{name}: no")
    print(f"{len(tests) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
