"""Writes models about which the import warns, and one without a fault.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    warned.py FOLDER
"""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fuzz"))
import onnx_bytes as m


def model(scale, inner, output, sizes=(2, 20), **attributes):
    """Two nodes: [2, 20] is resized by `scale`. `inner` and `output` are the shapes of the
    results as the file declares them; None: not at all."""
    body = m.graph(
        m.node("Resize", ["x", "", "scales"], ["h"], name="shrink", mode="linear", **attributes),
        m.node("Relu", ["h"], ["y"], name="positive"),
        m.initializer("scales", (2,), raw=struct.pack("<2f", 1, scale)),
        b"" if inner is None else m.data(13, m.value("h", inner)),
        inputs=(("x", sizes),), outputs=(("y", output),))
    return m.model(body)


models = {
    "right": model(0.7, (2, 14), (2, 14)),
    "open": model(0.7, ("rows", "columns"), ("rows", 14)),
    "output": model(0.7, None, (2, 13)),
    "both": model(0.7, (2, 13), ("rows", 13)),
    "inner": model(0.7, (2, 13), (2, 14)),
    "rank": model(0.7, (2, 14), (28,)),
    "batch": model(0.7, (1, 14), (1, 14), sizes=(1, 20)),
    "aligned": model(0.71875, (2, 14), (2, 14), coordinate_transformation_mode="align_corners"),
}
for name, bytes_ in models.items():
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(bytes_)
