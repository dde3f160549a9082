#!/usr/bin/env python3
"""Makes the reference numbers that tests/test_reference.cpp compares every backend with.

An implementation of the recipes in PyTorch that shares nothing with core/: torch's own functions
wherever they exist, float64 throughout, stored as float32. One .safetensors file per configuration:

  __metadata__      the configuration, by the words of the command line
  token_ids, mask   the inputs of the run
  param:NAME        a weight, NAME as in a weights file
  NAME              a tensor of the run

With a batch of 1 the batch axis is left out. Needs only torch:

  python3 tests/reference/make_reference.py [folder]     (default: the folder of this script)

Layers that torch has a module for are also computed by that module (MultiheadAttention,
TransformerEncoderLayer) and by scaled_dot_product_attention; the script fails if they differ.
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
    batch=1, tokens=6, temperature=1.0)

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
}


# ---- sizes and masks, by the formulas of the design ----

def head_count(c):
    return 1 if c["attention"] in ("basic", "single") else c["heads"]


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
    causal = {"on": True, "off": False, "auto": kind in ("causal", "local", "strided")}[c["causal"]]
    if causal and kind != "none":
        allowed = allowed & torch.ones(n, n, dtype=torch.bool).tril()
    return allowed


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
    if c["positions"] == "learned":
        draw("pos_embed.W_pos", c["tokens"], d, deviation=0.5)

    def draw_norm(name):
        draw(name + ".w", d, deviation=0.3, mean=1.0)
        if bias:
            draw(name + ".b", d, deviation=0.3)

    for layer in range(c["layers"]):
        at = f"blocks.{layer}."
        if c["attention"] != "basic":
            for letter in "QKV":
                draw(at + "attn.W_" + letter, heads, d, width, deviation=1.3 / math.sqrt(d))
                if bias:
                    draw(at + "attn.b_" + letter, heads, width, deviation=0.3)
            draw(at + "attn.W_O", heads, width, d, deviation=1 / math.sqrt(heads * width))
            if bias:
                draw(at + "attn.b_O", d, deviation=0.3)
        if c["scores"] == "additive":
            draw(at + "attn.v", heads, width)
        if c["block"] != "attention":
            draw_norm(at + "ln1")
            draw_norm(at + "ln2")
            draw(at + "mlp.W_in", d, hidden, deviation=1 / math.sqrt(d))
            draw(at + "mlp.W_out", hidden, d, deviation=1 / math.sqrt(hidden))
            if bias:
                draw(at + "mlp.b_in", hidden, deviation=0.3)
                draw(at + "mlp.b_out", d, deviation=0.3)
    if c["block"] == "pre-norm":
        draw_norm("ln_final")
    draw("unembed.W_U", d, VOCAB, deviation=1 / math.sqrt(d))
    if bias:
        draw("unembed.b_U", VOCAB, deviation=0.3)
    return made


# ---- the model ----

class Run:
    """One run; `kept` collects every tensor by its name, batch axis first."""

    def __init__(self, c, parameters, ids, mask):
        self.c, self.w, self.ids, self.mask = c, parameters, ids, mask
        self.kept = {}
        self.checks = set()

    def keep(self, name, tensor):
        self.kept[name] = tensor
        return tensor

    def layer_norm(self, name, x):
        y = F.layer_norm(x, x.shape[-1:], self.w[name + ".w"], self.w.get(name + ".b"), EPSILON)
        return self.keep(name + ".normalized", y)

    def compute(self):
        c, w = self.c, self.w
        x = self.keep("embed", F.embedding(self.ids, w["embed.W_E"]))
        if c["positions"] != "none":
            rows = w["pos_embed.W_pos"] if c["positions"] == "learned" else self.sinusoids()
            x = x + self.keep("pos_embed", rows.expand_as(x).clone())
        for layer in range(c["layers"]):
            x = self.block(f"blocks.{layer}.", x)
        if c["block"] == "pre-norm":
            x = self.layer_norm("ln_final", x)
        logits = self.keep("logits", F.linear(x, w["unembed.W_U"].T, w.get("unembed.b_U")))
        self.keep("probs", F.softmax(logits, dim=-1))

    def sinusoids(self):
        d = self.c["d_model"]
        rows = torch.zeros(self.c["tokens"], d, dtype=torch.float64)
        for t in range(self.c["tokens"]):
            for even in range(0, d, 2):
                angle = t / 10000 ** (even / d)
                rows[t, even] = math.sin(angle)
                if even + 1 < d:
                    rows[t, even + 1] = math.cos(angle)
        return rows

    def block(self, at, x):
        c = self.c
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

    def attention(self, at, x):
        c, w = self.c, self.w
        heads, width = head_count(c), head_width(c)
        batch, tokens, d = x.shape
        if c["attention"] == "basic":
            q = k = v = x[:, None]
        else:
            made = []
            for letter in "QKV":
                weight, bias = w[at + "attn.W_" + letter], w.get(at + "attn.b_" + letter)
                flat = weight.permute(0, 2, 1).reshape(heads * width, d)
                flat_bias = None if bias is None else bias.reshape(-1)
                self.keep(at + f"attn.{letter.lower()}_proj", F.linear(x, flat, flat_bias))
                per_head = torch.einsum("btm,hme->bhte", x, weight)
                made.append(per_head if bias is None else per_head + bias[:, None, :])
            q, k, v = made
        for letter, tensor in zip("qkv", (q, k, v)):
            self.keep(at + "attn." + letter, tensor)

        if c["scores"] == "additive":
            pairs = torch.tanh(q[:, :, :, None, :] + k[:, :, None, :, :])
            scores = (pairs * w[at + "attn.v"][:, None, None, :]).sum(-1)
        else:
            scores = q @ k.transpose(-1, -2)
        self.keep(at + "attn.scores_raw", scores)
        if c["scale"] == "on":
            scores = self.keep(at + "attn.scores_scaled", scores / math.sqrt(width))
        if self.mask is not None:
            scores = scores.masked_fill(self.mask[:, None] != 0, -math.inf)
            self.keep(at + "attn.scores_masked", scores)
        forbidden_rows = torch.isinf(scores).all(-1, keepdim=True)
        # Zeros in place of a forbidden row, so that no NaN is made that a gradient would meet.
        safe = scores.masked_fill(forbidden_rows, 0.0) / c["temperature"]
        pattern = F.softmax(safe, dim=-1).masked_fill(forbidden_rows, 0.0)
        self.keep(at + "attn.pattern", pattern)
        z = self.keep(at + "attn.z", torch.einsum("bhqk,bhke->bhqe", pattern, v))
        self.check_dot_product(q, k, v, z, forbidden_rows)
        concat = z.transpose(1, 2).reshape(batch, tokens, heads * width)
        self.keep(at + "attn.concat", concat)
        if c["attention"] == "basic":
            out = concat
        else:
            out = torch.einsum("bhqe,hem->bqm", z, w[at + "attn.W_O"])
            out = out + w.get(at + "attn.b_O", 0.0)
        self.check_multihead(at, x, pattern, out)
        return self.keep(at + "attn_out", out)

    def feed_forward(self, at, x):
        w = self.w
        x = self.keep(at + "mlp.pre", F.linear(x, w[at + "mlp.W_in"].T, w.get(at + "mlp.b_in")))
        x = {"relu": F.relu, "gelu": F.gelu,
             "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[self.c["activation"]](x)
        self.keep(at + "mlp.post", x)
        x = F.linear(x, w[at + "mlp.W_out"].T, w.get(at + "mlp.b_out"))
        return self.keep(at + "mlp_out", x)

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
        """Their attention: bias everywhere, scale, d_head = d_model / heads, no empty row."""
        c = self.c
        empty = self.mask is not None and (self.mask != 0).all(-1).any()
        return (c["attention"] == "narrow" and not c["d_head"] and c["scores"] == "dot" and
                c["scale"] == "on" and c["temperature"] == 1 and c["bias"] == "on" and not empty)

    def their_mask(self):
        if self.mask is None:
            return None
        return (self.mask != 0).repeat_interleave(head_count(self.c), dim=0)

    def fill_multihead(self, module, at):
        w, d = self.w, self.c["d_model"]
        with torch.no_grad():
            stacked = [w[at + "attn.W_" + x].permute(0, 2, 1).reshape(d, d) for x in "QKV"]
            module.in_proj_weight.copy_(torch.cat(stacked))
            module.in_proj_bias.copy_(torch.cat([w[at + "attn.b_" + x].reshape(-1) for x in "QKV"]))
            module.out_proj.weight.copy_(w[at + "attn.W_O"].reshape(d, d).T)
            module.out_proj.bias.copy_(w[at + "attn.b_O"])

    def check_multihead(self, at, x, pattern, out):
        if not self.fits_torch_modules():
            return
        module = torch.nn.MultiheadAttention(
            self.c["d_model"], self.c["heads"], batch_first=True, dtype=torch.float64)
        self.fill_multihead(module, at)
        theirs, weights = module(x, x, x, attn_mask=self.their_mask(), average_attn_weights=False)
        self.agree("MultiheadAttention", out, theirs)
        self.agree("MultiheadAttention", pattern, weights)

    def check_encoder_layer(self, at, x, post):
        c, w = self.c, self.w
        if not self.fits_torch_modules() or c["residual"] == "off":
            return
        activation = {"relu": F.relu, "gelu": F.gelu,
                      "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        module = torch.nn.TransformerEncoderLayer(
            c["d_model"], c["heads"], c["d_hidden"] or 4 * c["d_model"], dropout=0.0,
            activation=activation, layer_norm_eps=EPSILON, batch_first=True,
            norm_first=c["block"] == "pre-norm", dtype=torch.float64)
        self.fill_multihead(module.self_attn, at)
        with torch.no_grad():
            for linear, end in ((module.linear1, "in"), (module.linear2, "out")):
                linear.weight.copy_(w[at + "mlp.W_" + end].T)
                linear.bias.copy_(w[at + "mlp.b_" + end])
            for norm, name in ((module.norm1, "ln1"), (module.norm2, "ln2")):
                norm.weight.copy_(w[at + name + ".w"])
                norm.bias.copy_(w[at + name + ".b"])
        self.agree("TransformerEncoderLayer", post, module(x, src_mask=self.their_mask()))


# ---- files ----

def metadata(c):
    """The configuration as words; safetensors allows only strings here."""
    words = {}
    for key, value in c.items():
        if key == "padding":
            # A list for each item of the batch has no word; such a mask is only in the file.
            value = ",".join(map(str, value)) if c["batch"] == 1 else ""
        elif key == "forbidden":
            value = ",".join(f"{query}:{key}" for query, key in value)
        words[key] = str(value)
    return words | {"vocab": str(VOCAB)}


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
    tensors = {"token_ids": ids.double()}
    mask = None
    if c["mask"] != "none":
        allowed = torch.stack([allowed_keys(c, item) for item in range(c["batch"])])
        mask = torch.zeros(allowed.shape, dtype=torch.float64).masked_fill(~allowed, -math.inf)
        tensors["mask"] = mask
    run = Run(c, parameters, ids, mask)
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
    missing = {"MultiheadAttention", "TransformerEncoderLayer"} - seen
    if missing:
        sys.exit(f"no configuration was checked against {missing}")


if __name__ == "__main__":
    main()
