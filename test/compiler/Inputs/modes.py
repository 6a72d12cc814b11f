"""Writes models with a Dropout and a BatchNormalization, exported for inference and for training.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    modes.py FOLDER
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fuzz"))
import onnx_bytes as m

BOOL = 9


def model(isTraining):
    flags = m.initializer("ratio", (), raw=m.floats(1)) + m.initializer(
        "mode", (), type_=BOOL, raw=bytes([isTraining]))
    parameters = b"".join(m.initializer(name, (4,), raw=m.floats(4, 1.0))
                          for name in ("scale", "bias", "mean", "var"))
    body = m.graph(
        m.node("MatMul", ["x", "w"], ["a"], name="product"),
        m.node("BatchNormalization", ["a", "scale", "bias", "mean", "var"],
               ["b", "m", "v"] if isTraining else ["b"], name="norm", training_mode=int(isTraining)),
        m.node("Dropout", ["b", "ratio", "mode"], ["y"], name="drop"),
        m.initializer("w", (4, 4), raw=m.floats(16)), flags, parameters,
        inputs=(("x", (8, 4)),), outputs=(("y", (8, 4)),))
    return m.model(body)


for name, isTraining in (("inference", False), ("training", True)):
    with open(os.path.join(sys.argv[1], name + ".onnx"), "wb") as file:
        file.write(model(isTraining))
