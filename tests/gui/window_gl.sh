#!/usr/bin/env bash
# The GPU backend's tests in a window's context, on a display of their own.
# Run as: window_gl.sh path/to/test_gl_window [doctest options]
# Exit status 77: skipped, with the reason. HEADLIGHT_REQUIRE_WINDOW=1 makes a skip a failure.
set -u

program=${1:?usage: window_gl.sh path/to/test_gl_window}
shift

if ! command -v xvfb-run >/dev/null; then
  echo "SKIPPED: xvfb-run is not installed"
  [ "${HEADLIGHT_REQUIRE_WINDOW:-0}" = 0 ] || exit 1
  exit 77
fi
# A test that finds no window prints so; where windows are required it fails.
export HEADLIGHT_REQUIRE_GL=${HEADLIGHT_REQUIRE_WINDOW:-0}
exec xvfb-run -a -s "-screen 0 640x480x24 -noreset" env -u WAYLAND_DISPLAY "$program" "$@"
