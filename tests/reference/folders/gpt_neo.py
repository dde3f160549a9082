"""GPT-Neo (Black et al. 2021), the type of the TinyStories models.

GPT-2 with torch.nn.Linear, queries, keys and values apart and without biases, scores that are not
divided by √d_head, and layers that look at the whole past or only at the last window_size tokens.
"""

import torch

from parts import ACTIVATIONS, Kept, attend, causal_mask, finish, layer_norm, linear, project


def config(**changes):
    return {
        "activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"],
        "attention_dropout": 0, "attention_layers": ["global", "local"],
        "attention_types": [[["global", "local"], 1]], "bos_token_id": 39, "embed_dropout": 0,
        "eos_token_id": 39, "gradient_checkpointing": False, "hidden_size": 16,
        "initializer_range": 0.02, "intermediate_size": 28, "layer_norm_epsilon": 1e-05,
        "max_position_embeddings": 20, "model_type": "gpt_neo", "num_heads": 2, "num_layers": 2,
        "resid_dropout": 0, "summary_activation": None, "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
        "torch_dtype": "float32", "transformers_version": "4.28.1", "use_cache": True,
        "vocab_size": 40, "window_size": 3} | changes


def kinds_of_layers(c):
    """[[["global", "local"], 1]] says: this list once."""
    kinds = []
    for names, times in c["attention_types"]:
        kinds += names * times
    return kinds


def make_weights(draw, c):
    d, hidden, n = c["hidden_size"], c["intermediate_size"], c["max_position_embeddings"]
    draw.table("transformer.wte.weight", c["vocab_size"], d)
    draw.table("transformer.wpe.weight", n, d)
    for layer, kind in enumerate(kinds_of_layers(c)):
        at = f"transformer.h.{layer}."
        draw.norm(at + "ln_1", d)
        draw.norm(at + "ln_2", d)
        for letter in "kvq":
            draw.linear(f"{at}attn.attention.{letter}_proj", d, d, bias=False)
        draw.linear(at + "attn.attention.out_proj", d, d)
        draw.linear(at + "mlp.c_fc", hidden, d)
        draw.linear(at + "mlp.c_proj", d, hidden)
        # Buffers: which keys a query may look at. No weights, and not even floats.
        seen = torch.ones(n, n, dtype=torch.uint8).tril()
        if kind == "local":
            seen = seen ^ seen.tril(-c["window_size"])
        draw.put(at + "attn.attention.bias", seen.reshape(1, 1, n, n))
        draw.put(at + "attn.attention.masked_bias", torch.tensor(-1e9))
    draw.norm("transformer.ln_f", d)


def run(c, w, ids):
    kept, n = Kept(), len(ids)
    kinds, heads, epsilon = kinds_of_layers(c), c["num_heads"], c["layer_norm_epsilon"]
    activation = ACTIVATIONS[c["activation_function"]]

    def product(x, name):
        return linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def norm(x, name):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], epsilon)

    masks = {"global": kept.keep("mask", causal_mask(n)),
             "local": kept.keep("local_mask", causal_mask(n, c["window_size"]))}
    embed = kept.keep("embed", w["transformer.wte.weight"][ids])
    x = embed + kept.keep("pos_embed", w["transformer.wpe.weight"][:n])
    for layer, kind in enumerate(kinds):
        of, at = f"transformer.h.{layer}.", f"blocks.{layer}."
        kept.keep(at + "resid_pre", x)
        y = kept.keep(at + "ln1.normalized", norm(x, of + "ln_1"))
        q, k, v = (project(kept, at + "attn", letter, y,
                           w[f"{of}attn.attention.{letter}_proj.weight"], None, heads)
                   for letter in "qkv")
        concat = attend(kept, at + "attn", q, k, v, None, masks[kind])
        out = kept.keep(at + "attn_out", product(concat, of + "attn.attention.out_proj"))
        x = kept.keep(at + "resid_mid", x + out)
        y = kept.keep(at + "ln2.normalized", norm(x, of + "ln_2"))
        y = kept.keep(at + "mlp.pre", product(y, of + "mlp.c_fc"))
        y = kept.keep(at + "mlp.post", activation(y))
        out = kept.keep(at + "mlp_out", product(y, of + "mlp.c_proj"))
        x = kept.keep(at + "resid_post", x + out)
    x = kept.keep("ln_final.normalized", norm(x, "transformer.ln_f"))
    finish(kept, linear(x, w["transformer.wte.weight"]))
    return kept
