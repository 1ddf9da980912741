#!/usr/bin/env bash
# Trains one step of GPT-2 (8 layers) under smaller and smaller budgets and
# prints what each was promised and what it used.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh remat-run
models=test/Inputs/models
build/bin/remat-run $models/gpt2_8l.mlir --manifest=$models/gpt2_8l.json \
  --budget=100%,70%,50%,35% --threads=2 --steps=3 "$@"
