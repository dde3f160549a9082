#!/usr/bin/env bash
# The real window with a model that was trained in it: saved, closed and opened again; killed and
# recovered; its folder moved. Each time the session shows the weights that it was saved with.
# Run as: window_trained.sh path/to/headlight
set -u

headlight=${1:?usage: window_trained.sh path/to/headlight}

# shellcheck source=tests/gui/window.sh
source "$(dirname -- "$0")/window.sh"

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
