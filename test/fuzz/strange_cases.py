"""Node tests that the conformance runner cannot run: newer element types and operator sets.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    strange_cases.py FOLDER

Writes one folder for each, in the form of ONNX's backend suite.
"""

import os
import sys

from onnx_bytes import *

FLOAT8, FLOAT4, UNKNOWN = 17, 23, 99


def cast(type_):
    return model(graph(node("Cast", ["x"], ["y"], "it", to=FLOAT), inputs=(("x", (4,), type_),),
                       outputs=(("y", (4,)),)))


# name: model, input's tensor
CASES = {
    "float8": (cast(FLOAT8), tensor("x", (4,), FLOAT8, raw=bytes(4))),
    "float4": (cast(FLOAT4), tensor("x", (4,), FLOAT4, raw=bytes(2))),
    "unknown": (cast(UNKNOWN), tensor("x", (4,), UNKNOWN, raw=bytes(4))),
    "strings": (cast(STRING), tensor("x", (4,), STRING)),
    "no-tensor": (cast(FLOAT), b"\xff\xff"),
    "newer-operators": (model(graph(node("Relu", ["x"], ["y"], "it"), inputs=(("x", (4,)),),
                                    outputs=(("y", (4,)),)), opsets=opset(99)),
                        tensor("x", (4,), raw=floats(4))),
}


def main():
    for name, (model_, input_) in CASES.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(os.path.join(folder, "test_data_set_0"))
        for file, bytes_ in (("model.onnx", model_), ("test_data_set_0/input_0.pb", input_),
                             ("test_data_set_0/output_0.pb", tensor("y", (4,), raw=floats(4)))):
            with open(os.path.join(folder, file), "wb") as out:
                out.write(bytes_)


if __name__ == "__main__":
    main()
