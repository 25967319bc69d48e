#!/usr/bin/env bash
# Configures a CMake preset if that was not done yet, then builds it.
#
# Usage: deploy/build.sh PRESET [-DNAME=VALUE...] [TARGET...]     (default: every target)
#   -D...   sets a CMake variable; without any, a configured build folder stays as it is
# Builds into build/PRESET, with as many compilers at once as cores and memory allow.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -ge 1 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
preset=$1
shift
definitions=()
targets=()
for argument in "$@"; do
  case $argument in
    -D*) definitions+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done

# A source that includes libtorch takes up to 1.8 GB to compile.
by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1800000) }' /proc/meminfo)
jobs=$(nproc)
if [ "$by_memory" -lt "$jobs" ]; then jobs=$by_memory; fi
if [ "$jobs" -lt 1 ]; then jobs=1; fi

if [ ! -f "build/$preset/build.ninja" ] || [ ${#definitions[@]} -gt 0 ]; then
  cmake --preset "$preset" "${definitions[@]}" --log-level=WARNING
fi
if [ ${#targets[@]} -gt 0 ]; then targets=(--target "${targets[@]}"); fi
cmake --build "build/$preset" -j "$jobs" "${targets[@]}"
