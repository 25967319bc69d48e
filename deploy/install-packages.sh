#!/usr/bin/env bash
# Installs the Debian packages of deploy/packages.txt that are missing; does nothing, and needs
# neither network nor rights, where all are there.
#
# Usage: deploy/install-packages.sh [SECTION...]     (default: every section of the list)
# Exit code: 0 all are installed, 1 they are not (why, and what to do, is printed), 2 wrong usage.
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

# Ends with the list and the command to give to an administrator.
stop_politely() {
  {
    echo "install-packages: $1. These Debian 12 packages are missing:"
    printf '  %s\n' "${missing[@]}"
    echo "Ask an administrator to run, then start again:"
    echo "  apt-get install --no-install-recommends ${missing[*]}"
  } >&2
  exit 1
}

# Sets `as_root`: the words that go before a command that needs root.
find_root() {
  as_root=()
  if [ "$(id -u)" = 0 ]; then return; fi
  command -v sudo >/dev/null || stop_politely "not root, and sudo is not here"
  if [ -t 0 ]; then as_root=(sudo); else as_root=(sudo -n); fi
  "${as_root[@]}" true || stop_politely "sudo was refused"
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
  [ ${#wanted[@]} -gt 0 ] || wanted=("${known[@]}")
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
  # Lists may be absent or out of date: then, and only then, they are fetched.
  apt install -s --no-install-recommends "${missing[@]}" >/dev/null 2>&1 || apt update ||
    echo "install-packages: apt-get update failed; trying with the lists that are here" >&2
  if ! install_missing; then
    echo "install-packages: once more with fresh lists" >&2
    { apt update && install_missing; } || stop_politely "apt-get failed"
  fi
  mapfile -t missing < <(missing_of "${packages[@]}")
  [ ${#missing[@]} = 0 ] || stop_politely "apt-get ended well, but not all is there"
  echo "install-packages: done"
}

main "$@"
