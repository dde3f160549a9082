#!/usr/bin/env bash
# Packages in a clean root: installed or unpacked, started, removed, nothing left. Needs root, debootstrap and
# a mirror of Debian; takes some minutes. Run as:
#
#   tests/hard/package.sh out/packages                  the .deb and the archive in Debian 12
#   tests/hard/package.sh out/packages noble http://archive.ubuntu.com/ubuntu    the archive in another system
#
# Pictures of the window and lists of files stay in out/packages/clean-root-SUITE.
set -euo pipefail

packages=$(realpath -- "${1:?usage: package.sh folder-with-packages [suite mirror]}")
suite=${2:-bookworm}
mirror=${3:-http://deb.debian.org/debian}
source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
root=$(mktemp -d)
log=$packages/clean-root-$suite
mkdir -p -- "$log"
trap 'rm -rf --one-file-system -- "$root"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
# inside COMMAND...: with processes of its own, which end with it.
inside() {
  # shellcheck disable=SC2016
  unshare --mount --pid --fork sh -c \
    'mount -t proc proc "$0/proc" && exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
     PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@"
}
install() { inside apt-get install -qq -y --no-install-recommends "$@" >/dev/null; }
as_user() { inside runuser -u visitor -- env HOME=/home/visitor "$@"; }

# Opens the window on a screen of its own, and draws it without one.
start() {  # PROGRAM
  local out
  as_user "$1" --version
  out=$(as_user xvfb-run -a -s '-screen 0 1440x900x24' "$1" --sentence 'the cat sat' --frames 20 2>&1) ||
    fail "the window of $1: $out"
  printf '%s\n' "$out"
  as_user "$1" screenshot --sentence '猫 the cat 😀' --lang zh --out /home/visitor/window.png
  cp -- "$root/home/visitor/window.png" "$log/$(basename -- "$(dirname -- "$(dirname -- "$1")")").png"
}
# What lies in the root, with the contents of what may change; not what apt, dpkg and man keep for themselves.
listing() {
  (cd -- "$root" && find . -xdev \( -path ./proc -o -path ./var/lib/apt -o -path ./var/cache/apt -o -path ./var/cache/man -o -path ./var/log \
    -o -path ./home -o -path ./tmp -o -path './var/lib/dpkg/*-old' -o -path ./var/cache/ldconfig \) -prune \
    -o -type f -print0 | sort -z | xargs -0 sha256sum; find . -xdev -type d -not -path './proc/*' -not -path './tmp/*' \
    -not -path './home/*' | sort)
}

echo "== a clean $suite"
if [ -n "${HEADLIGHT_CLEAN_ROOT:-}" ]; then  # one that debootstrap made before
  cp -a -- "$HEADLIGHT_CLEAN_ROOT/." "$root/"
else
  script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/gutsy  # what Ubuntu's newer ones go by
  debootstrap --variant=minbase "$suite" "$root" "$mirror" "$script" >"$log/debootstrap.log" ||
    fail "debootstrap: $(tail -n 5 "$log/debootstrap.log")"
fi
if [ "$suite" = noble ]; then sed -i 's/ main$/ main universe/' "$root/etc/apt/sources.list"; fi
inside apt-get update -qq
install xvfb xauth
inside useradd --create-home visitor
mkdir -- "$root/home/visitor/packages"
cp -r -- "$source/run.sh" "$source/scripts" "$root/home/visitor/packages/"
cp -- "$packages"/headlight[_-]*.{deb,tar.gz} "$root/home/visitor/packages/"
deb=$(cd -- "$root/home/visitor/packages" && echo headlight_*.deb)
archive=$(cd -- "$root/home/visitor/packages" && echo headlight-*.tar.gz)
if ! [ -f "$packages/$deb" ] || ! [ -f "$packages/$archive" ]; then
  fail "one .deb and one archive are wanted in $packages"
fi

echo "== the archive, with the system's X11, OpenGL and GLib alone"
install libgl1 libegl1 libglib2.0-0 libx11-6 libstdc++6
inside chown -R visitor: /home/visitor
as_user sh -c "cd /home/visitor/packages && ./run.sh --package $archive --version"
start "/home/visitor/packages/out/${archive%.tar.gz}/bin/headlight"
[ "$suite" = bookworm ] || exit 0

echo "== the .deb"
depends=$(dpkg-deb -f "$packages/$deb" Depends)
inside apt-get satisfy -qq -y --no-install-recommends "$depends" >/dev/null
install shared-mime-info desktop-file-utils man-db
listing >"$log/before"
inside sh -c "cd /home/visitor/packages && ./run.sh --package $deb --version"
start /usr/bin/headlight
inside man -w headlight
inside dpkg --verify headlight
inside grep -q 'application/x-headlight+json:\*.headlight.json' /usr/share/mime/globs2 || fail "no file type"
inside grep -q headlight.desktop /usr/share/applications/mimeinfo.cache || fail "not in the desktop's lists"

echo "== removed and purged"
inside apt-get remove -qq -y headlight >/dev/null
inside dpkg --purge headlight  # apt knows none any more
listing >"$log/after"
diff "$log/before" "$log/after" >"$log/left" || fail "left behind: $(cat "$log/left")"
if inside man -w headlight; then fail "man still knows it"; fi
inside find / -xdev -name '*headlight*' -not -path '/home/*' -not -path '/proc/*' | grep . && fail "left behind"
echo "installed, started, removed, and nothing is left"
