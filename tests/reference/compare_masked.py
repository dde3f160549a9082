#!/usr/bin/env python3
"""The first steps of masked language modelling twice, by PyTorch and by headlight, from the same
weights on the same hidden tokens, and how far their losses are apart.

  python3 tests/reference/compare_masked.py TEXT [STEPS] [HEADLIGHT]

What is hidden is drawn here again from the seed by the rules alone (SplitMix64; 15 % of a window,
of these 80 % [MASK], 10 % another token, 10 % as they are). The text is cut into characters.
"""

import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

from compare_training import initial
from make_reference import write_safetensors

SEED, CONTEXT, BATCH, SHARE, RATE = 1, 64, 16, 15, 1e-3
MODEL = {"layers": 2, "heads": 4, "d_model": 64}
BITS = (1 << 64) - 1


def scatter(x):
    x = (x + 0x9E3779B97F4A7C15) & BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & BITS
    return x ^ (x >> 31)


class Random:
    def __init__(self, seed, stream):
        self.state = scatter((scatter(seed) + stream) & BITS)

    def below(self, n):
        while True:
            bits = scatter(self.state)
            self.state = (self.state + 0x9E3779B97F4A7C15) & BITS
            if bits >= (1 << 64) % n:
                return bits % n


def hide(tokens, random, mask, vocab):
    places, targets = list(range(len(tokens))), [-100] * len(tokens)
    for i in range(max(1, (len(tokens) * SHARE + 50) // 100)):
        other = i + random.below(len(places) - i)
        places[i], places[other] = places[other], places[i]
        at = places[i]
        targets[at] = tokens[at]
        drawn = random.below(100)
        if drawn < 80:
            tokens[at] = mask
        elif drawn < 90:
            tokens[at] = mask
            while tokens[at] == mask:
                tokens[at] = random.below(vocab)
    return tokens, targets


def logits_of(w, ids):
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".w"], w[name + ".b"])

    x = w["embed.W_E"][ids] + w["pos_embed.W_pos"]
    for layer in range(MODEL["layers"]):
        at = f"blocks.{layer}."
        y = norm(x, at + "ln1")
        q, k, v = (torch.einsum("btd,hde->bhte", y, w[at + "attn.W_" + n]) +
                   w[at + "attn.b_" + n][:, None] for n in "QKV")
        z = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ v
        x = x + torch.einsum("bhte,hed->btd", z, w[at + "attn.W_O"]) + w[at + "attn.b_O"]
        h = F.gelu(norm(x, at + "ln2") @ w[at + "mlp.W_in"] + w[at + "mlp.b_in"])
        x = x + h @ w[at + "mlp.W_out"] + w[at + "mlp.b_out"]
    return norm(x, "ln_final") @ w["unembed.W_U"] + w["unembed.b_U"]


def run(headlight, options):
    for name in MODEL:
        options += ["--" + name.replace("_", "-"), str(MODEL[name])]
    done = subprocess.run([headlight, "train"] + options, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def own(headlight, folder, text, more):
    options = ["--text", text, "--cut", "characters", "--mask-tokens", f"{SHARE}%", "--positions",
               "learned", "--context", str(CONTEXT), "--batch", str(BATCH), "--lr", str(RATE)]
    run(headlight, options + more)


def main():
    text = pathlib.Path(sys.argv[1]).read_text()[:200_000]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    headlight = sys.argv[3] if len(sys.argv) > 3 else "build/release/headlight"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        part = folder / "text.txt"
        part.write_text(text)
        own(headlight, folder, part, ["--steps", "1", "--out", folder / "first"])
        tokens = json.loads((folder / "first" / "tokenizer.json").read_text())["tokens"]
        ids = {token: i for i, token in enumerate(tokens)}
        mask, vocab = ids["[MASK]"], len(tokens)
        generator = torch.Generator().manual_seed(1)
        weights = initial(MODEL, vocab, CONTEXT, generator)
        weights["unembed.W_U"] = 0.02 * torch.randn((MODEL["d_model"], vocab), generator=generator)
        weights["unembed.b_U"] = torch.zeros(vocab)
        write_safetensors(folder / "start.safetensors", weights, {})
        own(headlight, folder, part, ["--steps", str(steps), "--init",
                                      folder / "start.safetensors", "--log", folder / "log.csv"])
        with open(folder / "log.csv") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]

    row = [ids[c] for c in text]
    learned = row[: len(row) - len(row) * 10 // 100]  # the last tenth is for validation
    random = Random(SEED, 0)
    parameters = [w.clone().requires_grad_(True) for w in weights.values()]
    named = dict(zip(weights, parameters))
    adam = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)
    apart = []
    for loss_of_ours in losses:
        examples = []
        for _ in range(BATCH):
            begin = random.below(len(learned) - CONTEXT + 1)
            examples.append(hide(learned[begin: begin + CONTEXT], random, mask, vocab))
        given = torch.tensor([e[0] for e in examples])
        targets = torch.tensor([e[1] for e in examples])
        loss = F.cross_entropy(logits_of(named, given).flatten(0, 1), targets.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        apart.append(abs(loss.item() - loss_of_ours))
    print(f"{steps} steps, loss {losses[0]:.4f} -> {losses[-1]:.4f}; at most {max(apart):.1e} apart")


if __name__ == "__main__":
    main()
