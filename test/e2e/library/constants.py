"""Checks that two programs of a library on one simulated device share its constants.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    constants.py LIBRARY.so     instances.py's, compiled for sim

The second program must take less memory than the weights, and must keep running when the
first is destroyed.
"""

import ctypes
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import instances

library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
first = instances.Instance(library)
os.environ["SINTER_SIM"] = f"memory={instances.WEIGHT_BYTES // 2}"
second = instances.Instance(library)
expected = first.run()
library.sinter_layers_destroy(first.program)
if second.run() != expected:
    sys.exit("the second program computes something else")
