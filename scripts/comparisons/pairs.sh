#!/usr/bin/env bash
# The same pairs learned by an encoder-decoder and by a decoder alone (source [SEP] target [EOS] in
# one row): dates in words and in digits. Prints the table of docs/comparisons.md: what of 500 new
# pairs is right when the right row so far is given, and when the model goes on with its own.
#
#   scripts/comparisons/pairs.sh
#
# HEADLIGHT is the program (default: build/release/headlight), SEEDS the seeds (1 2 3), STEPS the
# steps of each run (2400). Needs Python 3, without further packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
export HEADLIGHT=${HEADLIGHT:-build/release/headlight} SEEDS=${SEEDS:-1 2 3} STEPS=${STEPS:-2400}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SCRATCH=$scratch exec python3 - <<'PYTHON'
import datetime, json, os, random, statistics, subprocess

headlight, scratch = os.environ["HEADLIGHT"], os.environ["SCRATCH"]
seeds, steps = os.environ["SEEDS"].split(), os.environ["STEPS"]
MODELS = [("encoder-decoder, 2 + 2 layers", ["--layers", "2"]),
          ("decoder alone, 2 layers", ["--layers", "2", "--form", "tokens"]),
          ("decoder alone, 4 layers", ["--layers", "4", "--form", "tokens"])]


def write(name, days):
    path = os.path.join(scratch, name)
    with open(path, "w") as file:
        for day in days:
            words = day.strftime(("%B %d %Y", "%d %B %Y", "%A %d %b %Y")[day.toordinal() % 3])
            file.write(f"{words.lower()}\t{day.isoformat()}\n")
    return path


def parameters(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = int.from_bytes(file.read(8), "little")
        return (file.seek(0, 2) - 8 - header) // 4


days = [datetime.date(1950, 1, 1) + datetime.timedelta(n) for n in range(27000)]
random.Random(1).shuffle(days)
train, measured = write("train.tsv", days[:8000]), write("new.tsv", days[8000:8500])


def scores(options, seed):
    model = os.path.join(scratch, "model")
    subprocess.run([headlight, "train", "--pairs", train, "--validation", measured,
                    "--validate-every", steps, "--heads", "4", "--d-model", "32", "--positions",
                    "learned", "--batch", "32", "--steps", steps, "--lr", "0.003", "--schedule",
                    "cosine", "--warmup", "50", "--clip", "1", "--seed", seed, "--out", model,
                    *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = json.loads(subprocess.run([headlight, "eval", "--model", model, "--pairs", measured,
                                      "--json"], check=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True).stdout)
    return [100 * told[key] for key in ("token_accuracy", "free_running_accuracy", "exact_share")
            ] + [parameters(model)]


def cell(values):
    return f"{statistics.mean(values):.1f} % ({min(values):.1f} to {max(values):.1f})"


print("| model | parameters | tokens, right row given | tokens, by itself | whole rows |")
print("|---|---|---|---|---|")
for name, options in MODELS:
    runs = list(zip(*(scores(options, seed) for seed in seeds)))
    cells = " | ".join(cell(values) for values in runs[:3])
    print(f"| {name} | {runs[3][0]:,} | {cells} |", flush=True)
PYTHON
