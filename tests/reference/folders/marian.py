"""Marian (Junczys-Dowmunt et al. 2018), the type of the OPUS-MT models.

Post-norm; sines in the first half of a position's row and cosines in the second, of the frequencies
10000^(-i / half); embeddings times √d_model; one bias for each word behind the last product. Source
and target have one table of embeddings, or each their own.
"""

import math

import torch

from parts import Kept, finish, linear
from translators import Stack, make_layers, put_table_again


def config(**changes):
    return {
        "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False,
        "add_final_layer_norm": False, "architectures": ["MarianMTModel"],
        "attention_dropout": 0.0, "bad_words_ids": [[39]], "bos_token_id": 0, "d_model": 12,
        "decoder_attention_heads": 2, "decoder_ffn_dim": 14, "decoder_layerdrop": 0.0,
        "decoder_layers": 2, "decoder_start_token_id": 39, "decoder_vocab_size": 40,
        "dropout": 0.1, "encoder_attention_heads": 2, "encoder_ffn_dim": 14,
        "encoder_layerdrop": 0.0, "encoder_layers": 2, "eos_token_id": 0,
        "extra_pos_embeddings": 40, "forced_eos_token_id": 0, "init_std": 0.02,
        "is_encoder_decoder": True, "max_length": 512, "max_position_embeddings": 24,
        "model_type": "marian", "normalize_before": False, "normalize_embedding": False,
        "num_beams": 4, "num_hidden_layers": 2, "pad_token_id": 39, "scale_embedding": True,
        "share_encoder_decoder_embeddings": True, "static_position_embeddings": True,
        "transformers_version": "4.22.0.dev0", "use_cache": True, "vocab_size": 40} | changes


def sinusoids(places, width):
    """[sin | cos]."""
    half = width // 2
    rows = torch.zeros(len(places), width, dtype=torch.float64)
    for row, place in enumerate(places):
        for i in range(half):
            angle = place / 10000 ** (i / half)
            rows[row, i], rows[row, half + i] = math.sin(angle), math.cos(angle)
    return rows


def make_weights(draw, c, positions=False):
    d, shared = c["d_model"], c["share_encoder_decoder_embeddings"]
    if shared:
        draw.table("model.shared.weight", c["vocab_size"], d)
        put_table_again(draw, ("model.encoder.embed_tokens.weight",
                               "model.decoder.embed_tokens.weight", "lm_head.weight"))
    else:
        draw.table("model.encoder.embed_tokens.weight", c["vocab_size"], d)
        draw.table("model.decoder.embed_tokens.weight", c["decoder_vocab_size"], d)
    if positions:  # some files have the sinusoids, which follow from the configuration
        rows = sinusoids(range(c["max_position_embeddings"]), d).float()
        for root in ("encoder", "decoder"):
            draw.put(f"model.{root}.embed_positions.weight", rows.clone())
    make_layers(draw, c, final_norms=False)
    draw.vector("final_logits_bias", c["decoder_vocab_size"])
    draw.made["final_logits_bias"] = draw.made["final_logits_bias"].reshape(1, -1)


def run(c, w, source, ids):
    kept, d = Kept(), c["d_model"]
    encoder, decoder = (Stack(kept, c, w, root, norm_first=False)
                        for root in ("encoder", "decoder"))
    tables = [w[f"model.{root}.embed_tokens.weight"] for root in ("encoder", "decoder")]
    x = encoder.embed(source, tables[0], c["scale_embedding"])
    encoded = encoder.layers(encoder.add_positions(x, sinusoids(range(len(source)), d)))
    x = decoder.embed(ids, tables[1], c["scale_embedding"])
    x = decoder.layers(decoder.add_positions(x, sinusoids(range(len(ids)), d)), encoded)
    finish(kept, linear(x, tables[1], w["final_logits_bias"][0]))
    return kept
