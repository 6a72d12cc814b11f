"""Exchanges all inputs of two nodes of an ONNX model.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

usage: exchange.py MODEL OUT NODE NODE
"""

import sys

import onnx_edit as onnx


def sorted_nodes(nodes):
    """The nodes, each behind those that it reads."""
    made = {name for node in nodes for name in node.texts(onnx.OUTPUT)}
    done, result = set(), []
    while nodes:
        rest = []
        for node in nodes:
            if all(name in done or name not in made for name in node.texts(onnx.INPUT)):
                done.update(node.texts(onnx.OUTPUT))
                result.append(node)
            else:
                rest.append(node)
        assert len(rest) < len(nodes), "a cycle"
        nodes = rest
    return result


def main():
    source, out, *names = sys.argv[1:]
    model = onnx.Model(source)
    a, b = (next(node for node in model.nodes if node.text(onnx.NAME) == name) for name in names)
    ofA, ofB = a.texts(onnx.INPUT), b.texts(onnx.INPUT)
    a.set(onnx.INPUT, ofB)
    b.set(onnx.INPUT, ofA)
    model.nodes = sorted_nodes(model.nodes)
    model.save(out)


main()
