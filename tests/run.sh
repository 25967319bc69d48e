#!/usr/bin/env bash
# Installs what is missing, builds the release and runs every test.
#
# Usage: tests/run.sh [--built] [--long] [CTEST_OPTION...]     such as -L unit, or -R Sampler
#   --built   runs the tests of the release as it was built last
#   --long    runs the tests labelled long, which are left out otherwise
# Tests on real graphs need HALOGRAPH_DATA, a folder of data sets; without it they skip, and are
# listed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

list_skipped() {
  local skipped
  skipped=$(sed -n -e 's/^\(.*\) \.\.\. skipped \(.*\)$/  \1: \2/p' \
    -e 's/^\[  SKIPPED \] \(.*\) (.*ms)$/  \1/p' build/release/Testing/Temporary/LastTest.log)
  if [ -n "$skipped" ]; then printf 'Skipped cases:\n%s\n' "$skipped"; fi
}

built=
tests=()
while :; do
  case ${1:-} in
    --built) built=yes ;;
    --long) tests=(-C long -L '^long$') ;;
    *) break ;;
  esac
  shift
done
if [ -z "$built" ]; then
  ./deploy/install-packages.sh
  ./deploy/build.sh release -DHALOGRAPH_TESTS=ON
fi
code=0
ctest --test-dir build/release --parallel 2 --output-on-failure --no-tests=error \
  "${tests[@]}" "$@" </dev/null || code=$?
list_skipped
exit "$code"
