#!/usr/bin/env bash
# The real window on machines that are not as they should be: two windows in one home, a clock that is
# set while it trains, a home that goes away while it runs, decimal commas, a settings file that is
# damaged or of a newer version. Run as: window_odd.sh path/to/headlight path/to/clock/library;
# HEADLIGHT_HARD=long means more damaged files.
set -u

headlight=${1:?usage: window_odd.sh path/to/headlight path/to/clock/library}
clock=${2:?usage: window_odd.sh path/to/headlight path/to/clock/library}

# shellcheck source=tests/gui/window.sh
source "$(dirname -- "$0")/../gui/window.sh"
runs_dir=$XDG_DATA_HOME/headlight/runs
export MESA_SHADER_CACHE_DIR=$folder/mesa

autosaved() {
  for file in "$autosaves"/*.headlight.json; do
    has_key "$file" sentence "$1" && return 0
  done
  return 1
}
any_autosave() { ls "$autosaves"/*.headlight.json >/dev/null 2>&1; }
a_run_at() {  # STEP or more, in a folder of the runs
  for file in "$runs_dir"/*/train.json; do
    [ -f "$file" ] && python3 -c 'import json, sys
sys.exit(0 if json.load(open(sys.argv[1]))["step"] >= int(sys.argv[2]) else 1)' "$file" "$1" && return 0
  done
  return 1
}
train_some() {
  xdotool key Escape t
  sleep 1
  xdotool key p
}
quit() {
  xdotool key Escape
  xdotool key ctrl+q
  sleep 0.7
  runs && xdotool key ctrl+d               # unsaved work: not saved
  ended
}
all_whole() {
  python3 - "$folder" <<'PYTHON' || fail "a file is not whole"
import json, os, sys
for place, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".json"):
            with open(os.path.join(place, name), encoding="utf-8") as file:
                json.load(file)
        assert not name.startswith(".headlight-"), place + "/" + name
PYTHON
}

# ---- two windows in one home: both type and train, both work is kept apart ----
start --lang en --sentence "one"
first=$pid
first_window=$window
xdotool key ctrl+l End
xdotool type --delay 0 " apple"
start --lang en --sentence "two"
other_pid=$first
xdotool key ctrl+l End
xdotool type --delay 0 " pears"
until_true 25 "the first autosave" autosaved "one apple"
until_true 25 "the second autosave" autosaved "two pears"
train_some
xdotool windowfocus --sync "$first_window"
train_some
both_train() { [ "$(find "$runs_dir" -name train.json 2>/dev/null | wc -l)" = 2 ]; }
until_true 30 "a folder for each of the two runs" both_train
xdotool key ctrl+t                         # a setting of the first, one of the second
xdotool windowfocus --sync "$window"
xdotool key ctrl+g
until_true 25 "the first one's theme" has_key "$settings" theme dark
until_true 25 "the second one's language" has_key "$settings" language zh
quit
pid=$first
other_pid=
window=$first_window
xdotool windowfocus --sync "$window"
quit
all_whole
[ "$(ls "$autosaves" 2>/dev/null | wc -l)" = 0 ] || fail "an autosave is left over"

# ---- the clock is set back an hour and forward a year while it types and trains ----
rm -rf "$folder/config" "$folder/state" "$folder/data"
LD_PRELOAD=$clock HEADLIGHT_CLOCK_JUMPS=4:-3600,7:31536000 start --lang en --sentence "one"
xdotool key ctrl+l End
for n in 1 2 3 4; do
  xdotool type --delay 0 " w$n"
  sleep 2
done
until_true 25 "the autosave after the jumps" autosaved "one w1 w2 w3 w4"
train_some
until_true 30 "a run that goes on" a_run_at 20
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
start --lang en                            # a year earlier again
xdotool key Return                         # Recover
until_true 25 "the text of the year to come" title_is "* Headlight"
quit
all_whole

# ---- the home goes away while it runs: it is made again, and nothing is lost ----
rm -rf "$folder/config" "$folder/state" "$folder/data"
start --lang en --sentence "one"
xdotool key ctrl+l End
xdotool type --delay 0 " apple"
until_true 25 "the autosave" autosaved "one apple"
train_some
until_true 30 "the run" a_run_at 1
xdotool key p
mkdir -p "$folder/config" "$folder/gone"   # the settings may not have been written yet
# Moved, not removed: gone at once, as a disk that is pulled out.
mv "$folder/config" "$folder/state" "$folder/data" "$folder/gone"
xdotool key p ctrl+t
until_true 25 "the settings again" has_key "$settings" theme dark
until_true 25 "the run again" a_run_at 2
until_true 25 "the unsaved work again" any_autosave  # the run's sentence now, not what was typed
rm -rf "$folder/gone"
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
start --lang en
sleep 0.5
any_autosave || fail "nothing to recover"
xdotool key Return
quit

# ---- settings that are damaged are copied, said and written anew ----
damaged=('{ "theme": ' '{"theme": 5, "width": "wide", "zoom": 1e999}')
[ "${HEADLIGHT_HARD:-}" = long ] && damaged+=('' '[]' "$(printf '\001\002\377')")
for text in "${damaged[@]}"; do
  rm -rf "$folder/state" "$folder/data"
  mkdir -p "$(dirname "$settings")"
  printf '%s' "$text" >"$settings"
  start --lang en --sentence "one"
  sleep 0.5
  xdotool key ctrl+t
  until_true 25 "settings that were '$text', anew" has_key "$settings" theme dark
  quit
  [ "$(cat "$settings.broken")" = "$text" ] || fail "no copy of the settings '$text'"
done
# Of a newer version: what it does not know stays there.
printf '{"theme": "light", "of_tomorrow": {"a": [1, 2]}}' >"$settings"
start --lang en --sentence "one"
sleep 0.5
xdotool key ctrl+t
until_true 25 "the theme" has_key "$settings" theme dark
quit
has_key "$settings" of_tomorrow "{'a': [1, 2]}" || fail "a setting of a newer version is gone"

# ---- decimal commas: the session has points ----
if mkdir "$folder/locales" && localedef -i de_DE -f UTF-8 "$folder/locales/de_DE.UTF-8" 2>/dev/null; then
  rm -rf "$folder/config" "$folder/state" "$folder/data"
  printf '#!/bin/sh\nLOCPATH=%s LC_ALL=de_DE.UTF-8 exec %s "$@"\n' "$folder/locales" "$headlight" >"$folder/german"
  chmod +x "$folder/german"
  headlight=$folder/german start --lang en --sentence "one" --temperature 0.5
  xdotool key --delay 0 ctrl+shift+s
  sleep 0.5
  xdotool key ctrl+a
  xdotool type --delay 5 "$folder/german.headlight.json"
  xdotool key Return
  until_true 25 "the session" test -s "$folder/german.headlight.json"
  quit
  has_key "$folder/german.headlight.json" model.temperature 0.5 || fail "the temperature is not 0.5"
  all_whole
else
  echo "without decimal commas: the locale de_DE.UTF-8 cannot be made here"
fi

echo "two windows, jumps of the clock, a home that goes, damaged settings, decimal commas: nothing is lost"
