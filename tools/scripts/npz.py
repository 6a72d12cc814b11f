"""Reads npy, npz and safetensors files and writes npz files, using only the standard library.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Used by the test scripts. Arrays are flat lists of Python numbers with a shape.
"""

import ast
import json
import struct
import zipfile
from typing import NamedTuple

# The letters of Python's struct module for the element types of npy and safetensors.
NPY = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
       "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "?"}
SAFETENSORS = {"F16": "e", "F32": "f", "F64": "d", "I8": "b", "I16": "h", "I32": "i",
               "I64": "q", "U8": "B", "BOOL": "?"}


class Array(NamedTuple):
    shape: tuple
    letter: str  # struct's
    values: list

    @property
    def isFloat(self):
        return self.letter in "efd"


def unpack(letter, data, order="<"):
    count = len(data) // struct.calcsize(order + letter)
    return list(struct.unpack(f"{order}{count}{letter}", data))


def parseNpy(data):
    if data[:6] != b"\x93NUMPY":
        raise ValueError("not an npy file")
    wide = data[6] >= 2
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + length
    header = ast.literal_eval(data[start - length:start].decode("latin1"))
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError("column-major")
    descr = header["descr"]
    order = ">" if descr[0] == ">" else "<"
    letter = NPY[descr[1:]]
    return Array(tuple(header["shape"]), letter, unpack(letter, data[start:], order))


def readNpz(path):
    """{name: Array}"""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): parseNpy(archive.read(name))
                for name in archive.namelist()}


def npyBytes(kind, shape, data):
    """An npy file of `kind`, such as "<f4", and `shape`, with row-major `data`."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def writeNpz(path, arrays):
    """Writes `arrays`: {name: (kind, shape, data)}, as for npyBytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", npyBytes(*array))


def readSafetensors(path):
    """{name: Array}"""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + length])
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            letter = SAFETENSORS[entry["dtype"]]
            arrays[name] = Array(tuple(entry["shape"]), letter,
                                 unpack(letter, data[8 + length + begin:8 + length + end]))
    return arrays
