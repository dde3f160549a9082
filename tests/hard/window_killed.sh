#!/usr/bin/env bash
# The real window, killed (kill -9) at random moments while a person types, trains, saves, exports and
# opens, again and again in one home. After each kill every file there can be read, and what was
# typed more than five seconds before is in the session or on offer at the next start.
# Run as: window_killed.sh path/to/headlight. HEADLIGHT_HARD=long means 100 kills, HEADLIGHT_HARD_KILLS
# another number; HEADLIGHT_HARD_SEED other moments.
set -u

headlight=${1:?usage: window_killed.sh path/to/headlight}
[ "${HEADLIGHT_HARD:-}" = long ] && kills=100 || kills=3
kills=${HEADLIGHT_HARD_KILLS:-$kills}
RANDOM=${HEADLIGHT_HARD_SEED:-1}

# shellcheck source=tests/gui/window.sh
source "$(dirname -- "$0")/../gui/window.sh"
session=$folder/work/mine.headlight.json
kinds=(numbers picture) endings=(csv png)
runs_dir=$XDG_DATA_HOME/headlight/runs
export MESA_SHADER_CACHE_DIR=$folder/mesa
mkdir -p "$folder/work"

now() { date +%s%3N; }

# All that the program has written is whole; and the word (if any) is in one of the sentences.
look() {
  python3 - "$1" "$XDG_CONFIG_HOME/headlight" "$autosaves" "$folder/work" "$runs_dir" <<'PYTHON'
import json, os, sys
word, config, autosaves, work, runs = sys.argv[1:]
found, left = [], []
def files(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
for path in files(config) + files(autosaves) + files(work):
    name = os.path.basename(path)
    if name.startswith(".headlight-"):
        left.append(path)
    elif name.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file).get("sentence", ""))
    elif name.endswith(".png"):
        with open(path, "rb") as file:
            data = file.read()
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", path
    elif name.endswith(".csv"):
        with open(path, encoding="utf-8") as file:
            rows = file.read().split("\n")
        assert rows[-1] == "" and len({row.count(",") for row in rows[:-1]}) == 1, path
    elif name.endswith(".lock") or os.path.isdir(path):
        pass
    else:
        raise SystemExit("an unknown file: " + path)
for run in files(runs):
    if not os.path.isdir(run) or os.path.basename(run).startswith(".headlight-"):
        continue
    for name in ("config.json", "train.json", "tokenizer.json"):
        with open(os.path.join(run, name), encoding="utf-8") as file:
            json.load(file)
if word and not any(word in sentence.split() for sentence in found):
    raise SystemExit("lost: " + word + " is in none of " + repr(found))
if len(left) > 20:
    raise SystemExit("nobody clears up: " + " ".join(left))
PYTHON
}

type_words() {  # numbered words, each with the moment at which it had been sent
  local n
  for n in $(seq 1 60); do
    xdotool type --delay 0 " w$kill_number.$n" 2>/dev/null || return
    echo "$(now) w$kill_number.$n" >>"$typed"
    sleep 0.2
  done
}

# What a person does until the window is gone.
act() {
  case $1 in
    type) xdotool key --delay 0 ctrl+l End; type_words ;;
    train) xdotool key t; sleep 0.5; xdotool key p; sleep 30 ;;
    save)
      xdotool key --delay 0 ctrl+l End
      for n in $(seq 1 60); do
        xdotool type --delay 0 " s$kill_number.$n" 2>/dev/null || return
        xdotool key ctrl+s
        sleep 0.15
      done ;;
    export)
      for n in $(seq 1 60); do
        kind=${kinds[$((n % 2))]}
        xdotool key ctrl+k 2>/dev/null || return
        xdotool type --delay 0 "save $kind"
        xdotool key Return
        sleep 0.3
        xdotool key ctrl+a
        xdotool type --delay 0 "$folder/work/$kind.${endings[$((n % 2))]}"
        xdotool key Return
        sleep 0.3
        xdotool key Return                # it is there already: in its place
        sleep 0.1
      done ;;
    open)
      for n in $(seq 1 60); do
        xdotool key --delay 0 ctrl+o ctrl+a 2>/dev/null || return
        xdotool type --delay 0 "$session"
        xdotool key --delay 0 Return ctrl+d
        sleep 0.2
      done ;;
  esac
}

"$headlight" --version >/dev/null
start --lang en --sentence "the cat sat" --session "$session" --size 900x600
xdotool key ctrl+s
until_true 25 "the session" test -s "$session"
xdotool key ctrl+q
ended

acts=(type train save export open)
for kill_number in $(seq 1 "$kills"); do
  what=${acts[$(((kill_number - 1) % 5))]}
  typed=$folder/typed
  : >"$typed"
  if [ $((RANDOM % 2)) = 0 ]; then start "$session"; else start; fi
  sleep 0.3
  xdotool key Return                      # what is on offer from the last kill is recovered
  sleep 0.5
  act "$what" >/dev/null 2>&1 &
  actor=$!
  sleep "$((RANDOM % 9)).$((RANDOM % 10))$((RANDOM % 10))"
  runs || fail "kill $kill_number: it has ended by itself while a person wants to $what"
  { kill -9 "$pid"; wait "$pid"; } 2>/dev/null
  killed=$(now)
  pid=
  { kill "$actor"; wait "$actor"; } 2>/dev/null
  word=$(awk -v killed="$killed" '$1 <= killed - 5000 { word = $2 } END { print word }' "$typed")
  exports=$(find "$folder/work" -name "numbers.csv" -o -name "picture.png" | wc -l)
  look "$word" || fail "kill $kill_number, while it should $what"
  # A trained model may not know what was typed: that is said once everything has been read.
  "$headlight" trace --list --session "$session" >/dev/null 2>"$log" ||
    grep -q "the model does not know" "$log" ||
    fail "kill $kill_number, while it should $what: the session cannot be opened"
  for run in "$runs_dir"/*/; do
    [ -d "$run" ] || continue
    "$headlight" eval --model "$run" --task --count 1 >/dev/null 2>"$log" ||
      fail "kill $kill_number, while it should $what: $run cannot be opened"
  done
  echo "kill $kill_number while it should $what: ${word:-nothing typed is older than 5 s}"
done

# ---- a last start and a clean end leave nothing behind ----
start "$session"
sleep 0.5
xdotool key Escape
sleep 0.3
xdotool key ctrl+q
sleep 0.5
runs && xdotool key ctrl+d               # unsaved work: not saved
ended
look "" || fail "after the last start"
echo "killed $kills times ($exports exports were there): every file can be read, and nothing older than 5 s is lost"
