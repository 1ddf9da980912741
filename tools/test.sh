#!/usr/bin/env bash
# Checks how the sources look, builds everything, and runs all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/check.sh format includes
tools/setup.sh
# What setup.sh installs for tests: reports are opened in a browser.
REMAT_TEST_NEEDS=chromium ctest --preset dev -j "$(nproc)"
