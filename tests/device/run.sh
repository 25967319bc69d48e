#!/usr/bin/env bash
# Builds the trainer against the libtorch of this machine's Python, and shows that it computes on a
# CUDA device what it computes on the CPU, and how fast: in at most ten minutes from a fresh checkout,
# on a machine of 16 processors. docs/gpu.md says what it needs.
#
# Usage: tests/device/run.sh [--packages FOLDER] [--work FOLDER] [CHECKS_OPTION...]
#   --packages   Debian packages (.deb) of the libraries that this machine lacks, to be unpacked into
#                the work folder: tests/device/packages.sh collects them elsewhere
#   --work       for all that is made; default build/device
#   the rest     goes to tests/device/checks.py: --help says what
# HALOGRAPH_TORCH_DIR, if set, is the folder of libtorch instead of the Python package's.
# Exit code: 0 all checks passed, 1 some did not, 2 wrong usage or something is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$PWD/build/device
packages=
while :; do
  case ${1:-} in
    --packages) packages=$(realpath "$2"); shift 2 ;;
    --work) work=$(realpath -m "$2"); shift 2 ;;
    *) break ;;
  esac
done
mkdir -p "$work"

torch=${HALOGRAPH_TORCH_DIR:-$(python3 -c 'import torch; print(torch.__path__[0])')} || {
  echo "run.sh: python3 has no torch: install one with CUDA, or set HALOGRAPH_TORCH_DIR" >&2
  exit 2
}

options=()
if [ -n "$packages" ]; then
  root=$work/root
  rm -rf "$root"
  mkdir -p "$root"
  for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$root"; done
  # Debian 12 has /lib within /usr/lib; some packages still say /lib.
  if [ -d "$root/lib" ]; then cp -a "$root/lib/." "$root/usr/lib/" && rm -r "$root/lib"; fi
  lib=$root/usr/lib/$(gcc -dumpmachine)
  options+=(-DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_PREFIX_PATH="$root/usr")
  export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$lib/pkgconfig:$root/usr/share/pkgconfig
  export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} LIBRARY_PATH=$lib
fi

start=$SECONDS
cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHALOGRAPH_TORCH_DIR="$torch" \
  -DHALOGRAPH_REMOTE=OFF -DHALOGRAPH_TESTS=OFF -DHALOGRAPH_BENCH=OFF -DHALOGRAPH_WERROR=OFF \
  "${options[@]}" >"$work/configure.log" 2>&1 || { tail -n 40 "$work/configure.log"; exit 2; }
ninja -C "$work/build" halograph-train halograph-train-torch halograph-partition \
  >"$work/build.log" 2>&1 || { grep -E -A12 'error|FAILED|undefined' "$work/build.log" | head -n 120; exit 2; }
echo "built in $((SECONDS - start)) s"

exec python3 tests/device/checks.py --bin "$work/build/bin" --work "$work" "$@"
