#!/usr/bin/env python3
"""Stands in for ncu: gives figures of one kernel, does not work for softmax, and says nothing
about Adam.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import sys

program = " ".join(sys.argv)
if "--clock-control=none" not in sys.argv:
    sys.exit("==ERROR== clocks may not be changed here")
if "softmax" in program:
    sys.exit("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
if "adam" not in program:
    print("==PROF== Connected to process 1\n"
          '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
          '"0","k0_add_gelu","gpu__time_duration.sum","ns","1,234.5"\n'
          '"0","k0_add_gelu","launch__registers_per_thread","register/thread","32"')
