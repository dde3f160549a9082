#!/usr/bin/env bash
# Makes of a build an archive that runs from any folder: the installed files with what Debian's packages
# would bring, libraries, fonts and their licences.
#
#   scripts/archive.sh path/to/build path/to/headlight-VERSION-x86_64.tar.gz
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"

build=${1:?usage: archive.sh path/to/build path/to/headlight-VERSION-x86_64.tar.gz}
archive=${2:?usage: archive.sh path/to/build path/to/headlight-VERSION-x86_64.tar.gz}
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
name=$(basename -- "$archive" .tar.gz)
share=$stage/$name/share
umask 022
export LC_ALL=C  # one order of names everywhere

cmake --install "$build" --prefix "$stage/$name" >/dev/null
install -s "$build/portable/headlight" "$stage/$name/bin/headlight"

# bring FILE FOLDER: copies a file of a Debian package, which its licence wants to be there too.
licences=$share/doc/headlight/licences
mkdir -p "$stage/$name/lib" "$share/headlight/fonts" "$licences"
bring() {
  local owner
  cp -L -- "$1" "$2/"
  owner=$(dpkg -S -- "$(realpath -- "$1")" | cut -d: -f1)
  cp -L -- "/usr/share/doc/$owner/copyright" "$licences/$owner"
  dpkg-query -W -f="$(basename -- "$1")\t\${Package}\t\${Version}\t\${source:Package}\n" "$owner" >>"$stage/list"
}

# What every desktop has stays out: the C and C++ libraries, X11 and OpenGL, which drivers have to fit, and
# GLib, into which desktops load parts of theirs.
system='^(ld-linux.*|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|GL|EGL|OpenGL|X11|glib-2\.0|gobject-2\.0|gio-2\.0))\.so'
declare -A found
while read -r library path; do found[$library]=$path; done < <(
  ldd "$build/portable/headlight" | awk '$2 == "=>" { print $1, $3 }')
bring_libraries_of() {  # program or library
  local library
  for library in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    if [[ $library =~ $system ]] || [ -e "$stage/$name/lib/$library" ]; then continue; fi
    bring "${found[$library]}" "$stage/$name/lib"
    bring_libraries_of "${found[$library]}"
  done
}
bring_libraries_of "$build/portable/headlight"

# Of the fonts that scripts/setup.sh installs, those that the program asks for by name.
asked=$(grep -ohE '"[^"]+\.(otf|ttf|ttc)"' "$root"/app/ui/kit/*.cpp | tr -d '"' | sort -u)
while read -r font; do
  if grep -qxF "$(basename -- "$font")" <<<"$asked"; then bring "$font" "$share/headlight/fonts"; fi
done < <(sed -n 's/^\(fonts-[a-z-]*\)|.*/\1/p' <<<"$app_packages" | xargs dpkg -L | grep '/usr/share/fonts/')

{ printf 'file\tpackage\tversion\tsource\n'; sort "$stage/list"; } >"$share/doc/headlight/brought.tsv"
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s \
  --mtime="@${SOURCE_DATE_EPOCH:-0}" -C "$stage" -cf - "$name" | gzip -6n >"$archive"
