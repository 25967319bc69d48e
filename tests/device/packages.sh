#!/usr/bin/env bash
# Collects the Debian packages of the libraries that the trainer is built with, but for libtorch, for
# a machine that has a CUDA device and no packages: tests/device/run.sh --packages FOLDER.
#
# Usage: tests/device/packages.sh FOLDER     (on Debian 12; needs the network, not root)
set -euo pipefail
[ $# = 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
wanted=(libabsl-dev libfmt-dev libgloo-dev libhwy-dev libmetis-dev libmicrohttpd-dev librocksdb-dev libspdlog-dev
        libxxhash-dev libyaml-cpp-dev nlohmann-json3-dev
        prometheus-cpp-dev zlib1g-dev)
# The libraries behind the headers, and what they need in turn; not the C and C++ libraries.
mapfile -t needed < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances "${wanted[@]}" | grep -E '^lib|^zlib' | sort -u |
  grep -E '^(libabsl|libfmt|libhwy|libmetis|libmicrohttpd|librocksdb|libspdlog|libxxhash|libyaml-cpp|libprometheus-cpp-core|libgflags|libsnappy|liblz4|libzstd|libbz2|zlib1g|libgnutls|libp11-kit|libidn2|libunistring|libtasn1|libnettle|libhogweed|libgmp|libffi)' |
  grep -v -E ':(i386|arm64)|-(doc|dbg|tools|bin)$')
apt-get download -q "${wanted[@]}" "${needed[@]}"
