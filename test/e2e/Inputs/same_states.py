"""Checks that all tensors of two .safetensors files are bitwise equal.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    same_states.py A B
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import readSafetensors

a, b = (readSafetensors(path) for path in sys.argv[1:3])
assert a and a.keys() == b.keys(), (list(a), list(b))
different = [name for name in a if a[name] != b[name]]
assert not different, different
print(f"{len(a)} states are the same")
