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

package_tools='
dpkg-dev|dpkg-shlibdeps|finds what a package depends on
file|file|what cpack looks at files with
gzip|gzip|packs the manual page
'
install_missing "$app_packages" "$package_tools"

out=${1:-$root/out/packages}
mkdir -p "$out"
out=$(cd -- "$out" && pwd)
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH
umask 022

cmake --preset package -S "$root" >&2
cmake --build "$root/build/package" --parallel "$jobs" --target headlight headlight_portable \
  package_texts >&2
build=$root/build/package

# ---- .deb
rm -rf "$build/_CPack_Packages" "$build"/*.deb
(cd -- "$build" && cpack -G DEB >&2)
deb=$(find "$build" -maxdepth 1 -name '*.deb')

# ---- archive: the same files, with what Debian's packages would bring
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=headlight-$version-$(uname -m)
stage=$build/archive
rm -rf "$stage"
cmake --install "$build" --prefix "$stage/$name" >&2
install -s "$build/portable/headlight" "$stage/$name/bin/headlight"
mkdir -p "$stage/$name/lib" "$stage/$name/share/headlight/fonts"
# What every desktop has and has to fit its drivers stays out.
system='^(ld-linux.*|linux-vdso|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|GL|EGL|GLX|OpenGL|GLdispatch|X11|xcb|Xau|Xdmcp|bsd|md))\.so'
ldd "$build/portable/headlight" | awk '$2 == "=>" { print $1, $3 }' |
  while read -r library path; do
    [[ $library =~ $system ]] || cp -L "$path" "$stage/$name/lib/$library"
  done
fonts='opentype/inter/Inter-Regular.otf opentype/inter/Inter-Medium.otf opentype/inter/Inter-Bold.otf
opentype/inter/Inter-SemiBoldItalic.otf truetype/jetbrains-mono/JetBrainsMono-Regular.ttf
opentype/noto/NotoSansCJK-Regular.ttc opentype/noto/NotoSansCJK-Bold.ttc truetype/dejavu/DejaVuSans.ttf
truetype/dejavu/DejaVuSansMono.ttf'
for font in $fonts; do
  [ ! -f "/usr/share/fonts/$font" ] || cp "/usr/share/fonts/$font" "$stage/$name/share/headlight/fonts/"
done
archive=$out/$name.tar.gz
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$stage" \
  -cf - "$name" | gzip -9n >"$archive"
cp "$deb" "$out/"
say "Made:"
(cd -- "$out" && sha256sum "$(basename "$deb")" "$(basename "$archive")")
