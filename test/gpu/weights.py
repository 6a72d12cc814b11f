"""Generates weights by a rule: NAME.safetensors from a list of names and shapes.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. Tensors of two dimensions and more get random signs and
random magnitudes in [1/128, 1/32) (standard deviation 0.019, as transformers are
initialised), filters that sum 1024 products at most four times that; of the others scales
and variances lie in [1, 17/16), biases and means are as large as weights: a compiler cannot
leave them out. The file is a graph's external data, what a trainer's --init takes, and what
PyTorch and JAX read.
"""

import json
import math
import random
import struct


def layout(listing):
    """The file's head, and {name: (begin, end)} behind it."""
    entries, end = {}, 0
    for name, shape in listing:
        begin, end = end, end + 4 * math.prod(shape)
        entries[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text = text.ljust(-(-(len(text) + 8) // 4096) * 4096 - 8)
    return struct.pack("<Q", len(text)) + text, \
        {name: entry["data_offsets"] for name, entry in entries.items()}


def places(listing):
    """{name: (begin, end)} in the file."""
    head, offsets = layout(listing)
    return {name: (len(head) + begin, len(head) + end) for name, (begin, end) in offsets.items()}


def randomFloats(generator, count, high=0x3c):
    """Bytes of float32 with random signs, mantissas and lowest bits of the exponent. `high`
    has its other bits: 0x3c for magnitudes in [1/128, 1/32), 0x3d for [1/32, 1/8), 0x3f for
    [1/2, 2)."""
    data = bytearray(generator.randbytes(4 * count))
    data[3::4] = data[3::4].translate(bytes((byte & 0x80) | high for byte in range(256)))
    return data


def randomHalves(generator, count):
    """Bytes of bfloat16 with random signs, mantissas and lowest bits of the exponent:
    magnitudes in [1/2, 2)."""
    data = bytearray(generator.randbytes(2 * count))
    data[1::2] = data[1::2].translate(bytes((byte & 0x80) | 0x3f for byte in range(256)))
    return data


def scales(generator, count):
    """Bytes of float32 in [1, 17/16)."""
    data = bytearray(generator.randbytes(4 * count))
    data[2::4] = data[2::4].translate(bytes(byte & 7 | 0x80 for byte in range(256)))
    data[3::4] = b"\x3f" * count
    return data


def write(listing, path, seed=1):
    """Writes the file; `listing` is of pairs (name, shape)."""
    generator = random.Random(seed)
    with open(path, "wb") as file:
        file.write(layout(listing)[0])
        for name, shape in listing:
            count = math.prod(shape)
            if len(shape) > 1:
                isShort = len(shape) == 4 and math.prod(shape[1:]) <= 1024
                file.write(randomFloats(generator, count, 0x3d if isShort else 0x3c))
            else:
                isScale = name.endswith(("weight", "running_var"))
                file.write((scales if isScale else randomFloats)(generator, count))
