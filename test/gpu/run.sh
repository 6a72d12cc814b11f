#!/bin/sh
# Checks Sinter on a real GPU within 8 minutes: prints a table, writes a JSON file.
#
#   test/gpu/run.sh FOLDER [--device=cuda:0] [--json=FILE] [--minutes=8] [--groups=NAME,..] [--small]
#
# FOLDER is what test/gpu/prepare.py made (on any machine; it needs no GPU), or its
# unpacked archive. Needs the NVIDIA driver and Python 3.9, and cuBLAS and cuDNN for library
# calls; docs/gpu-results.md says what is checked.
#
# Part of Sinter, under Apache-2.0 WITH LLVM-exception.
exec python3 "$(dirname "$0")/run.py" "$@"
