"""Checks that instances of a library share its weights, and that their first run is warm.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    instances.py write MODEL.onnx      layers of 1024 x 1024 weights, with a state that counts
    instances.py check LIBRARY.so      by the C names sinter_layers_X
    instances.py times LIBRARY.so      microseconds of the first ten runs of a fresh instance

`check` makes instances, runs them and measures the memory of the process: each instance
after the first must take less than a tenth of the weights. The state begins at its
initial value in each of them.
"""

import argparse
import ctypes
import os
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "fuzz"))
import onnx_bytes as ob

SIZE, LAYERS, ROWS, INSTANCES = 1024, 6, 64, 8
WEIGHT_BYTES = 4 * SIZE * SIZE * LAYERS


def write(path):
    parts, value = [], "x"
    for i in range(LAYERS):
        raw = struct.pack("<1024f", *[((7 * j + i) % 61 - 30) / 900 for j in range(1024)])
        parts += [ob.initializer(f"w{i}", [SIZE, SIZE], raw=raw * (SIZE * SIZE // 1024)),
                  ob.node("MatMul", [value, f"w{i}"], [f"m{i}"], f"layer{i}"),
                  ob.node("Tanh", [f"m{i}"], [f"y{i}"], f"tanh{i}")]
        value = f"y{i}"
    parts += [ob.initializer("one", [1], raw=struct.pack("<f", 1)),
              ob.node("Add", ["runs", "one"], ["next"], "count"),
              ob.node("Add", [value, "next"], ["y"], "sum")]
    body = ob.graph(*parts, inputs=[("x", (ROWS, SIZE)), ("runs", (1,))],
                    outputs=[("y", (ROWS, SIZE)), ("next", (1,))])
    with open(path, "wb") as file:
        file.write(ob.model(body))


class Instance:
    def __init__(self, library):
        self.library, self.program = library, ctypes.c_void_p()
        library.sinter_layers_last_error.restype = ctypes.c_char_p
        self.x = (ctypes.c_float * (ROWS * SIZE))(*[(i % 97) / 97 for i in range(ROWS * SIZE)])
        self.y = (ctypes.c_float * (ROWS * SIZE))()
        if library.sinter_layers_create(2, ctypes.byref(self.program)):
            sys.exit(library.sinter_layers_last_error().decode())

    def run(self):
        inputs = (ctypes.c_void_p * 1)(ctypes.addressof(self.x))
        outputs = (ctypes.c_void_p * 1)(ctypes.addressof(self.y))
        if self.library.sinter_layers_run(self.program, inputs, outputs):
            sys.exit(self.library.sinter_layers_last_error().decode())
        return bytes(self.y)


def residentBytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def check(library):
    instances, outputs = [Instance(library)], []
    outputs.append(instances[0].run())
    before = residentBytes()
    for _ in range(INSTANCES - 1):
        instances.append(Instance(library))
        outputs.append(instances[-1].run())
    each = (residentBytes() - before) / (INSTANCES - 1)
    print(f"weights {WEIGHT_BYTES} bytes, each further instance {each:.0f}")
    if any(output != outputs[0] for output in outputs):
        sys.exit("the first runs of two instances differ: a state did not begin anew")
    if instances[0].run() == outputs[0]:
        sys.exit("the state does not count")
    if each > WEIGHT_BYTES / 10:
        sys.exit("instances do not share their weights")
    # What an instance packed is used by those after it.
    for instance in instances[:-1]:
        library.sinter_layers_destroy(instance.program)
    if instances[-1].run() == outputs[0]:
        sys.exit("the state does not count")


def times(library):
    instance, runs = Instance(library), []
    for _ in range(10):
        begin = time.perf_counter()
        instance.run()
        runs.append((time.perf_counter() - begin) * 1e6)
    print(" ".join(f"{us:.0f}" for us in runs), f": first/tenth {runs[0] / runs[-1]:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["write", "check", "times"])
    parser.add_argument("path")
    arguments = parser.parse_args()
    if arguments.command == "write":
        write(arguments.path)
    else:
        loaded = ctypes.CDLL(os.path.abspath(arguments.path))
        {"check": check, "times": times}[arguments.command](loaded)
