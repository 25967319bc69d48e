#!/usr/bin/env bash
# Installs what is missing, builds the release and runs every test.
#
# Usage: tests/run.sh [CTEST_OPTION...]     such as -L unit, or -R Sampler
# Tests on real graphs need HALOGRAPH_DATA, a folder of data sets; without it they skip, saying so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

./deploy/install-packages.sh
./deploy/build.sh release -DHALOGRAPH_TESTS=ON
exec ctest --test-dir build/release --parallel 2 --output-on-failure --no-tests=error "$@" </dev/null
