#!/bin/sh
# Checks that every tool that compiles the file MODEL ends with exit code 2 and
# writes nothing: refused.sh MODEL OUT
check() {
  rm -f "$out"
  "$@"
  code=$?
  test $code = 2 || echo "error: exit code $code of: $*" >&2
  test ! -e "$out" || echo "error: $out was written by: $*" >&2
}
model=$1 out=$2
check sinterc "$model" -o "$out"
check sinterc "$model" --check
check sinter-run "$model" --inputs=random:seed=1
check sinter-inspect "$model"
