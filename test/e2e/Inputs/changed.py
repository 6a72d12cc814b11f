"""Checks that exactly the parameters whose names match differ in two .safetensors files.

changed.py A B REGEX; slots of optimizers (SLOT/NAME) are ignored, unless REGEX has a slash.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import readSafetensors

a, b = readSafetensors(sys.argv[1]), readSafetensors(sys.argv[2])
names = [name for name in a if name in b and ("/" in sys.argv[3] or "/" not in name)]
changed = {name for name in names if a[name].values != b[name].values}
expected = {name for name in names if re.search(sys.argv[3], name)}
assert expected, f"nothing matches {sys.argv[3]}: {names}"
assert changed == expected, f"changed: {sorted(changed)}, expected: {sorted(expected)}"
