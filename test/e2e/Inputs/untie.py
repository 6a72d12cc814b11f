"""Copies a .safetensors file, changing the first number of tensor NAME.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    untie.py FROM TO NAME
"""

import json
import struct
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
size, = struct.unpack_from("<Q", data)
header = json.loads(data[8:8 + size])
header.pop("__metadata__", None)  # checksums
text = json.dumps(header).encode()
begin = 8 + size + header[name]["data_offsets"][0]
data[begin] ^= 1
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data[8 + size:])
