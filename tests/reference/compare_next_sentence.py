#!/usr/bin/env python3
"""The first steps of next-sentence prediction twice, by PyTorch and by headlight, from the same
weights on the same pairs of sentences, and how far their losses are apart.

  python3 tests/reference/compare_next_sentence.py TEXT [STEPS] [HEADLIGHT]

Of the text only sentences of plain letters are taken, a line each, so that where one ends is beyond
doubt. The pairs are drawn here again from the seed by the rules alone: a sentence that another one
of its passage follows; in half of the rows that one, else one of another passage.
"""

import bisect
import csv
import json
import math
import pathlib
import re
import sys
import tempfile

import torch
import torch.nn.functional as F

import compare_masked as masked
from compare_masked import MODEL, Random
from compare_training import initial
from make_reference import write_safetensors

SEED, CONTEXT, BATCH, RATE = 1, 24, 16, 1e-3  # the context without [CLS]


def passages_of(text):
    """Passages of at least two plain sentences."""
    made = []
    for passage in re.split(r"\n\s*\n", text):
        plain = re.findall(r"[A-Z][A-Za-z ]+\.(?=\s)", passage)
        if len(plain) > 1:
            made.append(plain)
    return made


class Pairs:
    def __init__(self, passages, ids):
        self.rows = [[ids[w] for w in re.findall(r"[A-Za-z]+|\.", s)] for p in passages for s in p]
        begins, at = [], 0
        for passage in passages:
            begins.append(at)
            at += len(passage)
        self.part = at - at * 10 // 100  # the last tenth is for validation
        self.begins = [b for b in begins if b < self.part]
        self.firsts = [i for i in range(self.part - 1) if i + 1 not in begins]
        self.ids = ids

    def draw(self, random):
        first = self.firsts[random.below(len(self.firsts))]
        label = random.below(2)
        second = first + 1
        if label == 1:
            place = bisect.bisect_right(self.begins, first)
            begin = self.begins[place - 1]
            size = (self.begins + [self.part])[place] - begin
            second = random.below(self.part - size)
            second += size if second >= begin else 0
        a, b = list(self.rows[first]), list(self.rows[second])
        while len(a) + len(b) > CONTEXT - 2:
            (a if len(a) > len(b) else b).pop()
        sep = self.ids["[SEP]"]
        row = [self.ids["[CLS]"]] + a + [sep] + b + [sep]
        return row, [0] * (len(a) + 2) + [1] * (len(b) + 1), label


def logits_of(w, ids, segments, lengths):
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".w"], w[name + ".b"])

    n = ids.shape[1]
    padding = (torch.arange(n)[None] >= lengths[:, None])[:, None, None]
    x = w["embed.W_E"][ids] + w["segment_embed.W_seg"][segments] + w["pos_embed.W_pos"]
    for layer in range(MODEL["layers"]):
        at = f"blocks.{layer}."
        y = norm(x, at + "ln1")
        q, k, v = (torch.einsum("btd,hde->bhte", y, w[at + "attn.W_" + name]) +
                   w[at + "attn.b_" + name][:, None] for name in "QKV")
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(padding, -math.inf)
        z = scores.softmax(-1) @ v
        x = x + torch.einsum("bhte,hed->btd", z, w[at + "attn.W_O"]) + w[at + "attn.b_O"]
        h = F.gelu(norm(x, at + "ln2") @ w[at + "mlp.W_in"] + w[at + "mlp.b_in"])
        x = x + h @ w[at + "mlp.W_out"] + w[at + "mlp.b_out"]
    return norm(x, "ln_final")[:, 0] @ w["classify.W_C"] + w["classify.b_C"]


def own(headlight, text, more):
    masked.run(headlight, ["--text", text, "--cut", "words", "--next-sentence", "--positions",
                           "learned", "--context", str(CONTEXT), "--batch", str(BATCH), "--lr",
                           str(RATE)] + more)


def main():
    passages = passages_of(pathlib.Path(sys.argv[1]).read_text()[:400_000])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    headlight = sys.argv[3] if len(sys.argv) > 3 else "build/release/headlight"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        part = folder / "text.txt"
        part.write_text("\n\n".join("\n".join(p) for p in passages))
        own(headlight, part, ["--steps", "1", "--out", folder / "first"])
        tokens = json.loads((folder / "first" / "tokenizer.json").read_text())["tokens"]
        generator = torch.Generator().manual_seed(1)
        weights = initial(MODEL, len(tokens), CONTEXT + 1, generator)
        d = MODEL["d_model"]
        weights["segment_embed.W_seg"] = 0.02 * torch.randn((2, d), generator=generator)
        weights["classify.W_C"] = 0.02 * torch.randn((d, 2), generator=generator)
        weights["classify.b_C"] = torch.zeros(2)
        write_safetensors(folder / "start.safetensors", weights, {})
        own(headlight, part, ["--steps", str(steps), "--init", folder / "start.safetensors",
                              "--log", folder / "log.csv"])
        with open(folder / "log.csv") as file:
            losses = [float(row["loss"]) for row in csv.DictReader(file)]

    pairs = Pairs(passages, {token: i for i, token in enumerate(tokens)})
    pad, random = tokens.index("[PAD]"), Random(SEED, 0)
    parameters = [w.clone().requires_grad_(True) for w in weights.values()]
    named = dict(zip(weights, parameters))
    adam = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)
    apart = []
    for loss_of_ours in losses:
        rows, segments, labels = zip(*(pairs.draw(random) for _ in range(BATCH)))
        lengths = torch.tensor([len(row) for row in rows])
        wide = [(row + [pad] * (CONTEXT + 1 - len(row)), s + [1] * (CONTEXT + 1 - len(row)))
                for row, s in zip(rows, segments)]
        given, where = (torch.tensor([w[i] for w in wide]) for i in (0, 1))
        loss = F.cross_entropy(logits_of(named, given, where, lengths), torch.tensor(labels))
        adam.zero_grad()
        loss.backward()
        adam.step()
        apart.append(abs(loss.item() - loss_of_ours))
    print(f"{steps} steps, loss {losses[0]:.4f} -> {losses[-1]:.4f}; at most {max(apart):.1e} apart")


if __name__ == "__main__":
    main()
