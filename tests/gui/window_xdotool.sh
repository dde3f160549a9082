#!/usr/bin/env bash
# The real window under a display of its own, driven by real X events: click, type, keys, resize,
# close. Run as: window_xdotool.sh path/to/headlight
set -u

headlight=${1:?usage: window_xdotool.sh path/to/headlight}

# A sentence and exit status 1.
without_display() {
  local said status
  said=$(env -u DISPLAY -u WAYLAND_DISPLAY timeout 20 "$headlight" --sentence "a b" 2>&1)
  status=$?
  [ "$status" = 1 ] || fail "without a display the exit status is $status, not 1: $said"
  case $said in
    *"no display was found"*"headlight screenshot"*) ;;
    *) fail "without a display it does not say what to do: $said" ;;
  esac
}

# shellcheck source=tests/gui/window.sh
source "$(dirname -- "$0")/window.sh"
session=$folder/window.headlight.json

# saved WORDS: does the session hold this sentence and mask?
saved() {
  [ -f "$session" ] && python3 - "$session" "$1" "$2" <<'PYTHON'
import json, sys
session = json.load(open(sys.argv[1], encoding="utf-8"))
document = session.get("document", session)
found = (document["sentence"], document["model"]["mask"]["kind"])
sys.exit(0 if found == (sys.argv[2], sys.argv[3]) else 1)
PYTHON
}

# What a window manager sends for the cross of a window: WM_DELETE_WINDOW.
press_cross() {
  python3 - "$window" <<'PYTHON'
import ctypes, sys
class ClientMessage(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
                ("display", ctypes.c_void_p), ("window", ctypes.c_ulong),
                ("message_type", ctypes.c_ulong), ("format", ctypes.c_int),
                ("data", ctypes.c_long * 5), ("pad", ctypes.c_long * 24)]
x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
x11.XInternAtom.restype = ctypes.c_ulong
display = ctypes.c_void_p(x11.XOpenDisplay(None))
atom = lambda name: x11.XInternAtom(display, name, 0)
message = ClientMessage(type=33, window=int(sys.argv[1]), message_type=atom(b"WM_PROTOCOLS"), format=32)
message.data[0] = atom(b"WM_DELETE_WINDOW")
sent = x11.XSendEvent(display, ctypes.c_ulong(message.window), 0, ctypes.c_long(0), ctypes.byref(message))
x11.XSync(display, 0)
sys.exit(0 if sent else 1)
PYTHON
}

open_session() { start --session "$session" --sentence "the cat sat" --size 1200x800 --scale 1; }

# Two spare keys become 中 and 🙂, before the program reads the keyboard.
python3 - <<'PYTHON' || fail "the keyboard could not be given two more letters"
import ctypes, sys
x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
display = ctypes.c_void_p(x11.XOpenDisplay(None))
keysyms = (ctypes.c_ulong * 4)(0x1004E2D, 0x1004E2D, 0x101F642, 0x101F642)
x11.XChangeKeyboardMapping(display, 248, 2, keysyms, 2)
x11.XSync(display, 0)
PYTHON

# ---- type, mask, steps, save ----
open_session
until_true 5 "the file's name in the title" title_starts "window.headlight.json"
xdotool mousemove --window "$window" 300 70 click 1  # the sentence
xdotool key End
xdotool type --delay 15 " on mats"
until_true 5 "an unsaved change in the title" title_starts "* "
xdotool key Escape                                   # leaves the field, so that m is a command
xdotool key m Right Left Right
xdotool key ctrl+s
until_true 5 "the session, saved" test -s "$session"
until_true 5 "a title without *" title_is "window.headlight.json - Headlight"
saved "the cat sat on mats" none || fail "saved something else: $(cat "$session")"

# ---- letters typed at once before a click are for the field, not for what the click leads to ----
xdotool mousemove --window "$window" 300 70 click 1
xdotool key End
xdotool type --args 1 --delay 0 " marmalade momm" mousemove --window "$window" 600 420 click 1 # the stage
xdotool key ctrl+s
until_true 5 "all letters before the click" saved "the cat sat on mats marmalade momm" none
xdotool key ctrl+z ctrl+s
until_true 5 "the save without them" saved "the cat sat on mats" none

# ---- resize: it goes on drawing and listening ----
xdotool windowsize --sync "$window" 800 560
xdotool key m
until_true 5 "the mask's change in the title" title_starts "* "
xdotool windowsize --sync "$window" 1500 950
xdotool mousemove --window "$window" 300 78 click 1
xdotool key End
xdotool type --delay 15 " 2"
xdotool key ctrl+s                                   # works inside the field as well
until_true 5 "the second save" saved "the cat sat on mats 2" causal
xdotool key U4E2D U1F642 ctrl+s
until_true 5 "Chinese and an emoji in the save" saved "the cat sat on mats 2中🙂" causal
xdotool key ctrl+z ctrl+z ctrl+s
until_true 5 "the save after undo" saved "the cat sat on mats" none

# ended SECONDS: waits for the end of headlight and keeps its status.
ended() {
  local deadline=$((SECONDS + $1))
  while kill -0 "$pid" 2>/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || fail "it does not close"
    sleep 0.05
  done
  { wait "$pid"; } 2>/dev/null
  status=$?
  pid=
}

# ---- close with a key ----
xdotool key ctrl+q
ended 5
[ "$status" = 0 ] || fail "Ctrl+Q ends with status $status"
[ -s "$log" ] && fail "it said something on the way"

# ---- the saved session opens again; close as the window's cross does ----
open_session
until_true 5 "the title" title_is "window.headlight.json - Headlight"
xdotool key m ctrl+s
until_true 5 "the save after opening" saved "the cat sat" causal
press_cross || fail "the message of the window's cross could not be sent"
ended 5
[ "$status" = 0 ] || fail "the window's cross ends with status $status"

# ---- English in a model that knows 24 letters: on by the notice's button ----
# Backwards from the sentence: the button that closes the notice, the example, the random model.
rm -f "$session"
"$headlight" --session "$session" --model induction --size 1200x800 --scale 1 >"$log" 2>&1 &
pid=$!
until_true 15 "a window" find_window
xdotool windowfocus --sync "$window" 2>/dev/null
until_true 5 "the file's name in the title" title_starts "window.headlight.json"
xdotool key ctrl+l ctrl+a
xdotool type --delay 15 "hello world"
xdotool key Escape
until_true 5 "an unsaved change in the title" title_starts "* "
xdotool key shift+Tab shift+Tab shift+Tab Return ctrl+s
model_is() { [ -f "$session" ] && python3 -c 'import json, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))
document = document.get("document", document)
sys.exit(0 if (document["sentence"], document.get("trained_model", "")) == ("hello world", "") else 1)' "$session"; }
until_true 5 "the sentence with the random model" model_is
xdotool key ctrl+q
ended 5
[ "$status" = 0 ] || fail "after the notice's button Ctrl+Q ends with status $status"

# ---- a crash is seen as one: the status above is not swallowed on the way ----
exec 3>&2 2>/dev/null  # bash would report the crash itself
open_session
kill -SEGV "$pid"
ended 5
exec 2>&3
[ "$status" -gt 128 ] || fail "a crash ends with status $status"

echo "the window types, masks, saves, resizes, undoes and closes"
