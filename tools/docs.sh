#!/usr/bin/env bash
# Regenerates the pages under docs/ that come from TableGen and, with the
# remat-opt of a build, the one that lists the options of a step:
#
#   tools/docs.sh [OUTPUT_DIR]      default: docs
#
# REMAT_OPT is the tool, by default build/bin/remat-opt.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-docs}
tblgen=${MLIR_TBLGEN:-/usr/lib/llvm-22/bin/mlir-tblgen}
include=(-I include -I "$(dirname "$(dirname "$tblgen")")/include")

opt=${REMAT_OPT:-build/bin/remat-opt}

mkdir -p "$out/passes"
"$opt" --remat-list-options | tools/options_page.py > "$out/options.md"
"$tblgen" -gen-dialect-doc -dialect=remat "${include[@]}" \
  include/remat/Dialect/Remat/IR/RematOps.td -o "$out/dialect.md"
pages=(AutoDiff:AutoDiff Conversion/Import:Import Cost:Cost
  Dialect/Remat/Transforms:Dialect Target:Target
  Target/CPU:TargetCPU Transforms:Transforms)
for page in "${pages[@]}"; do
  "$tblgen" -gen-pass-doc "${include[@]}" "include/remat/${page%%:*}/Passes.td" \
    -o "$out/passes/${page##*:}.md"
done
rm -f "$out"/*.md.d "$out"/passes/*.md.d
