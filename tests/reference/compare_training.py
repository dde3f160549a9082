#!/usr/bin/env python3
"""Trains a bundled text model's first steps twice, by PyTorch and by headlight, from the same
weights on the same batches, and prints how far their losses are apart.

  python3 tests/reference/compare_training.py RECIPE.json TOKENIZER.json TEXT [STEPS] [HEADLIGHT]

The text is cut by the model's own tokenizer; windows are drawn from all of it. PyTorch computes in
float32 on the processor, written here from the GPT-2 paper's formulas alone.
"""

import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

from make_reference import write_safetensors


def encoder(tokenizer):
    """Byte pairs as docs/names.md has them: of all merges that fit a piece, the first learned."""
    ranks = {tuple(pair): 256 + i for i, pair in enumerate(tokenizer["merges"])}
    known = {}

    def encode(piece):
        if piece not in known:
            ids = list(piece.encode())
            while len(ids) > 1:
                best = min(zip(ids, ids[1:]), key=lambda pair: ranks.get(pair, math.inf))
                if best not in ranks:
                    break
                merged, i = [], 0
                while i < len(ids):
                    fits = i + 1 < len(ids) and (ids[i], ids[i + 1]) == best
                    merged.append(ranks[best] if fits else ids[i])
                    i += 2 if fits else 1
                ids = merged
            known[piece] = ids
        return known[piece]

    # Any cut into pieces does for comparing; this one is near the program's.
    return lambda text: [i for piece in re.findall(r" ?\w+|\s+|[^\w\s]+", text)
                         for i in encode(piece)]


def initial(model, vocab, context, generator):
    d, heads = model["d_model"], model["heads"]
    width, hidden = d // heads, model.get("d_hidden") or 4 * d

    def normal(*shape):
        return 0.02 * torch.randn(shape, generator=generator)

    w = {"embed.W_E": normal(vocab, d), "pos_embed.W_pos": normal(context, d),
         "ln_final.w": torch.ones(d), "ln_final.b": torch.zeros(d)}
    for layer in range(model["layers"]):
        at = f"blocks.{layer}."
        for x in "QKV":
            w[at + "attn.W_" + x] = normal(heads, d, width)
            w[at + "attn.b_" + x] = torch.zeros(heads, width)
        w[at + "attn.W_O"], w[at + "attn.b_O"] = normal(heads, width, d), torch.zeros(d)
        w[at + "mlp.W_in"], w[at + "mlp.b_in"] = normal(d, hidden), torch.zeros(hidden)
        w[at + "mlp.W_out"], w[at + "mlp.b_out"] = normal(hidden, d), torch.zeros(d)
        for norm in ("ln1", "ln2"):
            w[at + norm + ".w"], w[at + norm + ".b"] = torch.ones(d), torch.zeros(d)
    return w


def logits_of(w, layers, ids):
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".w"], w[name + ".b"])

    x = w["embed.W_E"][ids] + w["pos_embed.W_pos"][: ids.shape[1]]
    forbidden = torch.triu(torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool), 1)
    for layer in range(layers):
        at = f"blocks.{layer}."
        y = norm(x, at + "ln1")
        q, k, v = (torch.einsum("btd,hde->bhte", y, w[at + "attn.W_" + n]) +
                   w[at + "attn.b_" + n][:, None] for n in "QKV")
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(forbidden, -math.inf)
        z = scores.softmax(-1) @ v
        x = x + torch.einsum("bhte,hed->btd", z, w[at + "attn.W_O"]) + w[at + "attn.b_O"]
        y = norm(x, at + "ln2")
        h = F.gelu(y @ w[at + "mlp.W_in"] + w[at + "mlp.b_in"], approximate="tanh")
        x = x + h @ w[at + "mlp.W_out"] + w[at + "mlp.b_out"]
    return norm(x, "ln_final") @ w["embed.W_E"].T


def rate(schedule, step):
    if step < schedule["warmup"]:
        return schedule["peak"] * (step + 1) / schedule["warmup"]
    share = (step - schedule["warmup"]) / (schedule["steps"] - schedule["warmup"])
    low = schedule["floor"]
    return low + (schedule["peak"] - low) * (1 + math.cos(math.pi * share)) / 2


def main():
    recipe = json.loads(pathlib.Path(sys.argv[1]).read_text())
    tokenizer = json.loads(pathlib.Path(sys.argv[2]).read_text())
    steps = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    headlight = sys.argv[5] if len(sys.argv) > 5 else "build/release/headlight"
    model, training = recipe["model"], recipe["training"]
    context, batch, vocab = training["text"]["context"], training["batch"], len(tokenizer["tokens"])
    generator = torch.Generator().manual_seed(1)
    with open(sys.argv[3], "rb") as file:
        ids = torch.tensor(encoder(tokenizer)(file.read(2_000_000).decode(errors="ignore")))
    starts = torch.randint(0, len(ids) - context - 1, (steps * batch,), generator=generator)
    rows = torch.stack([ids[s: s + context + 1] for s in starts.tolist()])
    rows[-1, -1] = vocab - 1  # so that the rows know all of the vocabulary
    weights = initial(model, vocab, context, generator)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        np.save(folder / "rows.npy", rows.numpy().astype(np.int32))
        given = dict(recipe, training={k: v for k, v in training.items() if k != "text"})
        (folder / "recipe.json").write_text(json.dumps(given))
        own = own_losses(folder, headlight, weights, steps)
        # How far a difference as small as a rounding grows by itself.
        nudged = {name: w.clone() for name, w in weights.items()}
        nudged["embed.W_E"][0, 0] *= 1 + 1e-6
        tell("PyTorch", own, torch_losses(recipe, rows, weights, steps))
        tell("headlight, one weight a millionth larger", own,
             own_losses(folder, headlight, nudged, steps))


def own_losses(folder, headlight, weights, steps):
    write_safetensors(folder / "start.safetensors", weights, {})
    log = folder / "log.csv"
    log.unlink(missing_ok=True)
    # As many steps as are compared, of the schedule of the whole run.
    process = subprocess.Popen([headlight, "train", "--config", folder / "recipe.json",
                                "--data-ids", folder / "rows.npy", "--init",
                                folder / "start.safetensors", "--log", log],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (
            log.exists() and log.read_text().count("\n") > steps + 1):
        time.sleep(0.5)
    process.terminate()
    problem = process.communicate()[1]
    if not log.exists():
        sys.exit(problem)
    with open(log) as file:
        return [float(row["loss"]) for row in csv.DictReader(file)][:steps]


def torch_losses(recipe, rows, weights, steps):
    model, training = recipe["model"], recipe["training"]
    batch, options = training["batch"], training["optimizer"]
    parameters = [w.clone().requires_grad_(True) for w in weights.values()]
    named = dict(zip(weights, parameters))
    adam = torch.optim.AdamW(parameters, betas=(options["beta1"], options["beta2"]),
                             eps=options.get("epsilon", 1e-8), weight_decay=options["weight_decay"])
    losses = []
    for step in range(steps):
        part = rows[step * batch: (step + 1) * batch].long()
        for group in adam.param_groups:
            group["lr"] = rate(training["schedule"], step)
        logits = logits_of(named, model["layers"], part[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, training["clip"] or math.inf)
        adam.step()
        losses.append(loss.item())
    return losses


def tell(name, own, other):
    apart = [abs(a - b) for a, b in zip(own, other)]
    worst = max(range(len(apart)), key=apart.__getitem__)
    print(f"{name}: {len(apart)} steps, loss {own[0]:.4f} -> {own[-1]:.4f}; farthest apart at step "
          f"{worst}: {own[worst]:.6f} and {other[worst]:.6f}, {apart[worst]:.1e}; of the first 50 "
          f"{max(apart[:50]):.1e}")


if __name__ == "__main__":
    main()
