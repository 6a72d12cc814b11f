"""Compares a program that keeps caches, one word at a time, with one that gets all words.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    decode.py write FOLDER               words.npz, 32 words, and the network's weights
    decode.py check LIBRARY.so MODEL LOGITS.npz [--tolerance=1e-2]

`check` gives a fresh program of the library (C names sinter_MODEL_X) one word after another
and compares its logits with the whole network's, relative to the largest. Another program
that gets the states in the middle must continue with the same bits; one that starts there
without the states must not agree.
"""

import argparse
import ctypes
import json
import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "..", "..", "tools", "scripts"),
                 os.path.join(HERE, "..", "..", "gpu")]
from npz import readNpz, writeNpz
import weights

LENGTH, VOCABULARY = 32, 96
WORDS = [(7 * i * i + 3 * i + 5) % VOCABULARY for i in range(LENGTH)]


def write(folder):
    writeNpz(os.path.join(folder, "words.npz"),
             {"x": ("<i8", (1, LENGTH), struct.pack(f"<{LENGTH}q", *WORDS))})
    with open(os.path.join(HERE, "..", "..", "gpu", "Inputs", "gpt2-small.json")) as listing:
        weights.write(json.load(listing), os.path.join(folder, "gpt2-small.safetensors"))


class Library:
    def __init__(self, path, model):
        self.library, self.model = ctypes.CDLL(os.path.abspath(path)), model

    def call(self, name, *arguments):
        function = getattr(self.library, f"sinter_{self.model}_{name}")
        if function(*arguments):
            error = getattr(self.library, f"sinter_{self.model}_last_error")
            error.restype = ctypes.c_char_p
            sys.exit(f"{name}: {error().decode()}")


class Program:
    def __init__(self, library):
        self.library, self.program = library, ctypes.c_void_p()
        library.call("create", 1, ctypes.byref(self.program))

    def step(self, position):
        """The logits after the word at `position`."""
        word, at = ctypes.c_int64(WORDS[position]), ctypes.c_int64(position)
        logits = (ctypes.c_float * VOCABULARY)()
        inputs = (ctypes.c_void_p * 2)(ctypes.addressof(word), ctypes.addressof(at))
        outputs = (ctypes.c_void_p * 1)(ctypes.addressof(logits))
        self.library.call("run", self.program, inputs, outputs)
        return list(logits)

    def giveStates(self, other, sizes):
        for index, size in enumerate(sizes):
            state = ctypes.create_string_buffer(size)
            self.library.call("read_state", self.program, index, state)
            self.library.call("write_state", other.program, index, state)


def difference(got, wanted):
    worst = max(abs(a - b) for a, b in zip(got, wanted)) / max(map(abs, wanted))
    return worst if all(map(math.isfinite, got)) else math.inf


def check(options):
    logits = next(iter(readNpz(options.logits).values()))
    wanted = [logits.values[i * VOCABULARY:(i + 1) * VOCABULARY] for i in range(LENGTH)]
    library = Library(options.library, options.model)
    program, worst, middle = Program(library), 0, LENGTH // 2
    for position in range(LENGTH):
        if position == middle:
            heir, stranger = Program(library), Program(library)
            program.giveStates(heir, [options.state_bytes] * options.states)
        got = program.step(position)
        worst = max(worst, difference(got, wanted[position]))
        if position >= middle and heir.step(position) != got:
            sys.exit(f"position {position}: other bits with the states of a program")
        if position == middle and \
                difference(stranger.step(position), wanted[position]) <= options.tolerance:
            sys.exit("a program without states agrees: nothing is shown")
    print(f"{LENGTH} words, largest difference {worst:.2g}")
    if not worst <= options.tolerance:
        sys.exit(f"above {options.tolerance:g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write").add_argument("folder")
    two = commands.add_parser("check")
    two.add_argument("library")
    two.add_argument("model")
    two.add_argument("logits")
    two.add_argument("--tolerance", type=float, default=1e-2)
    two.add_argument("--states", type=int, default=4)
    two.add_argument("--state-bytes", type=int, default=2048)
    options = parser.parse_args()
    if options.command == "check":
        check(options)
    else:
        write(options.folder)


if __name__ == "__main__":
    main()
