#!/usr/bin/env python3
"""In the place of peers.py: a side whose loss is wrong.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    side = {"torch-eager": {"loss": 1.0, "bytes": None}}
    print(json.dumps(side if "prepare" in request else {"ms": 1.0}), flush=True)
