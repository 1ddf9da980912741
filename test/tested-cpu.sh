#!/bin/sh
# What lit runs for a tool that compiles where REMAT_TEST_MCPU is set (lit.cfg.py):
#
#   tested-cpu.sh CPU TOOL ARGUMENT...
#
# Code is for the CPU, unless the arguments name a processor, a target or a
# device themselves: `--mcpu` is about those then.
cpu=$1 tool=$2
shift 2
for argument in "$@"; do
  case $argument in
    -mcpu* | --mcpu* | -target* | --target* | -device* | --device*) exec "$tool" "$@" ;;
  esac
done
exec "$tool" "--mcpu=$cpu" "$@"
