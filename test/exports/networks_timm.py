"""Stub.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

NETWORKS = []
