"""Llama (Touvron et al. 2023), Mistral (Jiang et al. 2023) and Qwen2 (Yang et al. 2024).

RMS norm, rotary positions, fewer key and value heads than query heads, a gated feed-forward network
(SwiGLU: Shazeer 2020). Mistral looks only at the last sliding_window tokens, the own one among
them; Qwen2 has biases of queries, keys and values and none elsewhere.
"""

import torch

from parts import ACTIVATIONS, Kept, attend, causal_mask, finish, linear, project
from rotary import rates_of, turn


def config(**changes):
    return {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "bos_token_id": 1, "eos_token_id": 2, "head_dim": 6, "hidden_act": "silu",
        "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 20,
        "max_position_embeddings": 64, "mlp_bias": False, "model_type": "llama",
        "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
        "pretraining_tp": 1, "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "torch_dtype": "float32", "transformers_version": "4.44.2",
        "use_cache": True, "vocab_size": 40} | changes


def mistral_config(**changes):
    return {
        "architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 16, "initializer_range": 0.02,
        "intermediate_size": 20, "max_position_embeddings": 64, "model_type": "mistral",
        "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 3,
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "transformers_version": "4.34.0",
        "use_cache": True, "vocab_size": 40} | changes


def qwen2_config(**changes):
    return {
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 37,
        "eos_token_id": 38, "hidden_act": "silu", "hidden_size": 16, "initializer_range": 0.02,
        "intermediate_size": 20, "max_position_embeddings": 64, "max_window_layers": 2,
        "model_type": "qwen2", "num_attention_heads": 4, "num_hidden_layers": 2,
        "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 3, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
        "transformers_version": "4.43.1", "use_cache": True, "use_sliding_window": False,
        "vocab_size": 40} | changes


def head_width(c):
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def make_weights(draw, c):
    d, hidden, width = c["hidden_size"], c["intermediate_size"], head_width(c)
    rows = {"q": c["num_attention_heads"] * width, "k": c["num_key_value_heads"] * width,
            "v": c["num_key_value_heads"] * width}
    qkv_bias = c["model_type"] == "qwen2" or c.get("attention_bias", False)
    draw.table("model.embed_tokens.weight", c["vocab_size"], d)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        draw.norm(at + "input_layernorm", d, bias=False)
        draw.norm(at + "post_attention_layernorm", d, bias=False)
        for letter, count in rows.items():
            draw.linear(f"{at}self_attn.{letter}_proj", count, d, bias=qkv_bias)
        draw.linear(at + "self_attn.o_proj", d, rows["q"], bias=c.get("attention_bias", False))
        for name in ("gate", "up"):
            draw.linear(f"{at}mlp.{name}_proj", hidden, d, bias=c.get("mlp_bias", False))
        draw.linear(at + "mlp.down_proj", d, hidden, bias=c.get("mlp_bias", False))
    draw.norm("model.norm", d, bias=False)
    if not c["tie_word_embeddings"]:
        draw.matrix("lm_head.weight", c["vocab_size"], d)


def window_of(c):
    """None: every earlier token is seen."""
    if c["model_type"] == "qwen2" and not c["use_sliding_window"]:
        return None
    return c.get("sliding_window")


def run(c, w, ids):
    kept, n = Kept(), len(ids)
    heads, kv_heads, width = c["num_attention_heads"], c["num_key_value_heads"], head_width(c)
    activation = ACTIVATIONS[c["hidden_act"]]
    rates = rates_of(width, c["rope_theta"], c.get("rope_scaling"))

    def product(x, name):
        return linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def norm(x, name):
        size = torch.sqrt((x ** 2).mean(-1, keepdim=True) + c["rms_norm_eps"])
        return x / size * w[name + ".weight"]

    mask = kept.keep("mask", causal_mask(n, window_of(c)))
    x = kept.keep("embed", w["model.embed_tokens.weight"][ids])
    for layer in range(c["num_hidden_layers"]):
        of, at = f"model.layers.{layer}.", f"blocks.{layer}."
        kept.keep(at + "resid_pre", x)
        y = kept.keep(at + "ln1.normalized", norm(x, of + "input_layernorm"))
        q, k, v = (project(kept, at + "attn", letter, y, w[f"{of}self_attn.{letter}_proj.weight"],
                           w.get(f"{of}self_attn.{letter}_proj.bias"), count)
                   for letter, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        q = kept.keep(at + "attn.rot_q", turn(q, rates))
        k = kept.keep(at + "attn.rot_k", turn(k, rates))
        concat = attend(kept, at + "attn", q, k, v, width ** 0.5, mask)
        out = kept.keep(at + "attn_out", product(concat, of + "self_attn.o_proj"))
        x = kept.keep(at + "resid_mid", x + out)
        y = kept.keep(at + "ln2.normalized", norm(x, of + "post_attention_layernorm"))
        gate = kept.keep(at + "mlp.pre", product(y, of + "mlp.gate_proj"))
        gate = kept.keep(at + "mlp.act", activation(gate))
        up = kept.keep(at + "mlp.pre_linear", product(y, of + "mlp.up_proj"))
        y = kept.keep(at + "mlp.post", gate * up)
        out = kept.keep(at + "mlp_out", product(y, of + "mlp.down_proj"))
        x = kept.keep(at + "resid_post", x + out)
    x = kept.keep("ln_final.normalized", norm(x, "model.norm"))
    tied = c["tie_word_embeddings"]
    finish(kept, linear(x, w["model.embed_tokens.weight" if tied else "lm_head.weight"]))
    return kept
