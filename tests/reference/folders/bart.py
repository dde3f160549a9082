"""BART (Lewis et al. 2020).

Post-norm; learned positions whose first two rows are of no token, so that the first token reads row
2; a norm behind the sum of word and position in either stack; GELU by erf.
"""

from parts import Kept, finish, layer_norm, linear
from translators import EPSILON, Stack, make_layers, put_table_again

OFFSET = 2


def config(**changes):
    return {
        "activation_dropout": 0.1, "activation_function": "gelu", "add_bias_logits": False,
        "add_final_layer_norm": False, "architectures": ["BartForConditionalGeneration"],
        "attention_dropout": 0.1, "bos_token_id": 0, "classifier_dropout": 0.1, "d_model": 12,
        "decoder_attention_heads": 2, "decoder_ffn_dim": 14, "decoder_layerdrop": 0.0,
        "decoder_layers": 2, "decoder_start_token_id": 2, "dropout": 0.1, "early_stopping": True,
        "encoder_attention_heads": 2, "encoder_ffn_dim": 14, "encoder_layerdrop": 0.0,
        "encoder_layers": 2, "eos_token_id": 2, "forced_bos_token_id": 0,
        "forced_eos_token_id": 2, "init_std": 0.02, "is_encoder_decoder": True,
        "max_position_embeddings": 20, "model_type": "bart", "normalize_before": False,
        "normalize_embedding": True, "num_beams": 4, "num_hidden_layers": 2, "pad_token_id": 1,
        "scale_embedding": False, "torch_dtype": "float32", "transformers_version": "4.12.0",
        "use_cache": True, "vocab_size": 40} | changes


def make_weights(draw, c):
    d = c["d_model"]
    draw.table("model.shared.weight", c["vocab_size"], d)
    put_table_again(draw, ("model.encoder.embed_tokens.weight",
                           "model.decoder.embed_tokens.weight"))
    for root in ("encoder", "decoder"):
        draw.table(f"model.{root}.embed_positions.weight", c["max_position_embeddings"] + OFFSET, d)
        draw.norm(f"model.{root}.layernorm_embedding", d)
    make_layers(draw, c, final_norms=False)
    draw.vector("final_logits_bias", c["vocab_size"])
    draw.made["final_logits_bias"] = draw.made["final_logits_bias"].reshape(1, -1)


def start(stack, ids, c, w):
    of = f"model.{stack.root}."
    x = stack.embed(ids, w["model.shared.weight"], c["scale_embedding"])
    places = list(range(OFFSET, OFFSET + len(ids)))
    x = stack.add_positions(x, w[of + "embed_positions.weight"][places])
    stack.kept.keep(stack.root + ".ln_embed.input", x)
    return stack.kept.keep(stack.root + ".ln_embed.normalized", layer_norm(
        x, w[of + "layernorm_embedding.weight"], w[of + "layernorm_embedding.bias"], EPSILON))


def run(c, w, source, ids):
    kept = Kept()
    encoder, decoder = (Stack(kept, c, w, root, norm_first=False)
                        for root in ("encoder", "decoder"))
    encoded = encoder.layers(start(encoder, source, c, w))
    x = decoder.layers(start(decoder, ids, c, w), encoded)
    finish(kept, linear(x, w["model.shared.weight"], w["final_logits_bias"][0]))
    return kept
