#!/usr/bin/env bash
# Makes the packages: a .deb for Debian 12 and its like, and an archive that runs from any folder and
# brings its libraries and fonts. For any x86-64 processor, without the tests.
#
#   scripts/package.sh [folder]     (default: out/packages)
#
# Two runs on one state of the sources give the same bytes: dates are those of the last commit, or of
# SOURCE_DATE_EPOCH.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

install_missing "$app_packages" "$package_packages"
out=${1:-$root/out/packages}
mkdir -p -- "$out"
out=$(cd -- "$out" && pwd)
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
umask 022

# Dates are taken while configuring: it is done each time.
rm -f -- "$root/build/package/build.ninja"
build package
folder=$root/build/package
rm -f -- "$folder"/*.deb
(cd -- "$folder" && quietly cpack)
mv -- "$folder"/*.deb "$out/"

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$folder/CMakeCache.txt")
"$root/scripts/archive.sh" "$folder" "$out/headlight-$version-$(uname -m).tar.gz"
say "Made in $out:"
(cd -- "$out" && sha256sum "headlight_${version}_"*.deb "headlight-$version-$(uname -m).tar.gz")
