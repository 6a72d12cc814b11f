#!/bin/sh
# Checks Sinter on a real GPU: prints a table, writes a JSON file.
#
#   test/gpu/run.sh FOLDER --smoke [--device=cuda:0] [--out=DIR]
#   test/gpu/run.sh FOLDER [--device=cuda:0] [--json=FILE] [--minutes=8] [--groups=NAME,..] [--small]
#
# FOLDER is what test/gpu/prepare.py made (on any machine; it needs no GPU), or its
# unpacked archive. --smoke takes at most 3 minutes and leaves smoke.tar.gz in DIR. Needs the
# NVIDIA driver and Python 3.9, and cuBLAS and cuDNN for library calls; what is missing is said
# first, a line each. docs/gpu-results.md says what is checked.
#
# Part of Sinter, under Apache-2.0 WITH LLVM-exception.

case $0 in */*) here=${0%/*} ;; *) here=. ;; esac

if command -v python3 > /dev/null 2>&1 &&
   python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' > /dev/null 2>&1; then
  exec python3 "$here/run.py" "$@"
fi

# Without Python: what the shell alone can see.
if command -v python3 > /dev/null 2>&1; then
  echo "missing: Python 3.9: python3 is older, or does not start"
else
  echo "missing: Python 3.9: there is no python3; PATH is '$PATH'"
fi
# has NAME FOLDER..: whether one of them has a file whose name begins so.
has() {
  name=$1
  shift
  for folder in "$@"; do
    for file in "$folder/$name"*; do
      [ -e "$file" ] && return 0
    done
  done
  return 1
}
system="/usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu /usr/lib64 /usr/lib"
driver="/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib /run/opengl-driver/lib"
for library in libcuda.so.1 libcublasLt.so. libcudnn.so.9; do
  has "$library" $system $driver /usr/local/cuda/lib64 ||
    echo "missing: $library: it is in no usual folder"
done
[ -e /dev/nvidiactl ] || echo "missing: a GPU: there is no /dev/nvidiactl"
for tool in nvidia-smi ncu compute-sanitizer xz; do
  command -v "$tool" > /dev/null 2>&1 || echo "missing: $tool: it is not on PATH"
done
[ -e "${1:-}/bin/sinter-run" ] ||
  echo "missing: the folder that prepare.py made: there is no ${1:-FOLDER}/bin/sinter-run"
echo "nothing can run here without Python 3.9"
exit 1
