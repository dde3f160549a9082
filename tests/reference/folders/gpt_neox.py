"""GPT-NeoX (Black et al. 2022), the type of the Pythia models.

Queries, keys and values are one matrix whose rows are ordered by head: of head 0 its queries, keys
and values, then those of head 1. Rotary positions turn only a part of each head's features.
use_parallel_residual: attention and feed-forward network both read the layer's input.
"""

import torch

from parts import ACTIVATIONS, Kept, attend, causal_mask, finish, layer_norm, linear
from rotary import rates_of, turn


def config(**changes):
    return {
        "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0,
        "hidden_act": "gelu", "hidden_size": 16, "initializer_range": 0.02,
        "intermediate_size": 28, "layer_norm_eps": 1e-05, "max_position_embeddings": 20,
        "model_type": "gpt_neox", "num_attention_heads": 2, "num_hidden_layers": 2,
        "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": False,
        "torch_dtype": "float16", "transformers_version": "4.24.0", "use_cache": True,
        "use_parallel_residual": True, "vocab_size": 40} | changes


def turned_width(c):
    return int(c["hidden_size"] // c["num_attention_heads"] * c["rotary_pct"])


def make_weights(draw, c, buffers):
    d, hidden, n = c["hidden_size"], c["intermediate_size"], c["max_position_embeddings"]
    draw.table("gpt_neox.embed_in.weight", c["vocab_size"], d)
    for layer in range(c["num_hidden_layers"]):
        at = f"gpt_neox.layers.{layer}."
        draw.norm(at + "input_layernorm", d)
        draw.norm(at + "post_attention_layernorm", d)
        draw.linear(at + "attention.query_key_value", 3 * d, d)
        draw.linear(at + "attention.dense", d, d)
        draw.linear(at + "mlp.dense_h_to_4h", hidden, d)
        draw.linear(at + "mlp.dense_4h_to_h", d, hidden)
        if buffers:
            seen = torch.ones(n, n, dtype=torch.bool).tril()
            draw.put(at + "attention.bias", seen.reshape(1, 1, n, n))
            draw.put(at + "attention.masked_bias", torch.tensor(-1e9))
            draw.put(at + "attention.rotary_emb.inv_freq",
                     torch.tensor(rates_of(turned_width(c), c["rotary_emb_base"])).float())
    draw.norm("gpt_neox.final_layer_norm", d)
    draw.matrix("embed_out.weight", c["vocab_size"], d)


def run(c, w, ids):
    kept, n = Kept(), len(ids)
    heads, epsilon = c["num_attention_heads"], c["layer_norm_eps"]
    width = c["hidden_size"] // heads
    activation = ACTIVATIONS[c["hidden_act"]]
    rates = rates_of(turned_width(c), c["rotary_emb_base"])

    def product(x, name):
        return linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(x, name):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], epsilon)

    mask = kept.keep("mask", causal_mask(n))
    x = kept.keep("embed", w["gpt_neox.embed_in.weight"][ids])
    for layer in range(c["num_hidden_layers"]):
        of, at = f"gpt_neox.layers.{layer}.", f"blocks.{layer}."
        start = kept.keep(at + "resid_pre", x)
        y = kept.keep(at + "ln1.normalized", norm(x, of + "input_layernorm"))
        joint = product(y, of + "attention.query_key_value")
        for place, letter in enumerate("qkv"):
            rows = [joint[:, (3 * h + place) * width:(3 * h + place + 1) * width]
                    for h in range(heads)]
            kept.keep(f"{at}attn.{letter}_proj", torch.cat(rows, dim=1))
            kept.keep(f"{at}attn.{letter}", torch.stack(rows))
        q = kept.keep(at + "attn.rot_q", turn(kept[at + "attn.q"], rates))
        k = kept.keep(at + "attn.rot_k", turn(kept[at + "attn.k"], rates))
        concat = attend(kept, at + "attn", q, k, kept[at + "attn.v"], width ** 0.5, mask)
        out = kept.keep(at + "attn_out", product(concat, of + "attention.dense"))
        x = kept.keep(at + "resid_mid", x + out)
        into = start if c["use_parallel_residual"] else x
        y = kept.keep(at + "ln2.normalized", norm(into, of + "post_attention_layernorm"))
        y = kept.keep(at + "mlp.pre", product(y, of + "mlp.dense_h_to_4h"))
        y = kept.keep(at + "mlp.post", activation(y))
        out = kept.keep(at + "mlp_out", product(y, of + "mlp.dense_4h_to_h"))
        x = kept.keep(at + "resid_post", x + out)
    x = kept.keep("ln_final.normalized", norm(x, "gpt_neox.final_layer_norm"))
    finish(kept, linear(x, w["embed_out.weight"]))
    return kept
