#!/bin/sh
# In place of a trainer that `launch` starts: rank N does what $DO_N says.
for word; do
  case $word in
  --rank=*) rank=${word#--rank=} ;;
  esac
done
eval "commands=\$DO_$rank"
eval "$commands"
