#!/usr/bin/env python3
"""Makes the reference numbers that tests/reference/test_reference.cpp compares every backend with.

An implementation of the recipes in PyTorch that shares nothing with core/: torch's own functions
wherever they exist, float64 throughout, stored as float32. One .safetensors file per configuration:

  __metadata__      the configuration, by the words of the command line
  token_ids, mask   the inputs of the run; of the other forms also source_ids, source_mask,
                    cross_mask, present
  param:NAME        a weight, NAME as in a weights file
  NAME              a tensor of the run

With a batch of 1 the batch axis is left out. Needs only torch:

  python3 tests/reference/make_reference.py [folder]     (default: the folder of this script)

Layers that torch has a module for are also computed by that module (MultiheadAttention,
TransformerEncoderLayer, TransformerDecoderLayer) and by scaled_dot_product_attention; the script
fails if they differ.
"""

import json
import math
import pathlib
import struct
import sys
import zlib

import torch
import torch.nn.functional as F

VOCAB = 7
EPSILON = 1e-5

DEFAULTS = dict(
    layers=1, heads=2, d_model=8, d_head=0, d_hidden=10, attention="narrow", scores="dot",
    scale="on", block="pre-norm", activation="gelu", positions="sinusoidal", bias="on",
    residual="on", mask="causal", window=2, stride=3, causal="auto", padding=[], forbidden=[],
    batch=1, tokens=6, temperature=1.0, form="tokens", classes=0, source=0, lengths=[],
    source_lengths=[])

# What came later: stands in a file only where it is not this.
LATER = dict(norm="layer", kv_heads=0, rotary="half", rotary_base=10000.0, rotary_width=0,
             tied_head="off", pool="mean", foci=3, pool_hidden=0, foci_penalty=0.0)
DEFAULTS |= LATER

# What differs from DEFAULTS. Sizes are small and odd on purpose: a swapped axis must not fit.
CONFIGS = {
    "basic": dict(attention="basic", block="attention", scale="off", positions="none",
                  mask="none", bias="off", d_model=6, tokens=5),
    "basic-scaled-alone": dict(attention="basic", block="attention", residual="off", layers=2,
                               d_model=7),
    "basic-additive": dict(attention="basic", scores="additive", scale="off", activation="relu",
                           positions="learned", d_model=6, tokens=7),
    "basic-additive-scaled": dict(attention="basic", scores="additive", block="attention",
                                  residual="off", positions="none", bias="off", mask="local",
                                  d_model=6, window=1),
    "single": dict(attention="single", tokens=7),
    "single-width": dict(attention="single", d_head=5, block="attention", bias="off",
                         positions="learned", layers=2, d_model=6),
    "single-additive": dict(attention="single", scores="additive", scale="off", block="post-norm",
                            activation="gelu-tanh", mask="padding", padding=[4, 5], d_model=7),
    "narrow-pre-norm": dict(heads=3, d_model=12, layers=2, tokens=7),
    "narrow-post-norm": dict(heads=2, block="post-norm", activation="relu", mask="none", layers=2,
                             tokens=5),
    "narrow-pre-norm-relu": dict(heads=3, d_model=9, activation="relu", positions="learned"),
    "narrow-post-norm-gelu": dict(heads=3, d_model=6, block="post-norm", positions="none"),
    "narrow-attention": dict(heads=3, d_model=12, block="attention"),
    "narrow-attention-alone": dict(heads=2, block="attention", residual="off", layers=3,
                                   positions="learned", d_model=10),
    "narrow-width": dict(heads=3, d_head=5, d_model=8, activation="gelu-tanh", bias="off",
                         mask="local", window=1),
    "narrow-one-head": dict(heads=1, d_model=6, d_hidden=0, tokens=5),
    "narrow-no-scale": dict(heads=2, scale="off", bias="off", positions="learned", d_model=6),
    "narrow-additive": dict(heads=2, scores="additive", scale="off", d_model=10, tokens=5),
    "narrow-additive-scaled": dict(heads=3, scores="additive", d_model=9, block="post-norm",
                                   activation="gelu-tanh"),
    "wide": dict(attention="wide", heads=3, d_model=6, layers=2),
    "wide-no-scale": dict(attention="wide", heads=2, d_model=7, scale="off", block="post-norm",
                          bias="off", activation="relu"),
    "wide-additive-scaled": dict(attention="wide", heads=2, d_model=6, scores="additive",
                                 block="attention", mask="none"),
    "wide-width": dict(attention="wide", heads=3, d_model=8, d_head=3, positions="none"),
    "local": dict(mask="local", window=2, tokens=7),
    "local-both-ways": dict(mask="local", window=1, causal="off", tokens=7, block="attention"),
    "strided": dict(mask="strided", stride=2, tokens=7, block="post-norm"),
    "strided-both-ways": dict(mask="strided", stride=3, causal="off", tokens=7,
                              block="attention"),
    "padding": dict(mask="padding", padding=[2, 5], heads=2),
    "padding-causal": dict(mask="padding", padding=[0, 3], causal="on", block="attention"),
    "free": dict(mask="free", tokens=5, forbidden=[(0, 1), (0, 4), (2, 2), (4, 0), (4, 3)] +
                 [(3, j) for j in range(5)]),
    "free-causal": dict(mask="free", causal="on", tokens=6, block="post-norm",
                        forbidden=[(0, 0), (1, 0), (3, 3), (5, 1), (5, 2)]),
    "pre-norm-alone": dict(residual="off", layers=2, activation="gelu-tanh", d_model=6),
    "post-norm-alone": dict(residual="off", block="post-norm", bias="off", d_model=6),
    "pre-norm-deep": dict(layers=3, heads=2, d_model=6, d_hidden=7, bias="off"),
    "post-norm-deep": dict(layers=3, heads=3, d_model=6, d_hidden=7, block="post-norm",
                           activation="gelu-tanh"),
    "cool": dict(heads=2, temperature=0.3, layers=2),
    "warm": dict(attention="wide", heads=2, d_model=6, temperature=2.5, mask="free",
                 block="post-norm", forbidden=[(1, j) for j in range(6)] + [(4, 2)]),
    "one-token": dict(tokens=1, heads=2, d_model=6),
    # Every item of the batch has a mask of its own.
    "batch-pre-norm": dict(batch=2, heads=2, mask="padding", tokens=5, d_model=6,
                           padding=[[3, 4], [0]]),
    "batch-post-norm": dict(batch=2, attention="wide", heads=2, d_model=6, tokens=5,
                            scores="additive", block="post-norm", mask="local", window=1),
    # The other forms; rows of a batch end in padding.
    "classes": dict(form="classes", classes=3, heads=2, d_model=4, d_hidden=5, mask="none",
                    positions="learned", batch=2, tokens=5, lengths=[5, 3]),
    "classes-basic": dict(form="classes", classes=4, attention="basic", d_model=3, block="attention",
                          positions="none", tokens=4),
    # Pooling, over layers and over embeddings alone.
    "pool-last": dict(form="classes", classes=3, pool="last", heads=2, d_model=4, d_hidden=5,
                      batch=3, tokens=5, lengths=[5, 3, 1]),
    "pool-cls": dict(form="classes", classes=3, pool="cls", heads=2, d_model=4, d_hidden=5,
                     mask="none", batch=2, tokens=5, lengths=[5, 2]),
    "pool-concat": dict(form="classes", classes=2, pool="concat", layers=0, d_model=4, mask="none",
                        positions="none", batch=2, tokens=5, lengths=[4, 2]),
    "pool-vector": dict(form="classes", classes=3, pool="vector", layers=0, d_model=6, mask="none",
                        batch=2, tokens=5, lengths=[5, 3]),
    "pool-foci": dict(form="classes", classes=3, pool="foci", foci=4, pool_hidden=3, heads=2,
                      d_model=6, d_hidden=5, mask="none", batch=2, tokens=7, lengths=[7, 4]),
    "pool-foci-alone": dict(form="classes", classes=2, pool="foci", foci=2, layers=0, d_model=5,
                            positions="learned", mask="none", tokens=6),
    "translate": dict(form="translate", heads=2, d_model=4, d_hidden=5, tokens=4, source=6, batch=2,
                      positions="learned", source_lengths=[4, 6]),
    "translate-post-norm": dict(form="translate", heads=3, d_model=6, d_hidden=4, tokens=5, source=3,
                                block="post-norm", activation="relu"),
    "translate-attention": dict(form="translate", attention="single", d_model=3, layers=2, tokens=3,
                                source=4, block="attention", scores="additive", mask="none"),
    # The mechanisms of today's language models, one by one and as LLaMA has them.
    "rms-post-norm": dict(norm="rms", block="post-norm", d_model=6, layers=2, tokens=4),
    "rotary-interleaved": dict(positions="rotary", rotary="interleaved", rotary_base=100.0,
                               rotary_width=4, heads=2, d_model=12, block="attention", tokens=7),
    "rotary-half-width": dict(positions="rotary", rotary_width=2, heads=2, d_head=5, d_model=6,
                              block="attention", mask="local", window=2),
    "rotary-basic": dict(positions="rotary", attention="basic", block="attention", d_model=6,
                         tokens=5),
    "rotary-single": dict(positions="rotary", attention="single", d_model=6, block="attention",
                          tokens=5, rotary="interleaved"),
    "rotary-wide-additive": dict(positions="rotary", attention="wide", heads=2, d_model=4,
                                 scores="additive", block="attention", tokens=5),
    "grouped": dict(heads=6, kv_heads=2, d_model=12, block="attention", tokens=5, batch=2),
    "tied": dict(tied_head="on", positions="learned", heads=2, layers=2, tokens=7, d_model=10),
    "translate-tied": dict(form="translate", tied_head="on", heads=2, d_model=6, tokens=5,
                           source=4),
    "multi-query": dict(attention="wide", heads=3, kv_heads=1, d_model=4, scores="additive",
                        block="attention", bias="off", tokens=5),
    "silu": dict(activation="silu", d_model=6, tokens=4),
    "llama": dict(norm="rms", positions="rotary", heads=4, kv_heads=2, activation="swiglu",
                  bias="off", layers=2, d_model=16, d_hidden=11, tokens=7),
    "classes-llama": dict(form="classes", classes=3, norm="rms", positions="rotary", heads=4,
                          kv_heads=2, activation="swiglu", d_model=8, d_hidden=5, mask="none",
                          batch=2, tokens=5, lengths=[5, 3]),
    "translate-llama": dict(form="translate", norm="rms", positions="rotary", rotary="interleaved",
                            heads=4, kv_heads=2, activation="geglu", d_model=8, d_hidden=5,
                            tokens=4, source=5, batch=2, source_lengths=[3, 5]),
}


def mixes():
    """Every combination of the four mechanisms, small."""
    made = {}
    for number in range(1, 16):
        parts = {}
        c = dict(heads=2, d_model=4, d_hidden=5, tokens=4)
        if number & 1:
            parts["rms"] = dict(norm="rms")
        if number & 2:
            parts["rotary"] = dict(positions="rotary",
                                   rotary="interleaved" if number & 4 else "half")
        if number & 4:
            parts["grouped"] = dict(kv_heads=1)
        if number & 8:
            parts["gated"] = dict(activation="geglu" if number & 1 else "swiglu")
        for changes in parts.values():
            c |= changes
        made["mix-" + "-".join(parts)] = c
    return made


CONFIGS |= mixes()


# ---- sizes and masks, by the formulas of the design ----

def head_count(c):
    return 1 if c["attention"] in ("basic", "single") else c["heads"]


def kv_head_count(c):
    return c["kv_heads"] or head_count(c) if head_count(c) > 1 else 1


def focus_count(c):
    return c["foci"] if c["pool"] == "foci" else 1


def is_gated(c):
    return c["activation"] in ("swiglu", "geglu")


def head_width(c):
    if c["attention"] == "basic":
        return c["d_model"]
    if c["d_head"]:
        return c["d_head"]
    return c["d_model"] // c["heads"] if c["attention"] == "narrow" else c["d_model"]


def allowed_keys(c, item):
    """(query, key), True where query i may look at key j."""
    n = c["tokens"]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    kind = c["mask"]
    if kind in ("none", "causal"):
        allowed = torch.ones(n, n, dtype=torch.bool)
    elif kind == "padding":
        padding = c["padding"][item] if c["batch"] > 1 else c["padding"]
        allowed = torch.tensor([key not in padding for key in range(n)]).expand(n, n).clone()
    elif kind == "local":
        allowed = (i - j).abs() <= c["window"]
    elif kind == "strided":
        distance = (i - j).abs()
        allowed = (distance < c["stride"]) | (distance % c["stride"] == 0)
    else:
        allowed = torch.ones(n, n, dtype=torch.bool)
        for query, key in c["forbidden"]:
            allowed[query, key] = False
    if c["lengths"]:  # keys that are padding
        allowed = allowed & (j < c["lengths"][item])
    causal = {"on": True, "off": False, "auto": kind in ("causal", "local", "strided")}[c["causal"]]
    if causal and kind != "none":
        allowed = allowed & torch.ones(n, n, dtype=torch.bool).tril()
    return allowed


def as_mask(allowed):
    return torch.zeros(allowed.shape, dtype=torch.float64).masked_fill(~allowed, -math.inf)


def make_inputs(c):
    """The masks and what is present, for every item of the batch; only what the form has."""
    batch, n, s = c["batch"], c["tokens"], c["source"]
    made = {}
    if c["mask"] != "none" or c["lengths"] or c["source_lengths"]:
        made["mask"] = as_mask(torch.stack([allowed_keys(c, item) for item in range(batch)]))
    if c["form"] == "classes":
        lengths = torch.tensor(c["lengths"] or [n] * batch)
        made["present"] = (torch.arange(n)[None] < lengths[:, None]).double()
        if c["pool"] in ("last", "cls"):
            picked = lengths - 1 if c["pool"] == "last" else torch.zeros_like(lengths)
            made["picked"] = F.one_hot(picked, n).double()
        if c["pool"] in ("vector", "foci") and c["lengths"]:
            made["pool_mask"] = as_mask(made["present"][:, None].expand(-1, focus_count(c), -1) > 0)
    if c["source_lengths"]:
        there = torch.arange(s)[None] < torch.tensor(c["source_lengths"])[:, None]
        made["source_mask"] = as_mask(there[:, None].expand(-1, s, -1))
        made["cross_mask"] = as_mask(there[:, None].expand(-1, n, -1))
    return made


def read_inputs(c, inputs):
    """Without what only this script asks for: who picks a token or masks foci reads no presence."""
    own = c["form"] == "classes" and c["pool"] not in ("mean", "concat")
    return {name: tensor for name, tensor in inputs.items() if not (own and name == "present")}


# ---- weights ----

def make_parameters(c, generator):
    """Every weight that the configuration needs, as float64 numbers that float32 holds exactly."""
    d, heads, width = c["d_model"], head_count(c), head_width(c)
    hidden = c["d_hidden"] or 4 * d
    bias = c["bias"] == "on"
    made = {}

    def draw(name, *shape, deviation=1.0, mean=0.0):
        numbers = torch.randn(*shape, generator=generator, dtype=torch.float64) * deviation + mean
        made[name] = numbers.float().double()

    draw("embed.W_E", VOCAB, d)

    def draw_norm(name):
        draw(name + ".w", d, deviation=0.3, mean=1.0)
        if bias and c["norm"] == "layer":
            draw(name + ".b", d, deviation=0.3)

    def draw_attention(at):
        if c["attention"] != "basic":
            for letter in "QKV":
                own = heads if letter == "Q" else kv_head_count(c)
                draw(at + "W_" + letter, own, d, width, deviation=1.3 / math.sqrt(d))
                if bias:
                    draw(at + "b_" + letter, own, width, deviation=0.3)
            draw(at + "W_O", heads, width, d, deviation=1 / math.sqrt(heads * width))
            if bias:
                draw(at + "b_O", d, deviation=0.3)
        if c["scores"] == "additive":
            draw(at + "v", heads, width)

    def draw_stack(root, places, crosses):
        if c["positions"] == "learned":
            draw(root + "pos_embed.W_pos", places, d, deviation=0.5)
        for layer in range(c["layers"]):
            at = f"{root}blocks.{layer}."
            draw_attention(at + "attn.")
            if crosses:
                draw_attention(at + "cross_attn.")
            if c["block"] != "attention":
                draw_norm(at + "ln1")
                draw_norm(at + "ln2")
                if crosses:
                    draw_norm(at + "ln3")
                if is_gated(c):
                    draw(at + "mlp.W_gate", d, hidden, deviation=1 / math.sqrt(d))
                    if bias:
                        draw(at + "mlp.b_gate", hidden, deviation=0.3)
                draw(at + "mlp.W_in", d, hidden, deviation=1 / math.sqrt(d))
                draw(at + "mlp.W_out", hidden, d, deviation=1 / math.sqrt(hidden))
                if bias:
                    draw(at + "mlp.b_in", hidden, deviation=0.3)
                    draw(at + "mlp.b_out", d, deviation=0.3)
        if c["block"] == "pre-norm" and c["layers"] > 0:
            draw_norm(root + "ln_final")

    if c["form"] == "translate":
        draw_stack("encoder.", c["source"], False)
        draw_stack("decoder.", c["tokens"], True)
    else:
        draw_stack("", c["tokens"], False)
    rows = d  # of the last matrix
    if c["form"] == "classes":
        if c["pool"] == "concat":
            rows = c["tokens"] * d
        if c["pool"] == "vector":
            draw("pool.w", d, 1, deviation=1.3 / math.sqrt(d))
        if c["pool"] == "foci":
            k, rows = c["pool_hidden"] or d, c["foci"] * d
            draw("pool.W_1", d, k, deviation=1.3 / math.sqrt(d))
            draw("pool.W_2", k, c["foci"], deviation=1.3)
    name, letter, outcomes = ("classify", "C", c["classes"]) if c["form"] == "classes" else \
        ("unembed", "U", VOCAB)
    if c["tied_head"] == "on":  # the head is the table of embeddings
        return made
    draw(f"{name}.W_{letter}", rows, outcomes, deviation=1 / math.sqrt(rows))
    if bias:
        draw(f"{name}.b_{letter}", outcomes, deviation=0.3)
    return made


# ---- the model ----

class Run:
    """One run; `kept` collects every tensor by its name, batch axis first. `inputs` are those of
    make_inputs(), the source_ids, and dropout's factors by the names of what they multiply."""

    def __init__(self, c, parameters, ids, inputs):
        self.c, self.w, self.ids, self.inputs = c, parameters, ids, inputs
        self.mask = inputs.get("mask")
        self.kept = {}
        self.checks = set()

    def drop(self, name, tensor):
        if name + ".dropout" not in self.inputs:
            return tensor
        return self.keep(name + ".dropped", tensor * self.inputs[name + ".dropout"])

    def keep(self, name, tensor):
        self.kept[name] = tensor
        return tensor

    def layer_norm(self, name, x):
        if self.c["norm"] == "rms":
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.w[name + ".w"]
        else:
            y = F.layer_norm(x, x.shape[-1:], self.w[name + ".w"], self.w.get(name + ".b"), EPSILON)
        return self.keep(name + ".normalized", y)

    def compute(self):
        c, w = self.c, self.w
        if c["form"] == "translate":
            self.mask = self.inputs.get("source_mask")
            encoded = self.stack("encoder.", self.inputs["source_ids"])
            self.mask = self.inputs.get("mask")
            x = self.stack("decoder.", self.ids, encoded)
        else:
            x = self.stack("", self.ids)
        name = "unembed.%s_U"
        if c["form"] == "classes":
            x = self.keep("pooled", self.pool(x))
            name = "classify.%s_C"
        head = w["embed.W_E"] if c["tied_head"] == "on" else w[name % "W"].T
        logits = self.keep("logits", F.linear(x, head, w.get(name % "b")))
        self.keep("probs", F.softmax(logits, dim=-1))

    def stack(self, root, ids, encoded=None):
        c, w = self.c, self.w
        x = self.keep(root + "embed", F.embedding(ids, w["embed.W_E"]))
        if c["positions"] in ("sinusoidal", "learned"):
            rows = w[root + "pos_embed.W_pos"] if c["positions"] == "learned" else \
                self.sinusoids(ids.shape[1])
            x = x + self.keep(root + "pos_embed", rows.expand_as(x).clone())
            if c["layers"] == 0:
                self.keep(root + "resid_pre", x)
        for layer in range(c["layers"]):
            x = self.block(f"{root}blocks.{layer}.", x, encoded)
        last = c["block"] == "pre-norm" and c["layers"] > 0
        return self.layer_norm(root + "ln_final", x) if last else x

    def pool(self, x):
        c, w, present = self.c, self.w, self.inputs["present"][..., None]
        if c["pool"] == "mean":
            return (x * present).sum(1) / present.sum(1)
        if c["pool"] == "cls":
            return x[:, 0]
        if c["pool"] == "last":
            last = present[..., 0].sum(1).long() - 1
            return x[torch.arange(len(x)), last]
        if c["pool"] == "concat":
            return (x * present).flatten(1)
        if c["pool"] == "vector":
            scores = x @ w["pool.w"]
        else:
            hidden = self.keep("pool.hidden", x @ w["pool.W_1"])
            scores = self.keep("pool.activated", hidden.tanh()) @ w["pool.W_2"]
        scores = self.keep("pool.scores", scores.transpose(1, 2)[:, None].clone())
        if "pool_mask" in self.inputs:
            scores = self.keep("pool.scores_masked", scores + self.inputs["pool_mask"][:, None])
        weights = self.keep("pool.weights", scores.softmax(-1))
        rows = self.keep("pool.rows", x[:, None])
        return self.keep("pool.sums", weights @ rows).flatten(1)

    def sinusoids(self, tokens):
        d = self.c["d_model"]
        rows = torch.zeros(tokens, d, dtype=torch.float64)
        for t in range(tokens):
            for even in range(0, d, 2):
                angle = t / 10000 ** (even / d)
                rows[t, even] = math.sin(angle)
                if even + 1 < d:
                    rows[t, even + 1] = math.cos(angle)
        return rows

    def turn(self, x):
        """Rotary positions by complex numbers: each pair of features is one, times e^(iθ)."""
        r = self.c["rotary_width"] or x.shape[-1]
        if self.c["rotary"] == "half":
            pairs = torch.stack([x[..., :r // 2], x[..., r // 2:r]], -1)
        else:
            pairs = x[..., :r].reshape(*x.shape[:-1], r // 2, 2)
        rates = self.c["rotary_base"] ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
        angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * rates
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) *
                                    torch.polar(torch.ones_like(angles), angles))
        if self.c["rotary"] == "half":
            turned = torch.cat([turned[..., 0], turned[..., 1]], -1)
        else:
            turned = turned.flatten(-2)
        return torch.cat([turned, x[..., r:]], -1)

    def block(self, at, x, encoded=None):
        c = self.c
        if encoded is not None:
            return self.decoder_block(at, x, encoded)
        residual = 1.0 if c["residual"] == "on" else 0.0
        self.keep(at + "resid_pre", x)
        if c["block"] == "attention":
            return self.keep(at + "resid_post", self.attention(at, x) + residual * x)
        if c["block"] == "pre-norm":
            mid = self.attention(at, self.layer_norm(at + "ln1", x)) + residual * x
            self.keep(at + "resid_mid", mid)
            post = self.feed_forward(at, self.layer_norm(at + "ln2", mid)) + residual * mid
        else:
            total = self.keep(at + "ln1.input", self.attention(at, x) + residual * x)
            mid = self.keep(at + "resid_mid", self.layer_norm(at + "ln1", total))
            total = self.keep(at + "ln2.input", self.feed_forward(at, mid) + residual * mid)
            post = self.layer_norm(at + "ln2", total)
        self.check_encoder_layer(at, x, post)
        return self.keep(at + "resid_post", post)

    def decoder_block(self, at, x, encoded):
        """Three sublayers: attention to the own row, attention to the encoder's, feed-forward."""
        c = self.c
        residual = 1.0 if c["residual"] == "on" else 0.0
        alone = c["block"] == "attention"
        self.keep(at + "resid_pre", x)
        start = x
        own_mask, cross_mask = self.mask, self.inputs.get("cross_mask")

        def cross(rows):
            self.mask = cross_mask
            found = self.attention(at, rows, encoded, "cross_attn")
            self.mask = own_mask
            return found

        sublayers = [("ln1", lambda rows: self.attention(at, rows), "resid_mid"),
                     ("ln2", cross, "resid_post" if alone else "resid_mid_cross")]
        if not alone:
            sublayers.append(("ln3", lambda rows: self.feed_forward(at, rows), "resid_post"))
        for norm, sublayer, name in sublayers:
            if c["block"] == "pre-norm":
                x = sublayer(self.layer_norm(at + norm, x)) + residual * x
            else:
                x = sublayer(x) + residual * x
                if c["block"] == "post-norm":
                    x = self.layer_norm(at + norm, self.keep(at + norm + ".input", x))
            self.keep(at + name, x)
        self.check_decoder_layer(at, start, encoded, x)
        return x

    def attention(self, at, x, source=None, name="attn"):
        """Queries from x, keys and values from `source` (x itself where there is none)."""
        block_at, at = at, at + name + "."
        c, w = self.c, self.w
        source = x if source is None else source
        heads, width = head_count(c), head_width(c)
        batch, tokens, d = x.shape
        if c["attention"] == "basic":
            q, k = x[:, None], source[:, None]
            v = k
        else:
            made = []
            for letter in "QKV":
                weight, bias = w[at + "W_" + letter], w.get(at + "b_" + letter)
                rows = x if letter == "Q" else source
                flat = weight.permute(0, 2, 1).reshape(-1, d)
                flat_bias = None if bias is None else bias.reshape(-1)
                self.keep(at + f"{letter.lower()}_proj", F.linear(rows, flat, flat_bias))
                per_head = torch.einsum("btm,hme->bhte", rows, weight)
                made.append(per_head if bias is None else per_head + bias[:, None, :])
            q, k, v = made
        for letter, tensor in zip("qkv", (q, k, v)):
            self.keep(at + letter, tensor)
        if c["positions"] == "rotary" and name == "attn":
            q, k = self.keep(at + "rot_q", self.turn(q)), self.keep(at + "rot_k", self.turn(k))
        k, v = (t.repeat_interleave(heads // t.shape[1], 1) for t in (k, v))

        if c["scores"] == "additive":
            pairs = torch.tanh(q[:, :, :, None, :] + k[:, :, None, :, :])
            scores = (pairs * w[at + "v"][:, None, None, :]).sum(-1)
        else:
            scores = q @ k.transpose(-1, -2)
        self.keep(at + "scores_raw", scores)
        if c["scale"] == "on":
            scores = self.keep(at + "scores_scaled", scores / math.sqrt(width))
        if self.mask is not None:
            scores = scores.masked_fill(self.mask[:, None] != 0, -math.inf)
            self.keep(at + "scores_masked", scores)
        forbidden_rows = torch.isinf(scores).all(-1, keepdim=True)
        # Zeros in place of a forbidden row, so that no NaN is made that a gradient would meet.
        safe = scores.masked_fill(forbidden_rows, 0.0) / c["temperature"]
        pattern = F.softmax(safe, dim=-1).masked_fill(forbidden_rows, 0.0)
        self.keep(at + "pattern", pattern)
        used = self.drop(at + "pattern", pattern)
        z = self.keep(at + "z", torch.einsum("bhqk,bhke->bhqe", used, v))
        if used is pattern:
            self.check_dot_product(q, k, v, z, forbidden_rows)
        concat = z.transpose(1, 2).reshape(batch, tokens, heads * width)
        self.keep(at + "concat", concat)
        if c["attention"] == "basic":
            out = concat
        else:
            out = torch.einsum("bhqe,hem->bqm", z, w[at + "W_O"])
            out = out + w.get(at + "b_O", 0.0)
        if used is pattern:
            self.check_multihead(at, x, source, pattern, out)
        self.keep(block_at + name + "_out", out)
        return self.drop(block_at + name + "_out", out)

    def feed_forward(self, at, x):
        w = self.w
        first, gated = "gate" if is_gated(self.c) else "in", is_gated(self.c)
        pre = self.keep(at + "mlp.pre", F.linear(x, w[at + "mlp.W_" + first].T,
                                                 w.get(at + "mlp.b_" + first)))
        act = {"relu": F.relu, "gelu": F.gelu, "geglu": F.gelu, "silu": F.silu, "swiglu": F.silu,
               "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[self.c["activation"]](pre)
        if gated:
            linear = F.linear(x, w[at + "mlp.W_in"].T, w.get(at + "mlp.b_in"))
            act = self.keep(at + "mlp.act", act) * self.keep(at + "mlp.pre_linear", linear)
        x = self.keep(at + "mlp.post", act)
        x = F.linear(x, w[at + "mlp.W_out"].T, w.get(at + "mlp.b_out"))
        return self.drop(at + "mlp_out", self.keep(at + "mlp_out", x))

    # ---- torch's own modules as witnesses ----

    def agree(self, what, ours, theirs):
        error = (ours - theirs).abs().max().item()
        if not error < 1e-10:
            sys.exit(f"{what} differs from torch's by {error}")
        self.checks.add(what)

    def check_dot_product(self, q, k, v, z, forbidden_rows):
        if self.c["scores"] == "additive":
            return
        q = q / self.c["temperature"]
        if self.c["scale"] == "off":
            q = q * math.sqrt(q.shape[-1])
        mask = None
        if self.mask is not None:
            mask = self.mask[:, None].expand(-1, q.shape[1], -1, -1)
        if hasattr(F, "scaled_dot_product_attention"):
            theirs = F.scaled_dot_product_attention(q, k, v, mask)
        elif hasattr(F, "_scaled_dot_product_attention"):  # its name in torch 1.13
            theirs = F._scaled_dot_product_attention(q, k, v, mask)[0]
        else:
            return
        # Rows without an allowed key are NaN there; here they are zeros by definition.
        self.agree("scaled_dot_product_attention", z, theirs.masked_fill(forbidden_rows, 0.0))

    def fits_torch_modules(self):
        """Their attention: bias everywhere, scale, d_head = d_model / heads, no empty row, nothing
        turned or shared."""
        c = self.c
        empty = self.mask is not None and (self.mask != 0).all(-1).any()
        return (c["attention"] == "narrow" and not c["d_head"] and c["scores"] == "dot" and
                c["scale"] == "on" and c["temperature"] == 1 and c["bias"] == "on" and not empty and
                c["positions"] != "rotary" and kv_head_count(c) == head_count(c))

    def fits_torch_layers(self):
        return (self.fits_torch_modules() and self.c["norm"] == "layer" and
                self.c["activation"] in ("relu", "gelu", "gelu-tanh"))

    def their_mask(self):
        if self.mask is None:
            return None
        return (self.mask != 0).repeat_interleave(head_count(self.c), dim=0)

    def fill_multihead(self, module, at):
        w, d = self.w, self.c["d_model"]
        with torch.no_grad():
            stacked = [w[at + "W_" + x].permute(0, 2, 1).reshape(d, d) for x in "QKV"]
            module.in_proj_weight.copy_(torch.cat(stacked))
            module.in_proj_bias.copy_(torch.cat([w[at + "b_" + x].reshape(-1) for x in "QKV"]))
            module.out_proj.weight.copy_(w[at + "W_O"].reshape(d, d).T)
            module.out_proj.bias.copy_(w[at + "b_O"])

    def check_multihead(self, at, x, source, pattern, out):
        if not self.fits_torch_modules():
            return
        module = torch.nn.MultiheadAttention(
            self.c["d_model"], self.c["heads"], batch_first=True, dtype=torch.float64)
        self.fill_multihead(module, at)
        theirs, weights = module(x, source, source, attn_mask=self.their_mask(), average_attn_weights=False)
        self.agree("MultiheadAttention", out, theirs)
        self.agree("MultiheadAttention", pattern, weights)

    def check_encoder_layer(self, at, x, post):
        c, w = self.c, self.w
        if not self.fits_torch_layers() or c["residual"] == "off" or self.drops():
            return
        activation = {"relu": F.relu, "gelu": F.gelu,
                      "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        module = torch.nn.TransformerEncoderLayer(
            c["d_model"], c["heads"], c["d_hidden"] or 4 * c["d_model"], dropout=0.0,
            activation=activation, layer_norm_eps=EPSILON, batch_first=True,
            norm_first=c["block"] == "pre-norm", dtype=torch.float64)
        self.fill_multihead(module.self_attn, at + "attn.")
        self.fill_rest(module, at, ((module.norm1, "ln1"), (module.norm2, "ln2")))
        self.agree("TransformerEncoderLayer", post, module(x, src_mask=self.their_mask()))

    def drops(self):
        return any(name.endswith(".dropout") for name in self.inputs)

    def check_decoder_layer(self, at, x, encoded, post):
        c = self.c
        if not self.fits_torch_layers() or c["residual"] == "off" or self.drops() or \
                c["block"] == "attention":
            return
        activation = {"relu": F.relu, "gelu": F.gelu,
                      "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        module = torch.nn.TransformerDecoderLayer(
            c["d_model"], c["heads"], c["d_hidden"] or 4 * c["d_model"], dropout=0.0,
            activation=activation, layer_norm_eps=EPSILON, batch_first=True,
            norm_first=c["block"] == "pre-norm", dtype=torch.float64)
        self.fill_multihead(module.self_attn, at + "attn.")
        self.fill_multihead(module.multihead_attn, at + "cross_attn.")
        self.fill_rest(module, at, ((module.norm1, "ln1"), (module.norm2, "ln2"),
                                    (module.norm3, "ln3")))
        own, mask = self.their_mask(), self.inputs.get("cross_mask")
        cross = None if mask is None else (mask != 0).repeat_interleave(head_count(c), dim=0)
        theirs = module(x, encoded, tgt_mask=own, memory_mask=cross)
        self.agree("TransformerDecoderLayer", post, theirs)

    def fill_rest(self, module, at, norms):
        w = self.w
        with torch.no_grad():
            for linear, end in ((module.linear1, "in"), (module.linear2, "out")):
                linear.weight.copy_(w[at + "mlp.W_" + end].T)
                linear.bias.copy_(w[at + "mlp.b_" + end])
            for norm, name in norms:
                norm.weight.copy_(w[at + name + ".w"])
                norm.bias.copy_(w[at + name + ".b"])


# ---- files ----

def metadata(c):
    """The configuration as words; safetensors allows only strings here."""
    words = {}
    for key, value in c.items():
        if key in LATER and value == LATER[key]:
            continue
        if key == "padding":
            # A list for each item of the batch has no word; such a mask is only in the file.
            value = ",".join(map(str, value)) if c["batch"] == 1 else ""
        elif key == "forbidden":
            value = ",".join(f"{query}:{key}" for query, key in value)
        if not isinstance(value, list):  # lengths stand in the masks
            words[key] = str(value)
    padded = "on" if c["lengths"] or c["source_lengths"] else "off"
    return words | {"vocab": str(VOCAB), "padded": padded}


def write_safetensors(path, tensors, words):
    """8 bytes of header length, the header as JSON, the numbers (little endian)."""
    header, blobs, offset = {"__metadata__": words}, [], 0
    for name, tensor in tensors.items():
        numbers = tensor.detach().float().reshape(-1).tolist()
        blob = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def make(name, changes, folder):
    c = DEFAULTS | changes
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    parameters = make_parameters(c, generator)
    ids = torch.randint(0, VOCAB, (c["batch"], c["tokens"]), generator=generator)
    inputs = make_inputs(c)
    if c["source"]:
        inputs["source_ids"] = torch.randint(0, VOCAB, (c["batch"], c["source"]),
                                             generator=generator)
    tensors = {"token_ids": ids.double()} | read_inputs(c, inputs)
    run = Run(c, parameters, ids, inputs)
    run.compute()
    tensors |= run.kept
    if c["batch"] == 1:
        tensors = {key: tensor[0] for key, tensor in tensors.items()}
    tensors |= {"param:" + key: tensor for key, tensor in parameters.items()}
    path = folder / (name + ".safetensors")
    write_safetensors(path, tensors, metadata(c))
    print(f"{path.name}: {len(run.kept)} tensors, {path.stat().st_size} bytes; agrees with "
          f"{', '.join(sorted(run.checks)) or 'no module of torch (none computes this)'}")
    return path.stat().st_size, run.checks


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    total, seen = 0, set()
    for name, changes in CONFIGS.items():
        size, checks = make(name, changes, folder)
        total, seen = total + size, seen | checks
    print(f"{len(CONFIGS)} files, {total} bytes, torch {torch.__version__}")
    missing = {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"} - seen
    if missing:
        sys.exit(f"no configuration was checked against {missing}")


if __name__ == "__main__":
    main()
