#!/usr/bin/env bash
# Installs what remat builds with on Debian 12, configures and builds:
#
#   tools/setup.sh [--preset=PRESET] [TARGET...]
#
# Presets (CMakePresets.json): dev, the default, in build/; files in
# build-files/; release in build-release/; asan in build-asan/; wheel in
# build-wheel/ (tools/wheel.sh).
# Without a target everything is built.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
targets=()
for argument in "$@"; do
  case $argument in
    --preset=*) preset=${argument#--preset=} ;;
    *) targets+=("$argument") ;;
  esac
done

packages=(
  ca-certificates cmake ninja-build python3 python3-pip
  g++ clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libdnnl-dev libgtest-dev libzstd-dev zlib1g-dev libxml2-dev libedit-dev
)
# Tests open reports in a browser.
[ "$preset" != dev ] || packages+=(chromium-headless-shell)
[ "$preset" != asan ] || packages+=(libclang-rt-22-dev)
tools/install.sh "${packages[@]}"

launcher=()
if command -v ccache >/dev/null; then
  # Precompiled headers need these to be cacheable.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset "$preset" "${launcher[@]}"
cmake --build --preset "$preset" --target "${targets[@]:-all}"
