"""M2M-100 (Fan et al. 2020).

Pre-norm with a norm behind each stack; sinusoids as fairseq has them: sines in the first half,
cosines in the second, of the frequencies 10000^(-i / (half - 1)), and the first token stands at
position pad_token_id + 1; embeddings times √d_model; no bias of the logits.
"""

import math

import torch

from parts import Kept, finish, linear
from translators import Stack, make_layers, put_table_again


def config(**changes):
    return {
        "activation_dropout": 0.0, "activation_function": "relu",
        "architectures": ["M2M100ForConditionalGeneration"], "attention_dropout": 0.1,
        "bos_token_id": 0, "d_model": 12, "decoder_attention_heads": 2, "decoder_ffn_dim": 14,
        "decoder_layerdrop": 0.05, "decoder_layers": 2, "decoder_start_token_id": 2,
        "dropout": 0.1, "early_stopping": True, "encoder_attention_heads": 2,
        "encoder_ffn_dim": 14, "encoder_layerdrop": 0.05, "encoder_layers": 2, "eos_token_id": 2,
        "forced_bos_token_id": 36, "gradient_checkpointing": False, "init_std": 0.02,
        "is_encoder_decoder": True, "max_length": 200, "max_position_embeddings": 20,
        "model_type": "m2m_100", "num_beams": 5, "num_hidden_layers": 2, "pad_token_id": 1,
        "scale_embedding": True, "transformers_version": "4.4.0.dev0", "use_cache": True,
        "vocab_size": 40} | changes


def sinusoids(places, width):
    half = width // 2
    rows = torch.zeros(len(places), width, dtype=torch.float64)
    for row, place in enumerate(places):
        for i in range(half):
            angle = place * math.exp(-i * math.log(10000) / (half - 1))
            rows[row, i], rows[row, half + i] = math.sin(angle), math.cos(angle)
    return rows


def make_weights(draw, c):
    draw.table("model.shared.weight", c["vocab_size"], c["d_model"])
    put_table_again(draw, ("model.encoder.embed_tokens.weight",
                           "model.decoder.embed_tokens.weight", "lm_head.weight"))
    make_layers(draw, c, final_norms=True)


def start(stack, ids, c, w):
    x = stack.embed(ids, w["model.shared.weight"], c["scale_embedding"])
    first = c["pad_token_id"] + 1
    return stack.add_positions(x, sinusoids(range(first, first + len(ids)), c["d_model"]))


def run(c, w, source, ids):
    kept = Kept()
    encoder, decoder = (Stack(kept, c, w, root, norm_first=True)
                        for root in ("encoder", "decoder"))
    encoded = encoder.layers(start(encoder, source, c, w))
    x = decoder.layers(start(decoder, ids, c, w), encoded)
    finish(kept, linear(x, w["model.shared.weight"]))
    return kept
