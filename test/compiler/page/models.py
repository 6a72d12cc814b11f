"""Makes models for the tests of the page.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fuzz"))
import onnx_bytes as ob

# What a page must not take for markup, or break on. The last is not UTF-8.
STRANGE = ["/a/<script>window.hit=1</script>/<b>Add</b>", "/a/\"'`&amp;\\/Add", "/a/line\nbreak\u2028/Add",
           "/a/</script><img src=x onerror='window.hit=1'>", b"/a/\xff\xfe/Add", "/a/${window.hit=1}/%0/Add",
           "/a/__proto__/constructor"]


def write(path, nodes, last):
    body = ob.graph(*nodes, inputs=(("x", (2, 4)),), outputs=((last, (2, 4)),))
    with open(path, "wb") as file:
        file.write(ob.model(body))


def strange(path):
    nodes, value = [], "x"
    for i, name in enumerate(STRANGE):
        nodes.append(ob.node("Sigmoid" if i % 2 else "Tanh", [value], [f"v{i}"], name))
        value = f"v{i}"
    write(path, nodes, value)


def large(path, count):
    """`count` ops in blocks of ten with a residual edge and an edge to the next but five."""
    nodes, value, outputs = [], "x", []
    ops = ["Tanh", "Sigmoid", "Relu", "Abs", "Neg", "Exp", "Softplus", "Erf"]
    for i in range(count):
        block = i // 10
        name = f"/model/stage.{block // 25}/block.{block}/part.{i % 10 // 5}/op.{i}"
        inside = i % 10
        if inside == 9:
            nodes.append(ob.node("Add", [value, outputs[i - 8]], [f"v{i}"], name))
        elif inside == 5 and i > 60:
            nodes.append(ob.node("Add", [value, outputs[i - 55]], [f"v{i}"], name))
        else:
            nodes.append(ob.node(ops[(i * 7 + block) % len(ops)], [value], [f"v{i}"], name))
        value = f"v{i}"
        outputs.append(value)
    write(path, nodes, value)


if __name__ == "__main__":
    if sys.argv[1] == "strange":
        strange(sys.argv[2])
    else:
        large(sys.argv[2], int(sys.argv[1]))
