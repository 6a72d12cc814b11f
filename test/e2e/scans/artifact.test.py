"""Fails if the second file is more than 4 KiB larger than the first.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import sys

few, many = (os.path.getsize(path) for path in sys.argv[1:3])
if many > few + 4096:
    sys.exit(f"{sys.argv[2]} has {many} bytes, {sys.argv[1]} {few}")
