"""Copies an npz, with 3e38 in rows FIRST to LAST of its float32 member NAME.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    huge_rows.py FROM.npz TO.npz NAME FIRST LAST
"""

import ast
import struct
import sys
import zipfile

source, target, name, first, last = sys.argv[1:]
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
            data[begin:end] = struct.pack("<f", 3e38) * ((end - begin) // 4)
        copy.writestr(member, bytes(data))
