#!/usr/bin/env bash
# Builds the Python package as one wheel for Linux on x86-64, with all in it
# that it needs beside Python and the C library:
#
#   tools/wheel.sh [DIR]
#
# DIR, where the wheel comes to lie, is build-wheel/dist if it is not given.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build-wheel/dist}")

tools/install.sh libzstd-dev zlib1g-dev
tools/setup.sh --preset=wheel Remat

stage=build-wheel/python
rm -rf "$stage"
mkdir -p "$stage/remat/licenses" "$out"
cp -r tools/python/pyproject.toml tools/python/remat "$stage"
find "$stage" -name __pycache__ -prune -exec rm -r {} +
library=build-wheel/lib/libRemat.so
llvm-strip-22 -o "$stage/remat/libRemat.so" "$library"
cp docs/LICENSE.TXT "$stage/remat/licenses/remat"

# oneDNN and what it needs. The libraries of C and C++ are everywhere.
ldd "$library" | sed -n 's/^\t\(lib\(dnnl\|gomp\|OpenCL\)[^ ]*\) => \([^ ]*\).*/\1 \3/p' |
  while read -r name path; do
    cp -L "$path" "$stage/remat/$name"
    package=$(dpkg-query -S "$(realpath "$path")" | cut -d: -f1 | head -n 1)
    cp "/usr/share/doc/$package/copyright" "$stage/remat/licenses/$package"
  done

# The code is the same for every Python, the library is not for every machine.
printf '[bdist_wheel]\nplat_name = linux_x86_64\n' > "$stage/setup.cfg"
python3 -m pip wheel --quiet --no-deps --wheel-dir "$out" "$stage"
ls -l "$out"/remat-*.whl
