"""BERT (Devlin et al. 2019): with the head for masked words, as a classifier, and bare.

Post-norm; the sum of word, segment and position is normed as well; GELU by erf; epsilon 1e-12.
"""

import torch

from parts import ACTIVATIONS, Kept, finish, layer_norm, linear
from post_norm import encoder_layer, pick_first, vector_product

# As the file of bert-base-uncased has them, and as PyTorch names a norm's weights.
GAMMA = ("gamma", "beta")
WEIGHT = ("weight", "bias")


def config(**changes):
    return {
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
        "gradient_checkpointing": False, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28,
        "layer_norm_eps": 1e-12, "max_position_embeddings": 12, "model_type": "bert",
        "num_attention_heads": 2, "num_hidden_layers": 2, "pad_token_id": 0,
        "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
        "type_vocab_size": 2, "use_cache": True, "vocab_size": 40} | changes


def names_of_layer(of):
    return {"q": of + "attention.self.query", "k": of + "attention.self.key",
            "v": of + "attention.self.value", "out": of + "attention.output.dense",
            "norm1": of + "attention.output.LayerNorm", "into": of + "intermediate.dense",
            "out_of": of + "output.dense", "norm2": of + "output.LayerNorm"}


def make_body(draw, c, prefix, words=WEIGHT):
    """Embeddings and layers; RoBERTa has the same under its own prefix."""
    d, hidden = c["hidden_size"], c["intermediate_size"]
    draw.table(prefix + "embeddings.word_embeddings.weight", c["vocab_size"], d)
    draw.table(prefix + "embeddings.position_embeddings.weight", c["max_position_embeddings"], d)
    draw.table(prefix + "embeddings.token_type_embeddings.weight", c["type_vocab_size"], d)
    draw.norm(prefix + "embeddings.LayerNorm", d, words=words)
    for layer in range(c["num_hidden_layers"]):
        names = names_of_layer(f"{prefix}encoder.layer.{layer}.")
        for name in ("q", "k", "v", "out"):
            draw.linear(names[name], d, d)
        draw.linear(names["into"], hidden, d)
        draw.linear(names["out_of"], d, hidden)
        for name in ("norm1", "norm2"):
            draw.norm(names[name], d, words=words)


def make_masked(draw, c):
    """As the published file has it: also the pooler and the head for the next sentence, which a
    model for masked words does not use."""
    d = c["hidden_size"]
    make_body(draw, c, "bert.", GAMMA)
    draw.linear("bert.pooler.dense", d, d)
    draw.linear("cls.predictions.transform.dense", d, d)
    draw.norm("cls.predictions.transform.LayerNorm", d, words=GAMMA)
    draw.vector("cls.predictions.bias", c["vocab_size"])
    draw.linear("cls.seq_relationship", 2, d)


def make_bare(draw, c):
    make_body(draw, c, "")
    draw.linear("pooler.dense", c["hidden_size"], c["hidden_size"])


def make_classifier(draw, c):
    d = c["hidden_size"]
    make_body(draw, c, "bert.")
    draw.put("bert.embeddings.position_ids",
             torch.arange(c["max_position_embeddings"]).reshape(1, -1))
    draw.linear("bert.pooler.dense", d, d)
    draw.linear("classifier", len(c["id2label"]), d)


def body(c, w, ids, segments, prefix, first_position=0):
    kept, n, epsilon = Kept(), len(ids), c["layer_norm_eps"]
    of = prefix + "embeddings."
    embed = kept.keep("embed", w[of + "word_embeddings.weight"][ids])
    kept.keep("segment_ids", torch.tensor(segments, dtype=torch.float64))
    types = kept.keep("segment_embed", w[of + "token_type_embeddings.weight"][segments])
    x = kept.keep("segment_sum", embed + types)
    places = list(range(first_position, first_position + n))
    x = x + kept.keep("pos_embed", w[of + "position_embeddings.weight"][places])
    kept.keep("ln_embed.input", x)
    words = GAMMA if of + "LayerNorm.gamma" in w else WEIGHT
    x = kept.keep("ln_embed.normalized", layer_norm(
        x, w[f"{of}LayerNorm.{words[0]}"], w[f"{of}LayerNorm.{words[1]}"], epsilon))
    for layer in range(c["num_hidden_layers"]):
        x = encoder_layer(kept, f"blocks.{layer}.", x, w,
                          names_of_layer(f"{prefix}encoder.layer.{layer}."),
                          c["num_attention_heads"], epsilon, ACTIVATIONS[c["hidden_act"]])
    return kept, x


def pool(kept, x, w, name):
    y = kept.keep("classify.pre", vector_product(pick_first(kept, x), w, name))
    return kept.keep("classify.hidden", torch.tanh(y))


def run_masked(c, w, ids, segments):
    kept, x = body(c, w, ids, segments, "bert.")
    of = "cls.predictions.transform."
    y = kept.keep("unembed.pre", linear(x, w[of + "dense.weight"], w[of + "dense.bias"]))
    y = kept.keep("unembed.act", ACTIVATIONS[c["hidden_act"]](y))
    words = GAMMA if of + "LayerNorm.gamma" in w else WEIGHT
    y = kept.keep("ln_head.normalized", layer_norm(
        y, w[f"{of}LayerNorm.{words[0]}"], w[f"{of}LayerNorm.{words[1]}"], c["layer_norm_eps"]))
    finish(kept, linear(y, w["bert.embeddings.word_embeddings.weight"], w["cls.predictions.bias"]))
    return kept


def run_bare(c, w, ids, segments):
    """No logits: the last hidden states and what the pooler makes of the first."""
    kept, x = body(c, w, ids, segments, "")
    pool(kept, x, w, "pooler.dense")
    return kept


def run_classifier(c, w, ids, segments):
    kept, x = body(c, w, ids, segments, "bert.")
    finish(kept, vector_product(pool(kept, x, w, "bert.pooler.dense"), w, "classifier"))
    return kept
