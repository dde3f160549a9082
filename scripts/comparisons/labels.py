#!/usr/bin/env python3
"""Is a sentence from a children's story or from a book? The same classifier trained by headlight and
by PyTorch on the same sentences, and the table of docs/comparisons.md: accuracy on sentences that
neither has seen, mean (lowest to highest) over three seeds.

  python3 scripts/comparisons/labels.py TEXT SPLIT

TEXT is a text whose first SPLIT bytes are stories and the rest books; a sentence is its words in
lower case, eight to sixty of them. HEADLIGHT is the program (default: build/release/headlight),
STEPS the updates of a run (600). PyTorch's model is written here from the formulas alone.
"""

import collections
import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

HEADLIGHT = os.environ.get("HEADLIGHT", "build/release/headlight")
STEPS = int(os.environ.get("STEPS", "600"))
LAYERS, HEADS, WIDTH, CONTEXT, BATCH, RATE, WARMUP, DROPOUT = 2, 4, 64, 32, 32, 1e-3, 50, 0.1
VOCABULARY, TRAINED, MEASURED = 3000, 4000, 2000


def sentences(text):
    found = dict.fromkeys(
        " ".join(re.findall("[a-z]+", sentence.lower()))
        for sentence in re.split(r"(?<=[.!?])\s+", text))
    return [s for s in found if 8 <= s.count(" ") + 1 <= 60]


def write(path, rows):
    with open(path, "w") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


def labelled_rows(path, split):
    raw = pathlib.Path(path).read_bytes()
    draw = random.Random(1)
    parts = [sentences(part.decode(errors="ignore")) for part in (raw[:split], raw[split:])]
    both = set(parts[0]) & set(parts[1])
    half = (TRAINED + MEASURED) // 2
    rows = [[], []]
    for name, part in zip(("story", "book"), parts):
        chosen = draw.sample([s for s in part if s not in both], half)
        rows[0] += [(s, name) for s in chosen[: TRAINED // 2]]
        rows[1] += [(s, name) for s in chosen[TRAINED // 2:]]
    for part in rows:
        draw.shuffle(part)
    return rows


def by_headlight(folder, seed, by_length):
    model = folder / "model"
    subprocess.run(
        [HEADLIGHT, "train", "--labels", folder / "train.tsv", "--validation",
         folder / "measured.tsv", "--validate-every", str(STEPS), "--vocabulary", str(VOCABULARY),
         "--context", str(CONTEXT), "--layers", str(LAYERS), "--heads", str(HEADS), "--d-model",
         str(WIDTH), "--positions", "learned", "--dropout", str(DROPOUT), "--batch", str(BATCH),
         "--steps", str(STEPS), "--lr", str(RATE), "--schedule", "cosine", "--warmup", str(WARMUP),
         "--clip", "1", "--by-length", "on" if by_length else "off", "--seed", str(seed), "--out",
         model], check=True, capture_output=True, text=True)
    told = subprocess.run(
        [HEADLIGHT, "eval", "--model", model, "--labels", folder / "measured.tsv", "--json"],
        check=True, capture_output=True, text=True)
    return 100 * json.loads(told.stdout)["accuracy"]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, absent):
        def drop(y):
            return F.dropout(y, DROPOUT, self.training)

        rows, length, _ = x.shape
        q, k, v = (y.view(rows, length, HEADS, -1).transpose(1, 2)
                   for y in self.qkv(self.ln1(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        weights = drop(scores.masked_fill(absent[:, None, None], -math.inf).softmax(-1))
        x = x + drop(self.out((weights @ v).transpose(1, 2).reshape(rows, length, WIDTH)))
        return x + drop(self.down(F.gelu(self.up(self.ln2(x)))))


class Classifier(torch.nn.Module):
    def __init__(self, vocabulary, classes):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, classes)
        for name, weights in self.named_parameters():
            if weights.dim() == 2:
                torch.nn.init.normal_(weights, std=0.02)
            elif name.endswith("bias"):
                torch.nn.init.zeros_(weights)

    def forward(self, ids, absent):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x, absent)
        present = (~absent)[..., None].float()
        return self.head((self.norm(x) * present).sum(1) / present.sum(1))


def by_torch(train, measured, seed):
    torch.manual_seed(seed)
    torch.set_num_threads(2)
    counts = collections.Counter(word for text, _ in train for word in text.split())
    known = {word: i + 2 for i, (word, _) in enumerate(counts.most_common(VOCABULARY - 2))}
    names = sorted({name for _, name in train})

    def batch(rows):
        ids = [[known.get(word, 1) for word in text.split()][:CONTEXT] for text, _ in rows]
        wide = max(map(len, ids))
        padded = torch.tensor([row + [0] * (wide - len(row)) for row in ids])
        absent = torch.tensor([[i >= len(row) for i in range(wide)] for row in ids])
        return padded, absent, torch.tensor([names.index(name) for _, name in rows])

    model = Classifier(VOCABULARY, len(names))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    draw, order = random.Random(seed), []
    for step in range(STEPS):
        if len(order) < BATCH:
            order = draw.sample(train, len(train))
        rows, order = order[:BATCH], order[BATCH:]
        rate = (step + 1) / WARMUP if step < WARMUP else \
            (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2
        optimizer.param_groups[0]["lr"] = RATE * rate
        ids, absent, labels = batch(rows)
        optimizer.zero_grad()
        F.cross_entropy(model(ids, absent), labels).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for begin in range(0, len(measured), 200):
            ids, absent, labels = batch(measured[begin:begin + 200])
            right += (model(ids, absent).argmax(-1) == labels).sum().item()
    return 100 * right / len(measured)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    train, measured = labelled_rows(sys.argv[1], int(sys.argv[2]))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "train.tsv", train)
        write(folder / "measured.tsv", measured)
        made = [("headlight, batches of similar length",
                 lambda seed: by_headlight(folder, seed, True)),
                ("headlight, drawn at random", lambda seed: by_headlight(folder, seed, False)),
                ("PyTorch", lambda seed: by_torch(train, measured, seed))]
        print("| trained by | accuracy |\n|---|---|")
        for label, run in made:
            scores = [run(seed) for seed in (1, 2, 3)]
            print(f"| {label} | {sum(scores) / 3:.1f} % ({min(scores):.1f} to {max(scores):.1f}) |",
                  flush=True)


main()
