# shellcheck shell=bash disable=SC2034
# What the tests of the real window share. Sourced after $headlight is set; it starts the script
# again under a display of its own, in a home of its own; a function without_display runs before.
# Exit status 77: skipped, with the reason. HEADLIGHT_REQUIRE_WINDOW=1 makes a skip a failure.

fail() {
  echo "FAILED: $*" >&2
  [ -s "${log:-}" ] && sed 's/^/  headlight: /' "$log" >&2
  [ -d "${folder:-}" ] && find "$folder" -type f -not -path "*/.cache/*" >&2
  [ -s "${settings:-}" ] && cat "$settings" >&2
  [ -s "${mine:-}" ] && grep -m 1 sentence "$mine" >&2
  exit 1
}

skip() {
  [ "${HEADLIGHT_REQUIRE_WINDOW:-0}" = 0 ] || fail "$* (a window is required here)"
  echo "SKIPPED: $*"
  exit 77
}

if [ "${HEADLIGHT_UNDER_XVFB:-}" != 1 ]; then
  declare -F without_display >/dev/null && without_display
  for tool in xvfb-run xdotool python3; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
  HEADLIGHT_UNDER_XVFB=1 exec xvfb-run -a -s "-screen 0 1600x1000x24 -noreset" "$0" "$@"
fi

export HEADLIGHT_OWN_DIALOGS=1  # whatever is installed here
folder=$(mktemp -d)
log=$folder/log
export HOME=$folder/home XDG_CONFIG_HOME=$folder/config XDG_STATE_HOME=$folder/state XDG_DATA_HOME=$folder/data
settings=$XDG_CONFIG_HOME/headlight/settings.json
autosaves=$XDG_STATE_HOME/headlight/autosave
pid=
other_pid=
clean_up() {
  [ -n "$pid" ] && kill "$pid" 2>/dev/null
  [ -n "$other_pid" ] && kill "$other_pid" 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT

# until_true SECONDS WHAT command...: runs the command until it succeeds.
until_true() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "waited too long for: $what"
    sleep 0.05
  done
}
find_window() {
  window=$(xdotool search --all --onlyvisible --pid "$pid" --name "Headlight" 2>/dev/null | head -n 1)
  [ -n "$window" ]
}
title_is() { [ "$(xdotool getwindowname "$window" 2>/dev/null)" = "$1" ]; }
title_starts() { case $(xdotool getwindowname "$window" 2>/dev/null) in "$1"*) ;; *) false ;; esac; }
runs() { kill -0 "$pid" 2>/dev/null; }
gone() { ! runs; }
start() {
  "$headlight" "$@" >"$log" 2>&1 &
  pid=$!
  until_true 30 "a window" find_window
  xdotool windowfocus --sync "$window" 2>/dev/null
}
ended() {
  until_true 25 "the end of headlight" gone
  { wait "$pid"; } 2>/dev/null
  status=$?
  pid=
  [ "$status" = 0 ] || fail "it ends with status $status"
}
has_key() {  # FILE KEY VALUE
  [ -f "$1" ] && python3 - "$@" <<'PYTHON'
import json, sys
value = json.load(open(sys.argv[1], encoding="utf-8"))
for key in sys.argv[2].split("."):
    value = value[key]
sys.exit(0 if str(value) == sys.argv[3] else 1)
PYTHON
}
