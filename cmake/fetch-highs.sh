#!/bin/sh
# Builds HiGHS, which the distribution does not have, and installs it with its
# CMake package:
#
#   cmake/fetch-highs.sh PREFIX
#
# HiGHS's C++ library is part of the source release of the Python package
# highspy, so the package client that every Python has is all that is needed.
# (Its binary release is there within a second, but has no headers and exists
# for some versions of Python only; the source builds in two minutes, once.)
# HIGHS_SOURCE=ARCHIVE.tar.gz takes a source release at hand instead.
set -eu

version=1.15.1
prefix=${1:?usage: fetch-highs.sh PREFIX}
python=${PYTHON:-python3}
jobs=${HIGHS_JOBS:-$(nproc)}

# Configuring twice, or twice at a time, builds once.
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
exec 9> "$prefix/.lock"
flock 9
if [ -f "$prefix/lib/cmake/highs/highs-config.cmake" ]; then
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${HIGHS_SOURCE:-}" ]; then
  cp "$HIGHS_SOURCE" "$work/"
else
  "$python" -m pip --disable-pip-version-check -q download --no-deps \
    --no-binary highspy "highspy==$version" --dest "$work"
fi
tar -xzf "$work"/*.tar.gz -C "$work"
source=$(echo "$work"/highspy-*/)

# The source release leaves out two files that its CMake files mention.
mkdir -p "$source/app"
touch "$source/highs.pc.in" "$source/app/CMakeLists.txt"

cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
  -DBUILD_CXX_EXE=OFF -DBUILD_TESTING=OFF -DBUILD_EXAMPLES=OFF -DZLIB=OFF
cmake --build "$work/build" --parallel "$jobs"
cmake --install "$work/build"
