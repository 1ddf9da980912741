#!/usr/bin/env bash
# Checks and measures steps on a machine with a GPU. Nothing is built there: what it needs is packed here.
#
#   tools/bench/gpu.sh export DIR [MODEL...]       writes the models that are compared with PyTorch (default: GPT-2 124M
#                                                  on 16 x 1024 tokens and ResNet-50 on 256 images, both in bf16); the
#                                                  model `kernels` is all kernels that are bound by memory
#   tools/bench/gpu.sh pack BUILD DIR [MODEL...] [--timed=FILE.mlir...]
#                                                  compiles the models (default: all in test/Inputs/models that have a
#                                                  manifest and run in seconds) for several budgets into DIR, and those
#                                                  that are only timed
#   DIR/gpu.sh [REPORT.json]                       runs them, there, and writes a report (default: DIR/report.json)
#
# Exporting needs PyTorch and the Python package remat, compiling ptxas for cubins, running Python with NumPy. If there
# is PyTorch where it runs, it is timed, too. The exit status is 1 if a check fails or there is no GPU.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = export ]; then
  [ $# -ge 2 ] || { echo "usage: $0 export DIR [MODEL...]" >&2; exit 2; }
  exec python3 "$here/gpu/torch_models.py" "$@"
fi
if [ "${1:-}" = pack ]; then
  [ $# -ge 3 ] || { echo "usage: $0 pack BUILD DIR [MODEL...] [--timed=FILE.mlir...]" >&2; exit 2; }
  exec python3 "$here/gpu/pack.py" "${@:2}"
fi
[ -f "$here/package.json" ] || { echo "$0: no package here; make one by '$0 pack BUILD DIR'" >&2; exit 2; }
exec python3 "$here/report.py" "$here" "${1:-$here/report.json}"
