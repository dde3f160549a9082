#!/usr/bin/env python3
"""The first steps of next-sentence prediction twice, by PyTorch and by headlight, from the same
weights on the same pairs of sentences, and how far their losses are apart. With --both hidden tokens
are learned beside it, as BERT was pretrained: the sum of both losses, and each of them.

  python3 tests/reference/compare_next_sentence.py [--both] TEXT [STEPS] [HEADLIGHT]

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
    def __init__(self, passages, ids, both):
        self.both = both
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
        row, hidden = a + [sep] + b + [sep], []
        if self.both:
            hidden = self.hide(row, random)
        return ([self.ids["[CLS]"]] + row, [0] * (len(a) + 2) + [1] * (len(b) + 1), label,
                [-100] + hidden)

    def hide(self, row, random):
        """Hides tokens of the row, and says which stood there; -100 where none is asked for."""
        special = {i for word, i in self.ids.items() if re.fullmatch(r"\[[A-Z]+\]", word)}
        vocab = len(self.ids) - 1  # [CLS] is joined later
        places, targets = [t for t, i in enumerate(row) if i not in special], [-100] * len(row)
        for i in range(min(max(1, (len(places) * masked.SHARE + 50) // 100), len(places))):
            other = i + random.below(len(places) - i)
            places[i], places[other] = places[other], places[i]
            at = places[i]
            targets[at] = row[at]
            drawn = random.below(100)
            if drawn < 80:
                row[at] = self.ids["[MASK]"]
            elif drawn < 90:
                row[at] = random.below(vocab)
                while row[at] in special:
                    row[at] = random.below(vocab)
        return targets


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
    x = norm(x, "ln_final")
    words = x @ w["unembed.W_U"] + w["unembed.b_U"] if "unembed.W_U" in w else None
    return x[:, 0] @ w["classify.W_C"] + w["classify.b_C"], words


def own(headlight, text, both, more):
    hides = ["--mask-tokens", f"{masked.SHARE}%"] if both else []
    masked.run(headlight, ["--text", text, "--cut", "words", "--next-sentence", "--positions",
                           "learned", *hides, "--context", str(CONTEXT), "--batch", str(BATCH), "--lr",
                           str(RATE)] + more)


def main():
    both = "--both" in sys.argv
    given = [word for word in sys.argv[1:] if word != "--both"]
    passages = passages_of(pathlib.Path(given[0]).read_text()[:400_000])
    steps = int(given[1]) if len(given) > 1 else 50
    headlight = given[2] if len(given) > 2 else "build/release/headlight"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        part = folder / "text.txt"
        part.write_text("\n\n".join("\n".join(p) for p in passages))
        own(headlight, part, both, ["--steps", "1", "--out", folder / "first"])
        tokens = json.loads((folder / "first" / "tokenizer.json").read_text())["tokens"]
        generator = torch.Generator().manual_seed(1)
        weights = initial(MODEL, len(tokens), CONTEXT + 1, generator)
        d = MODEL["d_model"]
        weights["segment_embed.W_seg"] = 0.02 * torch.randn((2, d), generator=generator)
        weights["classify.W_C"] = 0.02 * torch.randn((d, 2), generator=generator)
        weights["classify.b_C"] = torch.zeros(2)
        if both:
            weights["unembed.W_U"] = 0.02 * torch.randn((d, len(tokens)), generator=generator)
            weights["unembed.b_U"] = torch.zeros(len(tokens))
        write_safetensors(folder / "start.safetensors", weights, {})
        own(headlight, part, both, ["--steps", str(steps), "--init", folder / "start.safetensors",
                              "--log", folder / "log.csv"])
        with open(folder / "log.csv") as file:
            names = ["loss"] + ["class_loss", "hidden_loss"] * both
            losses = [[float(row[name]) for name in names] for row in csv.DictReader(file)]

    pairs = Pairs(passages, {token: i for i, token in enumerate(tokens)}, both)
    pad, random = tokens.index("[PAD]"), Random(SEED, 0)
    parameters = [w.clone().requires_grad_(True) for w in weights.values()]
    named = dict(zip(weights, parameters))
    adam = torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)
    apart = []
    for losses_of_ours in losses:
        rows, segments, labels, hidden = zip(*(pairs.draw(random) for _ in range(BATCH)))
        lengths = torch.tensor([len(row) for row in rows])
        wide = [(row + [pad] * (CONTEXT + 1 - len(row)), s + [1] * (CONTEXT + 1 - len(row)))
                for row, s in zip(rows, segments)]
        given, where = (torch.tensor([w[i] for w in wide]) for i in (0, 1))
        classes, words = logits_of(named, given, where, lengths)
        parts = [F.cross_entropy(classes, torch.tensor(labels))]
        if both:
            wanted = torch.tensor([t + [-100] * (CONTEXT + 1 - len(t)) for t in hidden])
            parts.append(F.cross_entropy(words.flatten(0, 1), wanted.flatten()))
        loss = sum(parts)
        adam.zero_grad()
        loss.backward()
        adam.step()
        theirs = [loss.item()] + [part.item() for part in parts] * both
        apart.append([abs(a - b) for a, b in zip(theirs, losses_of_ours)])
    for i, name in enumerate(names):
        print(f"{steps} steps, {name} {losses[0][i]:.4f} -> {losses[-1][i]:.4f}; "
              f"at most {max(a[i] for a in apart):.1e} apart")


if __name__ == "__main__":
    main()
