#!/usr/bin/env bash
# Installs what is missing, builds Headlight and starts it with the arguments that follow.
# Without a display it draws a walk through one sentence into out/ instead.
# ./run.sh --package FILE … does the same with a package, without a compiler (docs/packages.md).
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"

if [ "${1:-}" = --package ]; then
  source "$root/scripts/from_package.sh"
  from_package "${2:-}"
  shift 2
else
  command -v g++ >/dev/null ||
    say "Without a compiler: ./run.sh --package FILE starts a package that was made elsewhere."
  install_missing "$app_packages"
  build release headlight
  headlight="$root/build/release/headlight"
fi

case "${1:-}" in
  '' | *.json) ;;                                      # the window, or a session in it
  --help | -h | --version) exec "$headlight" "$@" ;;
  -*) ;;                                               # the window with options
  *) exec "$headlight" "$@" ;;                         # subcommands need no display
esac
if [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]; then
  exec "$headlight" "$@"
fi
say "There is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)."
say "Drawing a walk through one sentence instead, one PNG picture for each step:"
exec "$headlight" walk --out out "$@"
