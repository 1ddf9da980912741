#!/usr/bin/env bash
# What lit runs for remat-opt where REMAT_ROUNDTRIP is set (lit.cfg.py):
#
#   roundtrip.sh REMAT_OPT ARGUMENT...
#
# The tool's own --verify-roundtrip covers only the input: it compares the IR
# with what printing and parsing make of it before any pass runs. Here the IR
# that the passes leave is read and compared in the same way, so that every
# operation and attribute that a pass can make is covered too.
set -uo pipefail
remat_opt=$1
shift

output=
printed=
reader=(--verify-roundtrip -o /dev/null)
for argument in "$@"; do
  case $argument in
    # The output is diagnostics or help, not IR.
    -verify-diagnostics* | --verify-diagnostics* | -help* | --help*)
      exec "$remat_opt" --verify-roundtrip "$@" ;;
    --remat-list-* | -remat-list-* | --list-passes)
      exec "$remat_opt" "$@" ;;
    -split-input-file | --split-input-file | \
      -allow-unregistered-dialect | --allow-unregistered-dialect)
      reader+=("$argument") ;;
  esac
  [ "${previous:-}" = -o ] && output=$argument
  previous=$argument
done

if [ -z "$output" ] || [ "$output" = - ]; then
  printed=$(mktemp)
  trap 'rm -f "$printed"' EXIT
  output=$printed
  "$remat_opt" --verify-roundtrip "$@" >"$printed"
else
  "$remat_opt" --verify-roundtrip "$@"
fi
status=$?
[ -z "$printed" ] || cat "$printed"
if [ $status = 0 ] && [ -s "$output" ] &&
  ! "$remat_opt" "${reader[@]}" "$output"; then
  echo "remat-opt printed IR that does not survive printing and parsing" >&2
  status=1
fi
exit $status
