#!/usr/bin/env bash
# The real window, killed and started again: the text comes back, and so do size, theme and
# language. Then the questions before closing, two windows on one session, the palette.
# Run as: window_recovery.sh path/to/headlight
set -u

headlight=${1:?usage: window_recovery.sh path/to/headlight}

# shellcheck source=tests/gui/window.sh
source "$(dirname -- "$0")/window.sh"

autosaved() {
  for file in "$autosaves"/*.headlight.json; do
    has_key "$file" sentence "$1" && return 0
  done
  return 1
}
no_autosave() { ! ls "$autosaves"/*.headlight.json >/dev/null 2>&1; }
size_is() {
  eval "$(xdotool getwindowgeometry --shell "$window")"
  [ "$WIDTH"x"$HEIGHT" = "$1" ]
}
type_at_end() {  # as fast as keys can be sent: none may be lost or come too early
  xdotool key --delay 0 ctrl+l End
  xdotool type --delay 0 "$1"
}

# ---- type, change how things look, die ----
start --sentence "the cat sat"
xdotool key ctrl+t
xdotool key ctrl+g
xdotool windowsize --sync "$window" 1100 700
type_at_end " on mats"
until_true 25 "the autosave" autosaved "the cat sat on mats"
until_true 25 "the settings" has_key "$settings" language zh
until_true 25 "the size in the settings" has_key "$settings" width 1100
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
autosaved "the cat sat on mats" || fail "the autosave did not outlive the program"

# ---- start again: everything is as it was, and the text is on offer ----
start
size_is 1100x700 || fail "the window is ${WIDTH}x$HEIGHT"
xdotool key Return                       # Recover
until_true 25 "an unsaved document in the title" title_is "* Headlight"
mine=$folder/mine.headlight.json
xdotool key --delay 0 ctrl+s ctrl+a
xdotool type --delay 5 "$mine"
xdotool key Return
until_true 25 "the saved text" has_key "$mine" sentence "the cat sat on mats"
until_true 25 "no autosave after saving" no_autosave
has_key "$settings" theme dark || fail "the theme was forgotten"
has_key "$settings" language zh || fail "the language was forgotten"

# ---- close with unsaved changes: a question; cancel, then save ----
type_at_end " x"
xdotool key Escape
xdotool key ctrl+q
sleep 0.5
runs || fail "it closed in spite of unsaved changes"
xdotool key m                            # gets nowhere: the question comes first
xdotool key --delay 0 Escape ctrl+q Return  # Cancel; ask again; Save
ended
has_key "$mine" sentence "the cat sat on mats x" || fail "it closed without saving"
has_key "$mine" model.mask.kind causal || fail "a key got past the question"
no_autosave || fail "an autosave is left over after a clean end"

# ---- two windows, one session: the second to save is asked ----
start "$mine"
other_pid=$pid
other_window=$window
start "$mine"
# The first one loses the focus before it has come to what was typed into it.
xdotool windowfocus --sync "$other_window" key ctrl+l
sleep 0.5
kill -STOP "$other_pid"
xdotool key End type --delay 2 --args 1 " first" windowfocus --sync "$window"
kill -CONT "$other_pid"
type_at_end " second"
xdotool key ctrl+s
until_true 25 "the second window's text" has_key "$mine" sentence "the cat sat on mats x second"
xdotool windowfocus --sync "$other_window"
xdotool key ctrl+s
sleep 2
has_key "$mine" sentence "the cat sat on mats x second" || fail "a newer file was overwritten"
kill -0 "$other_pid" || fail "the first window is gone"
xdotool key o                            # a letter alone is no answer
sleep 1
has_key "$mine" sentence "the cat sat on mats x second" || fail "a letter overwrote a file"
xdotool key ctrl+o                       # Overwrite
until_true 25 "the first window's text" has_key "$mine" sentence "the cat sat on mats x first"
until_true 25 "nothing to recover once it is saved" no_autosave
kill "$other_pid"
other_pid=
xdotool windowfocus --sync "$window"
xdotool key ctrl+q
ended

# ---- the palette takes letters typed at once, and runs what is found ----
start --theme dark --lang en "$mine"
xdotool key ctrl+k
xdotool type --delay 0 "causal mask"
xdotool key Return
xdotool key ctrl+s
until_true 25 "the mask, switched off by the palette" has_key "$mine" model.mask.kind none
xdotool key ctrl+q
ended
has_key "$settings" language zh || fail "what was asked for once was remembered"
grep -q '"recent"' "$settings" && grep -qF "$mine" "$settings" || fail "no recent file"

# ---- nowhere to keep anything: it works all the same ----
echo file >"$folder/a_file"
XDG_CONFIG_HOME=$folder/a_file XDG_STATE_HOME=$folder/a_file start "$mine"
type_at_end "!"
xdotool key ctrl+s
until_true 25 "a save without a home folder" has_key "$mine" sentence "the cat sat on mats x first!"
xdotool key ctrl+q
ended

echo "unsaved text outlives kill -9; size, theme and language are remembered; nothing is closed or overwritten unasked"
