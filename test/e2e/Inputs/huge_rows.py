"""Copies an npz, with VALUE, or 3e38, in rows FIRST to LAST of its float32 member NAME.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    huge_rows.py FROM.npz TO.npz NAME FIRST LAST [VALUE]
"""

import ast
import struct
import sys
import zipfile

source, target, name, first, last, *value = sys.argv[1:]
number = struct.pack("<f", float(value[0]) if value else 3e38)
with zipfile.ZipFile(source) as members, zipfile.ZipFile(target, "w") as copy:
    for member in members.namelist():
        data = bytearray(members.read(member))
        if member == name + ".npy":
            begin = 10 + int.from_bytes(data[8:10], "little")
            header = ast.literal_eval(data[10:begin].decode())
            assert header["descr"] == "<f4"
            row = (len(data) - begin) // header["shape"][0]
            end = begin + (int(last) + 1) * row
            begin += int(first) * row
            data[begin:end] = number * ((end - begin) // 4)
        copy.writestr(member, bytes(data))
