#!/usr/bin/env bash
# Checks and measures steps on a machine with a GPU. Nothing is built there: what it needs is packed here.
#
#   tools/bench/gpu.sh pack BUILD DIR [MODEL...]   compiles the models (default: all in test/Inputs/models that have a
#                                                  manifest and run in seconds) for several budgets into DIR
#   DIR/gpu.sh [REPORT.json]                       runs them, there, and writes a report (default: DIR/report.json)
#
# Compiling needs ptxas for cubins, and Python with NumPy. The exit status is 1 if a check fails or there is no GPU.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = pack ]; then
  [ $# -ge 3 ] || { echo "usage: $0 pack BUILD DIR [MODEL...]" >&2; exit 2; }
  exec python3 "$here/gpu/pack.py" "${@:2}"
fi
[ -f "$here/package.json" ] || { echo "$0: no package here; make one by '$0 pack BUILD DIR'" >&2; exit 2; }
exec python3 "$here/report.py" "$here" "${1:-$here/report.json}"
