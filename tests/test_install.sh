#!/usr/bin/env bash
# Installs into a folder of its own and runs what is there.
# Run as: test_install.sh path/to/cmake path/to/build
set -u

cmake=${1:?usage: test_install.sh path/to/cmake path/to/build}
build=${2:?usage: test_install.sh path/to/cmake path/to/build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix="$folder/a prefix"

fail() {
  echo "FAILED: $*" >&2
  [ -s "$folder/log" ] && sed 's/^/  /' "$folder/log" >&2
  exit 1
}

"$cmake" --install "$build" --prefix "$prefix" >"$folder/log" 2>&1 || fail "cmake --install"
for file in bin/headlight share/applications/headlight.desktop share/mime/packages/headlight.xml \
  share/icons/hicolor/scalable/apps/headlight.svg share/icons/hicolor/256x256/apps/headlight.png \
  share/doc/headlight/copyright share/doc/headlight/dependencies.md share/man/man1/headlight.1.gz \
  share/metainfo/*.headlight.metainfo.xml; do
  compgen -G "$prefix/$file" >/dev/null || fail "$file was not installed"
done

# It needs nothing from the build or the source folder.
headlight=$prefix/bin/headlight
cd "$folder" || fail "no folder"
"$headlight" --version >"$folder/log" 2>&1 || fail "--version ends with status $?"
grep -q '^headlight [0-9]' "$folder/log" || fail "--version does not say the version"
"$headlight" trace --sentence "the cat sat" --out run.json >"$folder/log" 2>&1 ||
  fail "trace ends with status $?"
grep -q 'blocks.0.attn.pattern' run.json || fail "the trace lacks the pattern"
if readelf -d "$headlight" 2>/dev/null | grep -E 'RPATH|RUNPATH' | grep -q "$build"; then
  fail "the program looks for libraries in the build folder"
fi

# ---- what the desktop reads ----
entry=$prefix/share/applications/headlight.desktop
for line in 'Type=Application' 'Exec=headlight %f' 'Icon=headlight' \
  'MimeType=application/x-headlight+json;'; do
  grep -qxF "$line" "$entry" || fail "the desktop file lacks: $line"
done
if command -v desktop-file-validate >/dev/null; then
  desktop-file-validate "$entry" >"$folder/log" 2>&1 || fail "desktop-file-validate"
  [ -s "$folder/log" ] && fail "desktop-file-validate has something to say"
else
  echo "desktop-file-validate is not installed: the desktop file's lines were looked at only"
fi
if command -v xmllint >/dev/null; then
  xmllint --noout "$prefix/share/mime/packages/headlight.xml" \
    "$prefix/share/icons/hicolor/scalable/apps/headlight.svg" 2>"$folder/log" || fail "xmllint"
fi
if command -v update-mime-database >/dev/null; then
  update-mime-database "$prefix/share/mime" >"$folder/log" 2>&1 || fail "update-mime-database"
  grep -q 'application/x-headlight+json:\*.headlight.json' "$prefix/share/mime/globs2" ||
    fail "*.headlight.json has no type"
fi
echo "installs, runs from there, and the desktop's files are in order"
