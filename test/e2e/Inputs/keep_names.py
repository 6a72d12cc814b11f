#!/usr/bin/env python3
"""Copies those tensors of a safetensors file whose whole name matches.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    keep_names.py IN.safetensors OUT.safetensors REGEX
"""

import json
import re
import struct
import sys


def main():
    source, target, pattern = sys.argv[1:]
    with open(source, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    kept, chunks, at = {}, [], 0
    for name, entry in header.items():
        if name == "__metadata__" or not re.fullmatch(pattern, name):
            continue
        begin, end = entry["data_offsets"]
        chunks.append(data[begin:end])
        kept[name] = {**entry, "data_offsets": [at, at + end - begin]}
        at += end - begin
    text = json.dumps(kept).encode()
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
    print(f"{len(kept)} tensors")


if __name__ == "__main__":
    main()
