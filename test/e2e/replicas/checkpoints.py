"""Reads a trainer's checkpoints.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import os
import struct


def newest(folder):
    steps = sorted(name for name in os.listdir(folder) if name.startswith("step-"))
    return os.path.join(folder, steps[-1]) if steps else None


def unfinished(run):
    """(name, files) of the checkpoint that is being written; None without one."""
    for name in os.listdir(run) if os.path.isdir(run) else []:
        if name.startswith(".tmp-step-"):
            try:
                return name.removeprefix(".tmp-"), set(os.listdir(os.path.join(run, name)))
            except FileNotFoundError:  # it has got its name
                pass
    return None


def tensorsIn(path):
    """{name: (dtype, shape, bytes)} of a .safetensors file."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (one["dtype"], one["shape"], data[slice(*one["data_offsets"])])
            for name, one in header.items()}


def stateOf(folder):
    """The tensors of the newest checkpoint; parts that processes have written are joined."""
    checkpoint = newest(folder)
    with open(os.path.join(checkpoint, "manifest.json")) as file:
        manifest = json.load(file)
    state = tensorsIn(os.path.join(checkpoint, "state.safetensors"))
    parts = {}
    for file in manifest.get("partFiles", []):
        tensors = tensorsIn(os.path.join(checkpoint, file["file"]))
        for part in file["parts"]:
            dtype, _, data = tensors[part["name"]]
            parts.setdefault(part["name"], []).append((part["first"], dtype, part["dims"], data))
    for name, pieces in parts.items():
        pieces.sort(key=lambda piece: piece[0])
        state[name] = (pieces[0][1], pieces[0][2], b"".join(piece[3] for piece in pieces))
    return state


def sameState(a, b):
    return stateOf(a) == stateOf(b)
