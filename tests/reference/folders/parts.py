"""What the models of this folder have in common: names of tensors, a norm, the steps of attention.

Everything is computed in float64. Plain on purpose: one row of tokens, no batch, loops over heads.
"""

import math

import torch

INFINITY = math.inf


class Kept(dict):
    """Every tensor of a run by its name in docs/names.md."""

    def keep(self, name, tensor):
        self[name] = tensor.detach().clone()
        return tensor


def linear(x, weight, bias=None):
    """x (rows, in) by a weight that is stored (out, in), as torch.nn.Linear has it."""
    y = torch.einsum("ti,oi->to", x, weight)
    return y if bias is None else y + bias


def layer_norm(x, weight, bias, epsilon):
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) / torch.sqrt(variance + epsilon) * weight
    return y if bias is None else y + bias


def gelu(x):
    """x · Φ(x), exactly."""
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def gelu_new(x):
    """The approximation by tanh (Hendrycks & Gimpel 2016), which GPT-2 was trained with."""
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def silu(x):
    return x / (1 + torch.exp(-x))


def relu(x):
    return torch.clamp(x, min=0)


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_new, "silu": silu, "swish": silu, "relu": relu}


def split_heads(x, heads):
    """(tokens, heads · width) -> (head, token, width): head h has the columns h · width …"""
    width = x.shape[1] // heads
    return torch.stack([x[:, h * width:(h + 1) * width] for h in range(heads)])


def causal_mask(tokens, window=None):
    """0 where query i may look at key j: j <= i, with a window also i - j < window."""
    mask = torch.full((tokens, tokens), -INFINITY, dtype=torch.float64)
    for i in range(tokens):
        for j in range(i + 1):
            if window is None or i - j < window:
                mask[i, j] = 0
    return mask


def attend(kept, at, q, k, v, divisor, mask=None):
    """The steps of attention of q (head, query, width), k and v (kv head, key, width); the heads'
    results side by side. divisor None: scores are not scaled. Fewer key and value heads: each is
    read by as many query heads in a row."""
    heads, share = q.shape[0], q.shape[0] // k.shape[0]
    raw = torch.stack([q[h] @ k[h // share].T for h in range(heads)])
    scores = kept.keep(at + ".scores_raw", raw)
    if divisor is not None:
        scores = kept.keep(at + ".scores_scaled", scores / divisor)
    if mask is not None:
        scores = kept.keep(at + ".scores_masked", scores + mask)
    powers = torch.exp(scores - scores.max(-1, keepdim=True).values)
    pattern = kept.keep(at + ".pattern", powers / powers.sum(-1, keepdim=True))
    z = torch.stack([pattern[h] @ v[h // share] for h in range(heads)])
    kept.keep(at + ".z", z)
    return kept.keep(at + ".concat", torch.cat(list(z), dim=1))


def project(kept, at, letter, x, weight, bias, heads):
    """One of queries, keys and values: all heads side by side, then split."""
    side_by_side = kept.keep(f"{at}.{letter}_proj", linear(x, weight, bias))
    return kept.keep(f"{at}.{letter}", split_heads(side_by_side, heads))


def finish(kept, logits):
    """Logits and what the softmax makes of them."""
    kept.keep("logits", logits)
    powers = torch.exp(logits - logits.max(-1, keepdim=True).values)
    kept.keep("probs", powers / powers.sum(-1, keepdim=True))


def greedy_continuation(run, config, weights, ids, count):
    """The likeliest next id, `count` times."""
    ids = list(ids)
    made = []
    for _ in range(count):
        made.append(int(run(config, weights, ids)["logits"][-1].argmax()))
        ids.append(made[-1])
    return made


def greedy_translation(run, config, weights, source, count):
    """What follows decoder_start_token_id: first the forced id, if there is one, then the
    likeliest, never one of bad_words_ids, up to eos_token_id, which is part of it."""
    ids = [config["decoder_start_token_id"]]
    forbidden = [words[0] for words in config.get("bad_words_ids") or []]
    forced = config.get("forced_bos_token_id")
    while len(ids) <= count:
        logits = run(config, weights, source, ids)["logits"][-1].clone()
        logits[forbidden] = -INFINITY
        first = len(ids) == 1 and forced is not None
        ids.append(forced if first else int(logits.argmax()))
        if ids[-1] == config["eos_token_id"]:
            break
    return ids[1:]
