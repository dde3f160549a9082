"""A transformer as Headlight computes it, in plain PyTorch: what config.json and model.safetensors
beside this file describe.

  model = load("FOLDER")
  logits = model(ids)["logits"]              # ids (batch, position)

Parameters have Headlight's names and axes: blocks.0.attn.W_Q is (head, d_model, d_head). Only what
config.json may ask for is here; Config refuses what is not.
"""

import ctypes
import dataclasses
import json
import math
import pathlib
import struct
import typing

import torch
import torch.nn.functional as F
from torch import nn


# ---- what the model is ----

@dataclasses.dataclass
class Config:
    vocab: int
    context: int
    classes: int = 0
    source: int = 0  # the most source tokens of an encoder-decoder
    source_vocab: int = 0  # 0: the encoder shares the decoder's table
    separator: int = -1  # the id of [SEP], where rows have segments

    form: str = "tokens"  # or classes, translate
    layers: int = 2
    encoder_layers: int = 0
    heads: int = 4
    kv_heads: int = 0
    d_model: int = 64
    d_head: int = 0
    d_value: int = 0
    d_hidden: int = 0
    attention: str = "narrow"
    scores: str = "dot"
    scale: bool = True
    score_scale: float = 0.0
    softcap: float = 0.0
    temperature: float = 1.0
    block: str = "pre-norm"
    norm: str = "layer"
    norm_epsilon: float = 1e-5
    activation: str = "gelu"
    positions: str = "sinusoidal"
    sinusoid: str = "interleaved"
    position_offset: int = 0
    embed_scale: bool = False
    embed_norm: bool = False
    rotary: str = "half"
    rotary_base: float = 10000.0
    rotary_width: int = 0
    rotary_scaling: str = "none"
    rotary_factor: float = 1.0
    rotary_low: float = 1.0
    rotary_high: float = 4.0
    rotary_context: int = 8192
    relative_reach: int = 16
    t5_buckets: int = 32
    t5_reach: int = 128
    mixer: str = "attention"  # or none
    experts: int = 0
    top_experts: int = 0
    balance: float = 0.0
    bias: bool = True
    qkv_bias: typing.Optional[bool] = None
    output_bias: typing.Optional[bool] = None
    mlp_bias: typing.Optional[bool] = None
    head_bias: typing.Optional[bool] = None
    tied_head: bool = False
    head_transform: bool = False
    residual: bool = True
    output_projection: bool = True
    bias_kv: bool = False
    zero_attention: bool = False
    pool: str = "mean"
    foci: int = 3
    pool_hidden: int = 0
    foci_penalty: float = 0.0
    pooler: str = "none"
    token_head: bool = False
    segments: bool = False
    segment_rows: int = 2
    mask: dict = dataclasses.field(default_factory=lambda: {"kind": "causal"})
    local_layers: typing.List[int] = dataclasses.field(default_factory=list)
    local_window: int = 0
    # These change no number of a run.
    seed: int = 1
    average_weights: bool = False
    fused_attention: bool = False

    def __post_init__(self):
        if self.mixer not in ("attention", "none"):
            raise ValueError(f"model.py has no mixer '{self.mixer}'")
        odd = {"added", "by_head", "source_padding"} & set(self.mask)
        if odd or self.mask["kind"] not in ("none", "causal", "local", "strided"):
            raise ValueError(f"model.py has no mask {self.mask}")
        one_head = self.attention in ("basic", "single")
        self.heads = 1 if one_head or self.mixer == "none" else self.heads
        self.kv_heads = self.kv_heads if self.kv_heads and self.heads > 1 else self.heads
        if self.attention == "basic":
            self.d_head = self.d_value = self.d_model
        elif not self.d_head:
            self.d_head = self.d_model // self.heads if self.attention == "narrow" else self.d_model
        self.d_value = self.d_value or self.d_head
        self.d_hidden = self.d_hidden or 4 * self.d_model
        self.encoder_layers = self.encoder_layers or self.layers

    @classmethod
    def read(cls, folder):
        folder = pathlib.Path(folder)
        file = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        sizes = ("vocab", "context", "source", "source_vocab")
        own = {key: file[key] for key in sizes if key in file}
        export = pathlib.Path(__file__).parent / "pytorch.json"
        if export.exists():
            own["separator"] = json.loads(export.read_text(encoding="utf-8")).get("separator", -1)
        return cls(classes=len(file.get("classes", [])), **own, **file["model"])

    def has_bias(self, of):
        own = getattr(self, of + "_bias")
        return self.bias if own is None else own

    @property
    def causal(self):
        kind = self.mask["kind"]
        return kind == "causal" or kind != "none" and self.mask.get("causal", True)

    @property
    def extra_keys(self):
        return self.bias_kv + self.zero_attention if self.mixer == "attention" else 0

    @property
    def norms_before(self):
        return self.block in ("pre-norm", "attention-norm", "parallel") and self.norm != "none"

    @property
    def has_mlp(self):
        return self.block in ("pre-norm", "post-norm", "parallel")


# ---- what is left out of a step ----

def scatter(x):
    """SplitMix64's finaliser; x holds 64 bits each, a Python number or a tensor of int64."""
    if isinstance(x, int):
        x = (x + 0x9E3779B97F4A7C15) % 2 ** 64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2 ** 64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2 ** 64
        return x ^ x >> 31

    def right(y, n):  # zeros come in from the left, also behind a sign
        return (y >> n) & (2 ** (64 - n) - 1)

    x = x + signed(0x9E3779B97F4A7C15)
    x = (x ^ right(x, 30)) * signed(0xBF58476D1CE4E5B9)
    x = (x ^ right(x, 27)) * signed(0x94D049BB133111EB)
    return x ^ right(x, 31)


def signed(x):
    return x - 2 ** 64 if x >= 2 ** 63 else x


class Dropout:
    """Headlight's own: whether a cell is left out follows from the seed, the step, the cell and the
    place of its row in the whole batch. So it does not matter how many processes share a batch."""

    def __init__(self, rate, seed, step, first_row=0):
        self.rate, self.seed, self.step, self.first_row = rate, seed, step, first_row

    def __call__(self, name, x):
        if self.rate == 0:
            return x
        key = 0xCBF29CE484222325  # FNV-1a of the name
        for byte in (name + ".dropout").encode():
            key = (key ^ byte) * 0x100000001B3 % 2 ** 64
        key = scatter((scatter(scatter(self.seed) ^ key) + self.step) % 2 ** 64)
        first = self.first_row * x[0].numel()
        place = torch.arange(first, first + x.numel(), device=x.device)
        bits = scatter(place * signed(0xD1342543DE82EF95) + signed(key))
        kept = ((bits >> 11) & (2 ** 53 - 1)) >= int(self.rate * 2 ** 53)
        return x * kept.view(x.shape) * (1 / (1 - self.rate))


NO_DROPOUT = Dropout(0, 0, 0)


# ---- pieces ----

class Weights(nn.Module):
    """Parameters by their names and shapes; one without a shape is not there."""

    def __init__(self, **shapes):
        super().__init__()
        for name, shape in shapes.items():
            value = None if shape is None else nn.Parameter(torch.zeros(shape))
            self.register_parameter(name, value)


class Norm(Weights):
    def __init__(self, c):
        layer = c.norm == "layer"
        super().__init__(w=(c.d_model,), b=(c.d_model,) if c.bias and layer else None)
        self.layer, self.epsilon = layer, c.norm_epsilon

    def forward(self, x):
        if self.layer:
            return F.layer_norm(x, x.shape[-1:], self.w, self.b, self.epsilon)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.w


def linear(x, w, b=None):
    """x W + b, W (from, to)."""
    return x @ w if b is None else x @ w + b


def activated(c, x):
    if c.activation in ("gelu", "geglu"):
        return F.gelu(x)
    if c.activation == "gelu-tanh":
        return F.gelu(x, approximate="tanh")
    return F.relu(x) if c.activation == "relu" else F.silu(x)


class FeedForward(Weights):
    def __init__(self, c):
        d, h, biased = c.d_model, c.d_hidden, c.has_bias("mlp")
        gated = c.activation in ("swiglu", "geglu")
        super().__init__(
            W_gate=(d, h) if gated else None, b_gate=(h,) if gated and biased else None,
            W_in=(d, h), b_in=(h,) if biased else None,
            W_out=(h, d), b_out=(d,) if biased else None)
        self.c = c

    def forward(self, x):
        h = linear(x, self.W_in, self.b_in)
        if self.W_gate is None:
            h = activated(self.c, h)
        else:
            h = activated(self.c, linear(x, self.W_gate, self.b_gate)) * h
        return linear(h, self.W_out, self.b_out)


class Experts(Weights):
    """Several feed-forward networks, and a gate that says how much each is heard. All are computed,
    also where only the best are heard."""

    def __init__(self, c):
        e, d, h, biased = c.experts, c.d_model, c.d_hidden, c.has_bias("mlp")
        super().__init__(
            W_G=(d, e), b_G=(e,) if biased else None,
            W_in=(e, d, h), b_in=(e, h) if biased else None,
            W_out=(e, h, d), b_out=(e, d) if biased else None)
        self.c, self.gate = c, None

    def forward(self, x):
        c = self.c
        self.gate = gate = linear(x, self.W_G, self.b_G).softmax(-1)
        if c.top_experts:
            best, which = gate.topk(c.top_experts)
            if c.top_experts > 1:  # a single one keeps its weight, or the gate would learn nothing
                best = best / best.sum(-1, keepdim=True)
            gate = torch.zeros_like(gate).scatter(-1, which, best)
        h = torch.einsum("btd,edh->beth", x, self.W_in)
        h = activated(c, h if self.b_in is None else h + self.b_in[:, None])
        y = torch.einsum("beth,ehd->betd", h, self.W_out)
        y = y if self.b_out is None else y + self.b_out[:, None]
        return torch.einsum("bte,betd->btd", gate, y)

    def load(self, present):
        """(batch): C · E · Σ share · mean weight, which is least where all are loaded alike."""
        c, gate, best = self.c, self.gate, self.c.top_experts or 1
        chosen = torch.zeros_like(gate).scatter(-1, gate.topk(best).indices, 1.0)
        tokens = present.sum(1, keepdim=True)
        share = (chosen * present[..., None]).sum(1) / (best * tokens)
        mean = (gate * present[..., None]).sum(1) / tokens
        return c.balance * c.experts * (share * mean).sum(-1)


# ---- positions ----

def sinusoid(places, width, kind="interleaved"):
    """(place, width), places of float64."""
    pairs = (width + 1) // 2
    pair = torch.arange(pairs, dtype=torch.float64, device=places.device)
    power = pair / max(1, pairs - 1) if kind == "halves-to-end" else 2 * pair / width
    angles = places[:, None] / 10000.0 ** power
    waves = [angles.sin(), angles.cos()]
    rows = torch.stack(waves, -1).flatten(1) if kind == "interleaved" else torch.cat(waves, 1)
    return rows[:, :width]


def rotary_rates(c, width):
    rates = c.rotary_base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    if c.rotary_scaling == "none":
        return rates
    slowed = rates / c.rotary_factor
    if c.rotary_scaling == "linear":
        return slowed
    turns = c.rotary_context * rates / (2 * math.pi)
    smooth = ((turns - c.rotary_low) / (c.rotary_high - c.rotary_low)).clamp(0, 1)
    return (1 - smooth) * slowed + smooth * rates


def rotated(c, x):
    """x (batch, head, position, d_head); pairs of features turn by the angle of the position."""
    width, half = c.rotary_width or x.shape[-1], (c.rotary_width or x.shape[-1]) // 2
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * rotary_rates(c, width)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    own, rest = x[..., :width], x[..., width:]
    if c.rotary == "half":
        a, b = own[..., :half], own[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], -1)
    a, b = own[..., 0::2], own[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    return torch.cat([turned, rest], -1)


def slopes(heads):
    """ALiBi's; where the heads are no power of two, those of the next smaller one come first."""
    power = 2 ** int(math.log2(heads))
    made = [2.0 ** (-8 / power * (h + 1)) for h in range(min(heads, power))]
    return made + [2.0 ** (-4 / power * (2 * h + 1)) for h in range(heads - power)]


def bucket(c, distance, causal):
    """T5's: half of the buckets have a distance each, the others ever longer stretches."""
    count = max(1, c.t5_buckets if causal else c.t5_buckets // 2)
    exact, behind = count // 2, distance < 0
    first = min(count, c.t5_buckets - 1) if behind and not causal else 0
    n = (0 if causal else -distance) if behind else distance
    if n < exact or exact == 0:
        return first + (0 if exact == 0 else n)
    far = count - 1
    if n < c.t5_reach:
        part = math.log(n / exact) / math.log(c.t5_reach / exact)
        far = min(far, exact + int(part * (count - exact) + 1e-9))
    return first + far


class Distances(Weights):
    """What all layers of a stack know of how far a key is behind its query."""

    def __init__(self, c, causal):
        xl, t5 = (c.positions == kind and c.layers > 0 for kind in ("transformer-xl", "t5"))
        rows = (c.heads, c.d_head) if xl else None
        super().__init__(b_D=(c.heads, c.t5_buckets) if t5 else None, u=rows, v=rows)
        self.c, self.causal = c, causal

    def behind(self, n, device):
        places = torch.arange(n, device=device)
        return places[:, None] - places[None, :]

    def waves(self, n, like):
        """A row for each distance, from the key farthest ahead that may be seen."""
        first = 0 if self.causal else 1 - n
        places = torch.arange(first, n, dtype=torch.float64, device=like.device)
        return sinusoid(places, self.c.d_model).to(like)

    def row(self, n, device):
        """(query, key): which of these rows."""
        behind = self.behind(n, device)
        return behind.clamp(min=0) if self.causal else behind + n - 1

    def bias(self, scores):
        """What a distance adds to scaled scores."""
        n = scores.shape[-1]
        if self.c.positions == "alibi":
            slope = torch.tensor(slopes(self.c.heads)).to(scores)
            return scores - slope[:, None, None] * self.behind(n, scores.device).abs()
        if self.c.positions != "t5":
            return scores
        buckets = torch.tensor([bucket(self.c, d, self.causal) for d in range(1 - n, n)],
                               device=scores.device)
        return scores + self.b_D[:, buckets[self.behind(n, scores.device) + n - 1]]


# ---- attention ----

class Attention(Weights):
    """Of a row to itself, or (`distances` is None) to what an encoder made."""

    def __init__(self, c, name, distances):
        d, heads, kv, width, values = c.d_model, c.heads, c.kv_heads, c.d_head, c.d_value
        basic, biased, by = c.attention == "basic", c.has_bias("qkv"), c.positions
        out = not basic and c.output_projection
        shapes = dict(
            W_Q=(heads, d, width), b_Q=(heads, width) if biased else None,
            W_K=(kv, d, width), b_K=(kv, width) if biased else None,
            W_V=(kv, d, values), b_V=(kv, values) if biased else None)
        shapes = {} if basic else shapes
        rows = (2 * c.relative_reach + 1, width) if distances and by == "relative" else None
        xl = distances and by == "transformer-xl" and not basic
        super().__init__(
            **shapes, W_O=(heads, values, d) if out else None,
            b_O=(d,) if out and c.has_bias("output") else None,
            v=(heads, width) if c.scores == "additive" else None,
            bias_K=(kv, width) if c.bias_kv else None, bias_V=(kv, values) if c.bias_kv else None,
            a_K=rows, a_V=rows, W_R=(heads, d, width) if xl else None)
        self.c, self.name = c, name
        self.distances = [distances]  # in a list, that it is not a module of each layer

    def projected(self, x, letter):
        w, b = getattr(self, "W_" + letter), getattr(self, "b_" + letter)
        y = torch.einsum("btd,hde->bhte", x, w)
        return y if b is None else y + b[:, None]

    def extended(self, x, row):
        """x with the keys or values of no token behind it: a learned one, zeros."""
        if row is not None:
            x = torch.cat([x, row[None, :, None].expand(len(x), -1, 1, -1)], 2)
        return F.pad(x, (0, 0, 0, 1)) if self.c.zero_attention else x

    def by_distance(self, q, scores):
        """Scores with what rows by distance add, before they are scaled."""
        c, distances, n = self.c, self.distances[0], q.shape[2]
        if c.positions == "relative":
            reach = c.relative_reach
            rows = self.a_K[distances.behind(n, q.device).clamp(-reach, reach) + reach]
            return scores + torch.einsum("bhie,ije->bhij", q, rows)
        if c.positions != "transformer-xl":
            return scores
        keys = distances.waves(n, q)[None]
        if self.W_R is not None:
            keys = torch.einsum("zd,hde->hze", keys[0], self.W_R)
        found = torch.einsum("bhie,hze->bhiz", q + distances.v[:, None], keys)
        row = distances.row(n, q.device).expand(len(q), c.heads, -1, -1)
        return scores + found.gather(-1, row)

    def pattern(self, q, k, allowed):
        c, distances = self.c, self.distances[0]
        asks = q
        if distances and c.positions == "transformer-xl":
            asks = q + distances.u[:, None]
        if c.scores == "additive":
            pairs = torch.tanh(asks[:, :, :, None] + k[:, :, None])
            scores = (pairs * self.v[:, None, None]).sum(-1)
        else:
            scores = asks @ k.transpose(-1, -2)
        if distances:
            scores = self.by_distance(q, scores)
        if c.scale:
            scores = scores * (c.score_scale or 1 / math.sqrt(c.d_head))
        if c.softcap:
            scores = c.softcap * torch.tanh(scores / c.softcap)
        if distances:
            scores = distances.bias(scores)
        if allowed is None:
            return (scores / c.temperature).softmax(-1)
        # A query that may look at nothing, which only padding can be, hears nothing.
        some = allowed.any(-1, keepdim=True)
        scores = scores.masked_fill(~allowed & some, -math.inf)
        return (scores / c.temperature).softmax(-1) * some

    def forward(self, x, source, allowed, dropout):
        """allowed (batch or 1, 1, query, key), or None: every key."""
        c = self.c
        if c.attention == "basic":
            q, k, v = x[:, None], source[:, None], source[:, None]
        else:
            q, k, v = (self.projected(*part) for part in ((x, "Q"), (source, "K"), (source, "V")))
        if self.distances[0] and c.positions == "rotary":
            q, k = rotated(c, q), rotated(c, k)
        k, v = self.extended(k, self.bias_K), self.extended(v, self.bias_V)
        k, v = (y.repeat_interleave(c.heads // c.kv_heads, 1) for y in (k, v))
        pattern = dropout(self.name + ".pattern", self.pattern(q, k, allowed))
        z = pattern @ v
        if self.a_V is not None:
            reach = c.relative_reach
            rows = self.distances[0].behind(x.shape[1], x.device).clamp(-reach, reach) + reach
            z = z + torch.einsum("bhij,ije->bhie", pattern, self.a_V[rows])
        if self.W_O is None:
            return z.transpose(1, 2).flatten(2)
        y = torch.einsum("bhte,hed->btd", z, self.W_O)
        return y if self.b_O is None else y + self.b_O


# ---- layers ----

class Block(nn.Module):
    def __init__(self, c, at, distances, crosses):
        super().__init__()
        self.c, self.at = c, at
        parts = []  # what the layer does, in its order
        if c.mixer == "attention":
            self.attn = Attention(c, at + "attn", distances)
            parts.append("attn")
        if crosses:
            self.cross_attn = Attention(c, at + "cross_attn", None)
            parts.append("cross_attn")
        if c.has_mlp:
            self.mlp = Experts(c) if c.experts else FeedForward(c)
            parts.append("mlp")
        first = 2 if c.mixer == "none" else 1
        self.parts = [(name, f"ln{first + i}") for i, name in enumerate(parts)]
        for _, ln in self.parts:
            if c.norm != "none" and c.block != "attention":
                setattr(self, ln, Norm(c))

    def forward(self, x, allowed, encoded, across, dropout):
        c, start = self.c, x
        for i, (name, ln) in enumerate(self.parts):
            y = start if c.block == "parallel" else x
            if c.norms_before:
                y = getattr(self, ln)(y)
            part = getattr(self, name)
            if name == "attn":
                change = part(y, y, allowed, dropout)
            else:
                change = part(y, encoded, across, dropout) if name == "cross_attn" else part(y)
            change = dropout(f"{self.at}{name}_out", change)
            x = x + change if c.residual or (c.block == "parallel" and i > 0) else change
            if c.block == "post-norm" and c.norm != "none":
                x = getattr(self, ln)(x)
        return x


class Stack(nn.Module):
    """Rows of embeddings through all layers: the whole model, its encoder or its decoder."""

    def __init__(self, c, root, layers, places, crosses):
        super().__init__()
        self.c, self.encodes = c, root == "encoder."
        if c.positions == "learned":
            self.pos_embed = Weights(W_pos=(c.position_offset + places, c.d_model))
        if c.embed_norm:
            self.ln_embed = Norm(c)
        self.rel_pos = Distances(c, c.causal and not self.encodes)
        self.blocks = nn.ModuleList(
            Block(c, f"{root}blocks.{i}.", self.rel_pos, crosses) for i in range(layers))
        if c.norms_before and c.layers > 0:
            self.ln_final = Norm(c)

    def allowed(self, tokens, lengths, layer, device):
        """(batch or 1, 1, query, key): which keys a query may look at. An encoder forbids padding
        alone; where no query looks ahead, none that counts meets padding."""
        c, local = self.c, layer in self.c.local_layers and not self.encodes
        i, j = torch.arange(tokens, device=device)[:, None], torch.arange(tokens, device=device)
        ok = torch.ones(1, 1, tokens, tokens, dtype=torch.bool, device=device)
        kind, distance = "none" if self.encodes else c.mask["kind"], (i - j).abs()
        if kind == "local":
            ok = ok & (distance <= c.mask["window"])
        if kind == "strided":
            ok = ok & ((distance < c.mask["stride"]) | (distance % c.mask["stride"] == 0))
        if self.rel_pos.causal:
            ok = ok & (j <= i)
        elif lengths is not None:
            ok = ok & (j < lengths[:, None, None, None])
        if local:
            ok = ok & (i - j < c.local_window)
        return F.pad(ok, (0, c.extra_keys), value=True)

    def forward(self, x, lengths, dropout, encoded=None, across=None):
        c, n = self.c, x.shape[1]
        if c.positions == "learned":
            x = x + self.pos_embed.W_pos[c.position_offset:c.position_offset + n]
        if c.positions == "sinusoidal":
            places = torch.arange(n, dtype=torch.float64, device=x.device) + c.position_offset
            x = x + sinusoid(places, c.d_model, c.sinusoid).to(x)
        if c.embed_norm and c.norm != "none":
            x = self.ln_embed(x)
        for layer, block in enumerate(self.blocks):
            x = block(x, self.allowed(n, lengths, layer, x.device), encoded, across, dropout)
        return self.ln_final(x) if c.norms_before and c.layers > 0 else x


# ---- the model ----

class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, d, translates = c, c.d_model, c.form == "translate"
        self.embed = Weights(W_E=(c.vocab, d))
        if c.segments:
            self.segment_embed = Weights(W_seg=(c.segment_rows, d))
        if translates:
            self.encoder = Stack(c, "encoder.", c.encoder_layers, c.source, False)
            if c.source_vocab:
                self.encoder.embed = Weights(W_E=(c.source_vocab, d))
            self.decoder = Stack(c, "decoder.", c.layers, c.context, True)
        else:
            self.stack = Stack(c, "", c.layers, c.context, False)
        words = c.form != "classes" or c.token_head
        biased = c.head_bias if c.tied_head else c.has_bias("head")
        self.unembed = Weights(
            W_U=(d, c.vocab) if words and not c.tied_head else None,
            b_U=(c.vocab,) if words and biased else None,
            W_H=(d, d) if c.head_transform else None,
            b_H=(d,) if c.head_transform and c.bias else None)
        if c.head_transform and c.norm != "none":
            self.ln_head = Norm(c)
        if c.form == "classes":
            self.add_classes()

    def add_classes(self):
        c, d = self.c, self.c.d_model
        k, rows = c.pool_hidden or d, {"concat": c.context * d, "foci": c.foci * d}.get(c.pool, d)
        self.pool = Weights(w=(d, 1) if c.pool == "vector" else None,
                            W_1=(d, k) if c.pool == "foci" else None,
                            W_2=(k, c.foci) if c.pool == "foci" else None)
        pools = c.pooler != "none"
        last = d if pools else rows
        self.classify = Weights(W_P=(rows, d) if pools else None,
                                b_P=(d,) if pools and c.bias else None, W_C=(last, c.classes),
                                b_C=(c.classes,) if c.has_bias("head") else None)

    def embedded(self, ids, table):
        c = self.c
        x = F.embedding(ids, table)
        if c.embed_scale:
            x = x * math.sqrt(c.d_model)
        if c.segments:
            ends = (ids == c.separator).long()
            before = ends.cumsum(1) - ends  # a [SEP] belongs to the sentence that it ends
            x = x + self.segment_embed.W_seg[before.clamp(max=c.segment_rows - 1)]
        return x

    def forward(self, ids, lengths=None, source=None, source_lengths=None, dropout=NO_DROPOUT):
        """ids (batch, position); lengths (batch): tokens of each row before its padding. Returns
        logits (batch, position, vocab) or (batch, class), and what a loss adds to them."""
        c, across, encoded = self.c, None, None
        stack = self.stack if c.form != "translate" else self.decoder
        if c.form == "translate":
            own = self.encoder.embed.W_E if c.source_vocab else self.embed.W_E
            encoded = self.encoder(self.embedded(source, own), source_lengths, dropout)
            if source_lengths is not None:
                keys = torch.arange(source.shape[1], device=ids.device)
                across = (keys < source_lengths[:, None])[:, None, None]
                across = F.pad(across, (0, c.extra_keys), value=True)
        x = stack(self.embedded(ids, self.embed.W_E), lengths, dropout, encoded, across)
        if c.head_transform:
            x = activated(c, linear(x, self.unembed.W_H, self.unembed.b_H))
            x = self.ln_head(x) if c.norm != "none" else x
        made = {}
        if c.form != "classes":
            made["logits"] = self.words(x)
        else:
            made = self.judged(x, self.present(ids, lengths))
            if c.token_head:
                made["token_logits"] = self.words(x)
        if c.balance:
            made["balance"] = self.loads(ids, lengths, source, source_lengths)
        return made

    def words(self, x):
        table = self.embed.W_E.T if self.c.tied_head else self.unembed.W_U
        return linear(x, table, self.unembed.b_U)

    def present(self, ids, lengths):
        places = torch.arange(ids.shape[1], device=ids.device)
        ends = ids.shape[1] if lengths is None else lengths[:, None]
        return (places < ends).expand(ids.shape)

    def judged(self, x, present):
        """One row of all tokens' rows, and by it the classes."""
        c, made, there = self.c, {}, present[..., None].to(x)
        if c.pool == "mean":
            row = (x * there).sum(1) / there.sum(1)
        elif c.pool == "cls":
            row = x[:, 0]
        elif c.pool == "last":
            row = x[torch.arange(len(x), device=x.device), present.sum(1) - 1]
        elif c.pool == "concat":
            row = (x * there).flatten(1)
        else:
            scores = x @ self.pool.w if c.pool == "vector" else \
                torch.tanh(x @ self.pool.W_1) @ self.pool.W_2
            weights = scores.masked_fill(~present[..., None], -math.inf).softmax(1)
            row = torch.einsum("btf,btd->bfd", weights, x).flatten(1)
            if c.foci_penalty and c.pool == "foci":
                overlap = weights.transpose(1, 2) @ weights - torch.eye(c.foci).to(x)
                made["penalty"] = c.foci_penalty * overlap.pow(2).sum((1, 2))
        if c.pooler != "none":
            row = linear(row, self.classify.W_P, self.classify.b_P)
            row = row.tanh() if c.pooler == "tanh" else row.relu()
        return {**made, "logits": linear(row, self.classify.W_C, self.classify.b_C)}

    def loads(self, ids, lengths, source, source_lengths):
        """(batch): what it costs that few experts do most of the work, summed over the layers."""
        stacks = [(self.encoder, source, source_lengths), (self.decoder, ids, lengths)] \
            if self.c.form == "translate" else [(self.stack, ids, lengths)]
        return sum(block.mlp.load(self.present(rows, ends).float())
                   for stack, rows, ends in stacks for block in stack.blocks)


# ---- files ----

DTYPES = {"F32": torch.float32, "F16": torch.float16, "I32": torch.int32, "I64": torch.int64}


def read_safetensors(path):
    """8 bytes of header length, the header as JSON, the numbers (little endian)."""
    data = bytearray(pathlib.Path(path).read_bytes())
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    made = {}
    for name, entry in header.items():
        dtype, begin = DTYPES[entry["dtype"]], entry["data_offsets"][0]
        cells = torch.empty(entry["shape"], dtype=dtype)
        if cells.numel():
            start = 8 + length + begin
            cells = torch.frombuffer(data, dtype=dtype, offset=start, count=cells.numel())
        made[name] = cells.reshape(entry["shape"])
    return made


def write_safetensors(path, tensors):
    """Float32, by name."""
    header, blobs, offset = {}, [], 0
    for name in sorted(tensors):
        cells = tensors[name].detach().to("cpu", torch.float32).contiguous()
        blob = ctypes.string_at(cells.data_ptr(), 4 * cells.numel())
        header[name] = {"dtype": "F32", "shape": list(cells.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(blobs)


def own_name(name):
    """Headlight's name of a parameter: the layers of a model with one stack have no prefix."""
    return name[len("stack."):] if name.startswith("stack.") else name


def load_weights(model, weights):
    """Every parameter must be there, in its shape, and nothing else."""
    names = {own_name(name): name for name in model.state_dict()}
    model.load_state_dict({names.get(name, name): value for name, value in weights.items()})


def load(folder):
    """The model of a folder with config.json and model.safetensors."""
    folder = pathlib.Path(folder)
    model = Model(Config.read(folder))
    load_weights(model, read_safetensors(folder / "model.safetensors"))
    return model
