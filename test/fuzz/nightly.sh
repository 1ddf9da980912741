#!/usr/bin/env bash
# nightly.sh BUILD [SECONDS]: all fuzzers with new seeds, on two cores within SECONDS (3600). Prints their counts; what
# they find is in BUILD/fuzz. Seeds begin at the number of the day since 1970, times a million.
set -uo pipefail
build=${1:?usage: nightly.sh BUILD [SECONDS]}
seconds=${2:-3600}
fuzz=$(dirname "$0")
keep=$build/fuzz
seed=${SEED:-$(($(date +%s) / 86400 * 1000000))}
mkdir -p "$keep"

# Two at a time, in turn. A tenth is left for what is under way.
share=$((seconds * 9 / 10))
run() { # NAME SECONDS COMMAND...
  local name=$1 time=$2
  shift 2
  "$@" --seed="$seed" --seconds="$time" --keep="$keep" >"$keep/$name.log" 2>&1 || echo "$name" >>"$keep/failed"
}
rm -f "$keep/failed"
{
  run programs $((share / 4)) python3 "$fuzz/programs.py" "$build/bin"
  run combinations $((share / 4)) python3 "$fuzz/combinations.py" "$build/bin"
  run loops $((share / 4)) python3 "$fuzz/loops.py" "$build/bin"
  run derivatives $((share / 4)) python3 "$fuzz/Inputs/second_order.py" "$build/bin"
} &
{
  run mutate $((share / 4)) python3 "$fuzz/mutate.py" "$build/bin"
  run pipelines $((share / 4)) python3 "$fuzz/pipelines.py" "$build/bin"
  run planning $((share / 4)) "$build/bin/RematPlanningFuzz"
  run damage $((share / 8)) python3 "$fuzz/damage.py" "$build/bin"
  run tables $((share / 32)) "$build/bin/RuntimeFuzz"
  run packing $((share / 32)) python3 "$fuzz/packing.py" "$build/bin"
  # Where JAX is installed.
  if python3 -c 'import jax' 2>/dev/null; then
    run stablehlo $((share / 32)) python3 "$fuzz/stablehlo.py" "$build/bin" --count=1000000
    run attributes $((share / 32)) python3 "$fuzz/stablehlo_raw.py" "$build/bin" --count=1000000
  fi
} &
wait

for name in programs combinations loops derivatives mutate pipelines planning damage tables packing stablehlo attributes; do
  if [ -e "$keep/$name.log" ]; then tail -n 1 "$keep/$name.log"; fi
done
if [ -e "$keep/failed" ]; then
  echo "findings are in $keep:" "$(ls "$keep")"
  exit 1
fi
