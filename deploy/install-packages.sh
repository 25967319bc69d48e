#!/usr/bin/env bash
# Installs the Debian packages of deploy/packages.txt that are missing. If all are installed, it does
# nothing and needs neither network nor root.
#
# Usage: deploy/install-packages.sh [SECTION...]     (default: every section but [operations])
# Exit code: 0 all are installed, 1 some are not (the script says why and what to do), 2 wrong usage.
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/packages.txt"

sections() { sed -n 's/^\[\([a-z]*\)\].*/\1/p' "$list"; }

# Prints the packages of the sections given, one a line.
packages_of() {
  local section
  for section in "$@"; do
    sed -e 's/ *#.*//' -e '/^$/d' "$list" |
      awk -v wanted="[$section]" '/^\[/ { inside = ($0 == wanted); next } inside'
  done
}

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {
  local package
  for package in "$@"; do
    installed "$package" || echo "$package"
  done
}

# Prints the missing packages and the command that an administrator can run, and exits with 1.
stop_politely() {
  {
    echo "install-packages: $1. These Debian 12 packages are missing:"
    printf '  %s\n' "${missing[@]}"
    echo "Ask an administrator to run this command, then start again:"
    echo "  apt-get install --no-install-recommends ${missing[*]}"
  } >&2
  exit 1
}

# Sets `as_root` to the words that go before a command that needs root.
find_root() {
  as_root=()
  if [ "$(id -u)" = 0 ]; then return; fi
  command -v sudo >/dev/null || stop_politely "this user is not root, and sudo is not installed"
  if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
  "${as_root[@]}" true || stop_politely "sudo failed"
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get -qq -o DPkg::Lock::Timeout=120 \
    -o Dpkg::Use-Pty=0 "$@" </dev/null
}

install_missing() {
  apt install -y --no-install-recommends "${missing[@]}" >/dev/null
}

main() {
  local section known wanted=("$@") packages
  mapfile -t known < <(sections)
  if [ ${#wanted[@]} = 0 ]; then
    for section in "${known[@]}"; do
      [ "$section" = operations ] || wanted+=("$section")
    done
  fi
  for section in "${wanted[@]}"; do
    if [[ " ${known[*]} " != *" $section "* ]]; then
      echo "install-packages: no section '$section'; there are: ${known[*]}" >&2
      exit 2
    fi
  done
  mapfile -t packages < <(packages_of "${wanted[@]}")
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    missing=("${packages[@]}")
    stop_politely "this is not a Debian system (no dpkg-query or apt-get)"
  fi
  mapfile -t missing < <(missing_of "${packages[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0

  find_root
  echo "install-packages: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
  # Fetches the package lists only if they are missing or out of date.
  apt install -s --no-install-recommends "${missing[@]}" >/dev/null 2>&1 || apt update ||
    echo "install-packages: apt-get update failed; trying with the package lists on this machine" >&2
  if ! install_missing; then
    echo "install-packages: trying again with fresh package lists" >&2
    { apt update && install_missing; } || stop_politely "apt-get failed"
  fi
  mapfile -t missing < <(missing_of "${packages[@]}")
  [ ${#missing[@]} = 0 ] || stop_politely "apt-get succeeded, but packages are still missing"
  echo "install-packages: done"
}

main "$@"
