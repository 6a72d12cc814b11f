"""Lists the test for each bad input that must end with one clear error.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    bad_inputs.py

The list is grouped: B1 bytes of the file, B2 structure of the graph, B3 tensors, B4
external data, B5 operators, B7 command lines and our own text, B8 data. A test is named by
  NAME                    a case of broken_models.py (broken or LEGAL: right at the edge)
  data/NAME               a case of run_broken.py's DATA, IDX or SPECS
  value/NAME              a case of edge_values.py
  FILE                    a lit test under test/
  FILE:WORDS              a Catch2 TEST_CASE, or a line of a lit test, that begins so
Checks that every one exists. Prints `N passed, M failed, 0 skipped`.
"""

import os
import sys

import broken_models
import edge_values
import run_broken

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
IMPORT, RUNTIME = "compiler/import/", "runtime/"

BAD_INPUTS = {
    "B1": {
        1: ("empty, 1 byte, text, gzip, a directory, FIFO, /dev/zero",
            ["W-empty", "W-one-byte", "W-text", "W-gzip", "fuzz/strange-files.test"]),
        2: ("truncated at every byte", [IMPORT + "DamageTest.cpp:truncated at every byte"]),
        3: ("overlong varint", ["W-long-varint"]),
        4: ("length prefix past the end", ["W-length-past-end", "W-length-2^63",
                                           "W-length-2^64-1"]),
        5: ("deep unknown groups and messages", ["W-deep-groups", "W-deep-messages"]),
        6: ("wrong wire type, field 0", ["W-wire-type", "W-field-0",
                                         IMPORT + "DamageTest.cpp:damaged fields"]),
        7: ("the graph twice", ["W-graph-in-two-pieces"]),
        8: ("a file above 2 GiB", ["fuzz/strange-files.test:LARGE"]),
        9: ("packed and unpacked mixed", ["W-packed-and-unpacked"]),
        10: ("escapes, NUL, invalid UTF-8, 64 KiB in names",
             ["N-newline-and-escapes", "N-invalid-utf8", "N-64-KiB",
              IMPORT + "StructureTest.cpp:names are escaped and cut in messages"]),
    },
    "B2": {
        11: ("no graph, no outputs, empty names", ["G-no-graph", "G-no-output",
                                                   "G-empty-input-name", "G-empty-output-name"]),
        12: ("cycle, not sorted", ["G-cycle", "G-unsorted"]),
        13: ("names given twice", ["G-duplicate-name", "G-output-is-input",
                                   "G-initializer-is-result", "G-two-initializers"]),
        14: ("undefined input, output never produced", ["G-undefined-input",
                                                        "G-unproduced-output"]),
        15: ("empty operands", ["G-missing-operand", "G-empty-operand",
                                "G-trailing-empty-operands"]),
        16: ("nested subgraphs", ["G-nested-ifs", "G-ifs-33-deep", "G-ifs-10000-deep"]),
        17: ("recursive functions", ["G-recursion", "G-mutual-recursion",
                                     "G-recursion-in-branch"]),
        18: ("billion laughs", ["G-billion-laughs"]),
        19: ("very many nodes or operands", ["G-20000-nodes", "G-a-million-operands"]),
        20: ("operator sets, ir_version", ["G-no-opset", "G-opset-0", "G-opset-9999",
                                           "G-opset-twice", "G-unknown-domain",
                                           "G-domain-not-imported", "G-ir-version-0",
                                           "G-ir-version-999"]),
        21: ("unknown operators, all listed", ["G-unknown-op", IMPORT + "StructureTest.cpp:"
                                               "all unsupported operators are listed"]),
        22: ("captures, bodies of loops", ["G-captured-later", "G-loop-arity", IMPORT
                                           + "StructureTest.cpp:the body of a loop must fit"]),
    },
    "B3": {
        23: ("negative dimension, overflow", ["T-negative-dim", "T-overflow"]),
        24: ("raw_data of another size", ["T-raw-too-short", "T-raw-not-whole", "T-raw-empty",
                                          "T-no-data"]),
        25: ("both kinds of data, wrong field, out of range",
             ["T-raw-and-floats", "T-wrong-field", "T-int8-out-of-range"]),
        26: ("odd counts of int4", ["T-int4-odd", "T-int4-short", "T-int4-long"]),
        27: ("unknown type", ["T-type-0", "T-type-999"]),
        28: ("rank 0, huge rank", ["T-scalar-matmul", "T-scalar-softmax", "T-rank-100000"]),
        29: ("types that differ", ["T-type-mismatch", "T-declared-type", "T-shape-mismatch"]),
        30: ("sparse indices", ["T-sparse-out-of-range", "T-sparse-negative",
                                "T-sparse-unsorted"]),
        31: ("dimensions of size 0", ["T-no-rows", "T-no-columns", "T-empty-image"]),
        32: ("segments, strings", ["T-segment", "T-strings"]),
        33: ("NaN, infinity, denormals", ["T-not-finite"]),
    },
    "B4": {
        34: ("locations outside", ["E-parent-folder", "E-absolute", "E-drive-letter",
                                   "E-device-path", "E-empty-location", "E-dot-dot-inside",
                                   "E-no-location"]),
        35: ("symbolic links", ["E-symlink", "E-linked-folder"]),
        36: ("hard links", ["E-hard-link"]),
        37: ("swapped while reading", [IMPORT + "ExternalDataTest.cpp:links are refused"]),
        38: ("offset and length wrap", ["E-offset-wraps"]),
        39: ("length differs, overlap, past the end", ["E-length-differs", "E-offset-past-end",
                                                       "E-two-tensors-overlap"]),
        40: ("offsets that are no numbers, unknown keys",
             ["E-offset-no-number", "E-offset-negative", "E-offset-spaces", "E-unknown-key"]),
        41: ("memory markers", ["E-memory-marker"]),
        42: ("external data of a Constant node", ["E-constant-node-outside"]),
    },
    "B5": {
        43: ("windows", ["A-stride-0", "A-stride-negative", "A-kernel-0", "A-kernel-negative",
                         "A-kernel-huge", "A-kernel-of-wrong-length",
                         "A-kernel-differs-from-weight", "A-dilation-0", "A-dilation-most",
                         "A-pads-most", "A-pads-beyond-kernel", "A-pads-of-wrong-length",
                         "A-group-0", "A-group-does-not-divide"]),
        44: ("axes", ["A-axis-out-of-range", "A-axis-least-int", "A-axes-twice", "A-axes-least",
                      "A-unsqueeze-twice", "A-permutation"]),
        45: ("Reshape", ["A-reshape-two-unknown", "A-reshape-product", "A-reshape-allowzero",
                         "A-reshape-negative"]),
        46: ("indices out of range at run time", ["value/Gather", "A-gather-known-index"]),
        47: ("Slice, Split", ["A-slice-step-0", "A-slice-lengths", "A-slice-far",
                              "A-slice-far-back", "A-split-sum", "A-split-negative"]),
        48: ("2^60 elements", ["A-expand-huge", "A-tile-huge", "A-tile-negative",
                               "A-constant-of-shape-huge", "A-constant-of-shape-wraps",
                               "A-range-huge", "A-range-step-0", "A-pad-huge", "A-pad-below-0"]),
        49: ("division by 0, least / -1", ["value/Div", "value/Mod", "A-divide-by-0",
                                           "A-divide-least", "A-modulo-0", "A-modulo-least"]),
        50: ("Resize, Col2Im", ["A-resize-scales", "A-resize-huge", "A-col2im"]),
        51: ("Einsum", ["A-einsum", "A-einsum-empty", "A-einsum-operands", "A-einsum-rank",
                        "A-einsum-scalar"]),
        52: ("attributes", ["A-wrong-type", "A-missing-attribute", "A-missing-body",
                            "A-empty-tensor"]),
        53: ("Loop, Scan", ["A-loop-most", "A-scan-inputs-0", "A-scan-inputs-negative",
                            "A-scan-inputs-many"]),
        54: ("casts of NaN and infinity", ["value/Cast to int32", "value/Cast to int8"]),
    },
    "B7": {
        60: ("malformed and deep text, bytecode", ["compiler/driver/models.test",
                                                   "fuzz/broken-models.test:Damaged MLIR"]),
        61: ("flags", ["compiler/driver/options.test", "fuzz/command-line.test",
                       RUNTIME + "OptionsTest.cpp:options: mistakes get one line"]),
        62: ("output paths, closed stdout", ["compiler/driver/output.test"]),
        63: ("environment, locale", ["fuzz/command-line.test:The environment"]),
        64: ("names of the model in symbols and files", ["N-quotes-and-slashes", "N-words-of-C",
                                                         "fuzz/command-line.test:Names"]),
    },
    "B8": {
        65: ("magic, sizes, cut records, no records, fewer than the batch",
             ["data/magic", "data/count", "data/cut", "data/no-rows", "data/no-rows.npz",
              "data/too-few.npz", "data/cut.npz", "data/short-values.npz",
              RUNTIME + "IdxTest.cpp:IDX: broken files end in one line",
              RUNTIME + "CsvTest.cpp:csv: what is wrong is said with its line"]),
        66: ("npy headers", ["data/code-header.npz", "data/pickle.npz", "data/header-1GiB.npz",
                             "data/dims-negative.npz", "data/type-unknown.npz",
                             RUNTIME + "NpyTest.cpp:npy: headers that are refused",
                             RUNTIME + "NpyTest.cpp:npy: big-endian"]),
        67: ("labels, sizes, NaN", ["data/label-range.npz", "data/label-negative.npz",
                                    "data/label-fraction.npz", "data/other-size",
                                    "data/not-a-number.npz"]),
        68: ("damaged records", ["data/tfrecord:*.tfrecord", "data/damaged-stream",
                                 RUNTIME + "IdxTest.cpp:IDX: damage in a compressed stream"]),
        69: ("pictures: planned, refused", ["data/images:pictures"]),
        70: ("compressed bombs", ["data/bomb"]),
        71: ("shortened while reading", [RUNTIME + "DatasetTest.cpp:a file that becomes shorter"]),
        72: ("nothing there, one of two missing", ["data/empty-folder", "data/nothing.npz",
                                                   "data/more-rows-than-labels"]),
    },
}


def exists(name):
    kind, _, rest = name.partition("/")
    if kind == "data":
        return rest in run_broken.DATA | run_broken.IDX | run_broken.SPECS \
            or rest == "empty-folder"
    if kind == "value":
        return rest in edge_values.CASES
    path, _, words = name.partition(":")
    if not path.endswith((".test", ".cpp")):
        return name in broken_models.CASES or name in broken_models.LEGAL
    path = os.path.join(TESTS, path)
    if not os.path.exists(path):
        return False
    with open(path) as file:
        text = file.read()
    return ('TEST_CASE("' if path.endswith(".cpp") else "") + words in text


def main():
    passed = failed = 0
    for group, numbers in BAD_INPUTS.items():
        for number, (title, names) in numbers.items():
            missing = [name for name in names if not exists(name)]
            if missing or not names:
                print(f"{group} {number} ({title}): no test {', '.join(missing)}")
            failed += bool(missing or not names)
            passed += not missing and bool(names)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
