#!/usr/bin/env bash
# Installs what is missing, builds Headlight and starts it with the arguments that follow.
# Without a display it draws a walk through one sentence into out/ instead.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"

install_missing "$app_packages"
build release headlight
headlight="$root/build/release/headlight"

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
