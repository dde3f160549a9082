#!/usr/bin/env bash
# The real window with a model that was trained in it: saved, closed and opened again; killed and
# recovered; its folder moved. Each time the session shows the weights that it was saved with.
# Run as: window_trained.sh path/to/headlight
# Exit status 77: skipped, with the reason. HEADLIGHT_REQUIRE_WINDOW=1 makes a skip a failure.
set -u

headlight=${1:?usage: window_trained.sh path/to/headlight}

fail() {
  echo "FAILED: $*" >&2
  [ -s "${log:-}" ] && sed 's/^/  headlight: /' "$log" >&2
  [ -d "${folder:-}" ] && find "$folder" -type f >&2
  [ -s "${settings:-}" ] && cat "$settings" >&2
  exit 1
}

skip() {
  [ "${HEADLIGHT_REQUIRE_WINDOW:-0}" = 0 ] || fail "$* (a window is required here)"
  echo "SKIPPED: $*"
  exit 77
}

if [ "${HEADLIGHT_UNDER_XVFB:-}" != 1 ]; then
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
clean_up() {
  [ -n "$pid" ] && kill "$pid" 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT

until_true() {  # SECONDS WHAT command...
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
key_of() {  # FILE KEY
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1], encoding="utf-8")).get(sys.argv[2], ""))' "$@"
}
has_sentence() { [ -f "$1" ] && [ "$(key_of "$1" sentence)" = "$2" ]; }
ends_in() { [ -f "$1" ] && [[ "$(key_of "$1" sentence)" == *"$2" ]]; }
autosave_of_run() {  # its weights are on the disk
  for file in "$autosaves"/*.headlight.json; do
    [ -f "$file" ] && [ -f "$(key_of "$file" trained_model)/config.json" ] && return 0
  done
  return 1
}
# What the session shows on the command line: that its weights are there.
shows() { "$headlight" trace --session "$1" --out "$folder/run.npz" >>"$log" 2>&1; }
some_steps() {
  xdotool key t
  sleep 1.5
  for _ in 1 2 3 4; do
    xdotool key n
    sleep 0.4
  done
}
save_as() {
  xdotool key --delay 0 ctrl+shift+s
  sleep 0.5
  xdotool key ctrl+a
  xdotool type --delay 5 "$1"
  xdotool key Return
  until_true 25 "the session $1" test -f "$1"
}

# ---- train, save, quit, open ----
mine=$folder/mine.headlight.json
start --lang en
some_steps
save_as "$mine"
[ "$(key_of "$mine" trained_model)" = mine ] || fail "it names $(key_of "$mine" trained_model)"
shows "$mine" || fail "the saved session cannot be shown"
cp "$folder/run.npz" "$folder/first.npz"
xdotool key ctrl+q
ended
runs_dir=$XDG_DATA_HOME/headlight/runs
[ "$(ls "$runs_dir" | wc -l)" = 1 ] || fail "the run was not kept at the end"
start "$mine"
until_true 25 "the open session in the title" title_is "mine.headlight.json - Headlight"
xdotool key m                             # with a question in the way this would go nowhere
xdotool key ctrl+s
until_true 25 "the mask in the session" has_key "$mine" model.mask.kind none
xdotool key m
xdotool key ctrl+s
until_true 25 "the mask back again" has_key "$mine" model.mask.kind causal
[ "$(key_of "$mine" trained_model)" = mine ] || fail "the name of the weights was lost"
xdotool key ctrl+q
ended
shows "$mine" || fail "the session that was opened and saved again cannot be shown"
cmp -s "$folder/run.npz" "$folder/first.npz" || fail "its numbers are others"

# ---- the folder is elsewhere: asked for, and found ----
mv "$folder/mine" "$folder/moved"
start "$mine"
sleep 0.5
xdotool key Return                        # Find…
sleep 0.5
xdotool key ctrl+a
xdotool type --delay 5 "$folder/moved"
xdotool key Return
until_true 25 "a change of the session" title_is "* mine.headlight.json - Headlight"
xdotool key ctrl+s
until_true 25 "the new name" has_key "$mine" trained_model moved
xdotool key ctrl+q
ended
shows "$mine" || fail "the session with the folder that was found cannot be shown"

# ---- killed: the sentence comes back with the run's own weights ----
start
some_steps
until_true 25 "the autosave with its weights" autosave_of_run
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
start
xdotool key d                             # a sentence may begin so: nothing is thrown away
sleep 0.5
ls "$autosaves"/*.headlight.json >/dev/null 2>&1 || fail "one letter has discarded the work"
xdotool key Return                        # Recover
until_true 25 "an unsaved document in the title" title_is "* Headlight"
again=$folder/again.headlight.json
save_as "$again"
until_true 25 "the weights beside it" has_key "$again" trained_model again
xdotool key ctrl+q
ended
shows "$again" || fail "the recovered session cannot be shown"

echo "a session of a trained model opens again after saving, moving and kill -9"
