"""GPT-2 (Radford et al. 2019), as the published checkpoints, nanoGPT and minGPT name its weights.

Pre-norm, learned positions, GELU by tanh. The published files keep the matrices of their "Conv1D"
layers as (in, out); nanoGPT and minGPT, which have torch.nn.Linear, as (out, in).
"""

import torch

from parts import (ACTIVATIONS, Kept, attend, causal_mask, finish, layer_norm, linear, split_heads)


def config(**changes):
    """The keys of the published config.json."""
    return {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1, "bos_token_id": 39, "embd_pdrop": 0.1, "eos_token_id": 39,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 20,
        "n_embd": 16, "n_head": 2, "n_inner": 28, "n_layer": 2, "n_positions": 20,
        "resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
        "vocab_size": 40} | changes


def inner(c):
    return c.get("n_inner") or 4 * c["n_embd"]


def make_weights(draw, c, prefix, conv1d, bias=True, own_head=False, buffers=()):
    d = c["n_embd"]

    def matrix(name, out, into):
        draw.matrix(name + ".weight", out, into)
        if conv1d:
            draw.made[name + ".weight"] = draw.made[name + ".weight"].T.contiguous()
        if bias:
            draw.vector(name + ".bias", out)

    draw.table(prefix + "wte.weight", c["vocab_size"], d)
    draw.table(prefix + "wpe.weight", c["n_positions"], d)
    for layer in range(c["n_layer"]):
        at = f"{prefix}h.{layer}."
        draw.norm(at + "ln_1", d, bias)
        draw.norm(at + "ln_2", d, bias)
        matrix(at + "attn.c_attn", 3 * d, d)
        matrix(at + "attn.c_proj", d, d)
        matrix(at + "mlp.c_fc", inner(c), d)
        matrix(at + "mlp.c_proj", d, inner(c))
        n = c["n_positions"]
        if "bias" in buffers:  # which keys a query may look at: no weight
            draw.put(at + "attn.bias", torch.ones(n, n).tril().reshape(1, 1, n, n))
        if "masked_bias" in buffers:
            draw.put(at + "attn.masked_bias", torch.tensor(-10000.0))
    draw.norm(prefix + "ln_f", d, bias)
    root = prefix[:-len("transformer.")] if prefix.endswith("transformer.") else ""
    if own_head == "tied":  # the same matrix once more, as a whole state of the model has it
        draw.put(root + "lm_head.weight", draw.made[prefix + "wte.weight"].clone())
    elif own_head:
        draw.matrix(root + "lm_head.weight", c["vocab_size"], d)


def runner(prefix, conv1d):
    """How a checkpoint with these names and this orientation is run."""

    def run(c, w, ids):
        kept, n = Kept(), len(ids)
        heads, epsilon = c["n_head"], c["layer_norm_epsilon"]
        activation = ACTIVATIONS[c["activation_function"]]
        width = c["n_embd"] // heads

        def product(x, name):
            weight = w[name + ".weight"]
            return linear(x, weight.T if conv1d else weight, w.get(name + ".bias"))

        def norm(x, name):
            return layer_norm(x, w[name + ".weight"], w.get(name + ".bias"), epsilon)

        mask = kept.keep("mask", causal_mask(n))
        embed = kept.keep("embed", w[prefix + "wte.weight"][ids])
        x = embed + kept.keep("pos_embed", w[prefix + "wpe.weight"][:n])
        for layer in range(c["n_layer"]):
            of, at = f"{prefix}h.{layer}.", f"blocks.{layer}."
            kept.keep(at + "resid_pre", x)
            y = kept.keep(at + "ln1.normalized", norm(x, of + "ln_1"))
            # Queries of all heads, then keys, then values.
            for letter, part in zip("qkv", product(y, of + "attn.c_attn").chunk(3, dim=1)):
                kept.keep(f"{at}attn.{letter}_proj", part)
                kept.keep(f"{at}attn.{letter}", split_heads(part, heads))
            q, k, v = (kept[f"{at}attn.{letter}"] for letter in "qkv")
            concat = attend(kept, at + "attn", q, k, v, width ** 0.5, mask)
            out = kept.keep(at + "attn_out", product(concat, of + "attn.c_proj"))
            x = kept.keep(at + "resid_mid", x + out)
            y = kept.keep(at + "ln2.normalized", norm(x, of + "ln_2"))
            y = kept.keep(at + "mlp.pre", product(y, of + "mlp.c_fc"))
            y = kept.keep(at + "mlp.post", activation(y))
            out = kept.keep(at + "mlp_out", product(y, of + "mlp.c_proj"))
            x = kept.keep(at + "resid_post", x + out)
        x = kept.keep("ln_final.normalized", norm(x, prefix + "ln_f"))
        root = prefix[:-len("transformer.")] if prefix.endswith("transformer.") else ""
        finish(kept, linear(x, w.get(root + "lm_head.weight", w[prefix + "wte.weight"])))
        return kept

    return run
