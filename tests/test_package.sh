#!/usr/bin/env bash
# Makes the packages of a build and looks at what is in them.
# Run as: test_package.sh path/to/cmake path/to/build path/to/source
set -u

usage='usage: test_package.sh path/to/cmake path/to/build path/to/source'
cmake=${1:?$usage}
build=${2:?$usage}
source=${3:?$usage}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SOURCE_DATE_EPOCH=1700000000

fail() {
  echo "FAILED: $*" >&2
  [ -s "$folder/log" ] && sed 's/^/  /' "$folder/log" >&2
  exit 1
}
run() { "$@" >"$folder/log" 2>&1 || fail "$*"; }
same() {  # WHAT EXPECTED GOT, both files
  diff "$2" "$3" >"$folder/log" || fail "$1: expected <, got >"
}
has() {  # WHERE LINE: a regular expression for a whole line
  grep -qxE "$2" "$folder/$1" || fail "$1 lacks: $2"
}
for tool in dpkg-deb dpkg-shlibdeps file gzip readelf; do
  command -v "$tool" >/dev/null && continue
  echo "$tool is not installed: packages cannot be made here"
  exit 77
done

# ---- one version ----
version=$(sed -n 's/^project(headlight VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")
[ -n "$version" ] || fail "CMakeLists.txt says no version"
[ "$("$build/headlight" --version)" = "headlight $version" ] || fail "--version does not say $version"
(cd "$source" && grep -rnF "\"$version\"" --include='*.json' --include='*.in' --include='*.cmake' \
  --include='*.sh' --include='*.h' --include='*.cpp' vcpkg.json assets/desktop cmake scripts app core) \
  >"$folder/log" && fail "the version stands in a second place"

# ---- the Debian package, twice: the same bytes ----
make_deb() {  # FOLDER
  mkdir "$folder/$1"
  run "$(dirname "$cmake")/cpack" --config "$build/CPackConfig.cmake" -B "$folder/$1" \
    -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip  # takes a tenth of xz's time
}
make_deb once
make_deb again
deb=$(echo "$folder"/once/headlight_"$version"_*.deb)
[ -s "$deb" ] || fail "no headlight_${version}_ARCHITECTURE.deb was made"
cmp "$deb" "$folder/again/$(basename "$deb")" || fail "two .deb of one build differ"

run dpkg-deb -e "$deb" "$folder/control"
has control/control "Package: headlight"
has control/control "Version: $version"
has control/control "Architecture: $(dpkg --print-architecture)"
has control/control "Section: education"
has control/control "Maintainer: [^<]+ <[^@]+@[^@]+>"
has control/control "Description: see every number of a transformer as you type"
tr ',' '\n' < <(sed -n 's/^Depends: //p' "$folder/control/control") | awk '{ print $1 }' >"$folder/depends"
for package in libc6 'libstdc\+\+6' 'libicu[0-9]+' libglfw3 libepoxy0 'libglib2\.0-0(t64)?' libgl1 libegl1 \
  fonts-inter fonts-jetbrains-mono fonts-noto-cjk fonts-dejavu-core; do
  has depends "$package"
done
# Each stands in the list of libraries and licences.
grep '^|' "$source/docs/dependencies.md" | cut -d'|' -f3 | tr ',' '\n' | tr -d ' ' >"$folder/listed"
listed() { grep -qxF "$1" "$folder/listed" || fail "docs/dependencies.md lacks $1"; }
while read -r package; do listed "$package"; done <"$folder/depends"

# ---- its files ----
run dpkg-deb -x "$deb" "$folder/root"
licences=$(sed -nE 's/^\|[^|]*\| ([a-z0-9-]+) .*\| (linked|compiled) in.*/usr\/share\/doc\/headlight\/licences\/\1/p' \
  "$source/docs/dependencies.md")
sort >"$folder/expected" <<END
usr/bin/headlight
usr/share/applications/headlight.desktop
usr/share/doc/headlight/changelog.gz
usr/share/doc/headlight/copyright
usr/share/doc/headlight/dependencies.md
usr/share/icons/hicolor/256x256/apps/headlight.png
usr/share/icons/hicolor/scalable/apps/headlight.svg
usr/share/man/man1/headlight.1.gz
usr/share/metainfo/HOST.headlight.metainfo.xml
usr/share/mime/packages/headlight.xml
$licences
END
(cd "$folder/root" && find . -type f -size +0 -printf '%P\n') |
  sed -E 's,metainfo/[^/]+(\.headlight\.metainfo\.xml),metainfo/HOST\1,' | sort >"$folder/files"
same "files of the .deb" "$folder/expected" "$folder/files"
dpkg-deb -c "$deb" | awk '{ print $1, $2 }' | sort -u >"$folder/modes"
printf '%s\n' '-rw-r--r-- root/root' '-rwxr-xr-x root/root' 'drwxr-xr-x root/root' >"$folder/expected"
same "owners and modes" "$folder/expected" "$folder/modes"
run env -C "$folder/root" md5sum --quiet -c "$folder/control/md5sums"
"$build/headlight" man >"$folder/expected"
gzip -dc "$folder/root/usr/share/man/man1/headlight.1.gz" >"$folder/page"
same "the manual page" "$folder/expected" "$folder/page"
if readelf -S "$folder/root/usr/bin/headlight" | grep -q '\.symtab'; then fail "symbols are still there"; fi

# ---- what others say of it, where they are installed ----
if command -v lintian >/dev/null; then
  run lintian --fail-on error --tag-display-limit 0 "$deb"
else
  echo "lintian is not installed: it was not asked"
fi
for homepage in "" https://headlight.test/page; do
  rm -rf "$folder/metainfo"
  run "$cmake" -DPROJECT_VERSION="$version" -DHEADLIGHT_DATE=2023-11-14 -DHEADLIGHT_HOMEPAGE="$homepage" \
    -DMETAINFO_FOLDER="$folder/metainfo" -P "$source/cmake/metainfo.cmake"
  grep -q "<release version=\"$version\" date=\"2023-11-14\"/>" "$folder"/metainfo/*.xml || fail "no release"
  addresses=$(grep -cE "<(url|image)[^>]*>${homepage:-.*}" "$folder"/metainfo/*.xml)
  [ "$addresses" -eq "$([ -n "$homepage" ] && echo 4 || echo 0)" ] || fail "$addresses addresses with '$homepage'"
  if command -v appstreamcli >/dev/null; then run appstreamcli validate --no-net "$folder"/metainfo/*.xml; fi
done
grep -oE 'screenshots/[a-z-]+\.png' "$source/assets/desktop/headlight.metainfo.xml.in" >"$folder/pictures"
while read -r picture; do
  [ -s "$source/assets/$picture" ] || fail "metadata names assets/$picture, which is not there"
done <"$folder/pictures"

# ---- the archive, unpacked and started by run.sh from a copy of what it needs ----
name=headlight-$version-$(uname -m)
run "$source/scripts/archive.sh" "$build" "$folder/$name.tar.gz"
tar --full-time --utc -tvf "$folder/$name.tar.gz" | awk '{ print $2, $4, $5 }' | sort -u >"$folder/dates"
echo '0/0 2023-11-14 22:13:20' >"$folder/expected"
same "owners and dates of the archive" "$folder/expected" "$folder/dates"
mkdir "$folder/a copy"
cp -r "$source/run.sh" "$source/scripts" "$folder/a copy/"
cp "$folder/$name.tar.gz" "$folder/$name (1).tar.gz"  # as a browser names what it has got twice
start() { "$folder/a copy/run.sh" --package "$folder/$name (1).tar.gz" "$@"; }
[ "$(start --version)" = "headlight $version" ] || fail "run.sh --package ARCHIVE --version"
program="$folder/a copy/out/$name/bin/headlight"
ldd "$program" | grep -vE 'linux-vdso|ld-linux' >"$folder/libraries"
grep -q 'not found' "$folder/libraries" && fail "a library is missing: $(cat "$folder/libraries")"
for library in icuuc icui18n icudata glfw epoxy stb; do
  grep -qE "lib$library\.so\S* => $folder/a copy/out/$name/.*" "$folder/libraries" || fail "lib$library is not its own"
done
papers="$(dirname "$program")/../share/doc/headlight"
tail -n +2 "$papers/brought.tsv" >"$folder/brought"
while read -r file package _; do
  [ -s "$papers/licences/$package" ] || fail "$file came without the licence of $package"
  listed "$package"
done <"$folder/brought"

# Its fonts come before the system's: with another font in a name's place the picture is another one.
fonts="$(dirname "$program")/../share/headlight/fonts"
picture() { run "$1" screenshot --sentence "the cat" --size 640x400 --out "$folder/$2.png"; }
picture "$build/headlight" system
picture "$program" own
cmp -s "$folder/system.png" "$folder/own.png" || fail "the archive draws other letters than the system's fonts"
cp "$fonts/DejaVuSansMono.ttf" "$fonts/Inter-Regular.otf"
picture "$program" other
cmp -s "$folder/own.png" "$folder/other.png" && fail "the fonts of the archive are not read"
echo "the packages have what they should, and nothing else"
