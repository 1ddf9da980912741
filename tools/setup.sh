#!/usr/bin/env bash
# Installs what remat builds with on Debian 12, configures and builds:
#
#   tools/setup.sh [TARGET...]      default: everything
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  ca-certificates cmake ninja-build python3 python3-pip
  g++ clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libdnnl-dev libgtest-dev libzstd-dev zlib1g-dev libxml2-dev libedit-dev
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
    grep -q '^install ok installed$' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  "${root[@]}" apt-get update -q
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -qy \
    --no-install-recommends "${missing[@]}"
fi

launcher=()
if command -v ccache >/dev/null; then
  # Precompiled headers need these to be cacheable.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset default "${launcher[@]}"
cmake --build build --target "${@:-all}"
