"""DistilBERT (Sanh et al. 2019): BERT without segments and pooler, its layers named anew."""

from parts import ACTIVATIONS, Kept, finish, layer_norm, linear, relu
from post_norm import encoder_layer, pick_first, vector_product

EPSILON = 1e-12  # no key of the configuration says it


def config(**changes):
    return {
        "activation": "gelu", "architectures": ["DistilBertForMaskedLM"],
        "attention_dropout": 0.1, "dim": 16, "dropout": 0.1, "hidden_dim": 28,
        "initializer_range": 0.02, "max_position_embeddings": 12, "model_type": "distilbert",
        "n_heads": 2, "n_layers": 2, "pad_token_id": 0, "qa_dropout": 0.1,
        "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": False, "tie_weights_": True,
        "transformers_version": "4.10.0.dev0", "vocab_size": 40} | changes


def names_of_layer(of):
    return {"q": of + "attention.q_lin", "k": of + "attention.k_lin", "v": of + "attention.v_lin",
            "out": of + "attention.out_lin", "norm1": of + "sa_layer_norm",
            "into": of + "ffn.lin1", "out_of": of + "ffn.lin2", "norm2": of + "output_layer_norm"}


def make_body(draw, c):
    d, hidden, of = c["dim"], c["hidden_dim"], "distilbert.embeddings."
    draw.table(of + "word_embeddings.weight", c["vocab_size"], d)
    draw.table(of + "position_embeddings.weight", c["max_position_embeddings"], d)
    draw.norm(of + "LayerNorm", d)
    for layer in range(c["n_layers"]):
        names = names_of_layer(f"distilbert.transformer.layer.{layer}.")
        for name in ("q", "k", "v", "out"):
            draw.linear(names[name], d, d)
        draw.linear(names["into"], hidden, d)
        draw.linear(names["out_of"], d, hidden)
        for name in ("norm1", "norm2"):
            draw.norm(names[name], d)


def make_masked(draw, c):
    make_body(draw, c)
    draw.linear("vocab_transform", c["dim"], c["dim"])
    draw.norm("vocab_layer_norm", c["dim"])
    draw.vector("vocab_projector.bias", c["vocab_size"])
    # The published file has the table of words twice.
    draw.put("vocab_projector.weight",
             draw.made["distilbert.embeddings.word_embeddings.weight"].clone())


def make_classifier(draw, c):
    make_body(draw, c)
    draw.linear("pre_classifier", c["dim"], c["dim"])
    draw.linear("classifier", len(c["id2label"]), c["dim"])


def body(c, w, ids):
    kept, n, of = Kept(), len(ids), "distilbert.embeddings."
    x = kept.keep("embed", w[of + "word_embeddings.weight"][ids])
    x = x + kept.keep("pos_embed", w[of + "position_embeddings.weight"][:n])
    kept.keep("ln_embed.input", x)
    x = kept.keep("ln_embed.normalized", layer_norm(
        x, w[of + "LayerNorm.weight"], w[of + "LayerNorm.bias"], EPSILON))
    for layer in range(c["n_layers"]):
        x = encoder_layer(kept, f"blocks.{layer}.", x, w,
                          names_of_layer(f"distilbert.transformer.layer.{layer}."), c["n_heads"],
                          EPSILON, ACTIVATIONS[c["activation"]])
    return kept, x


def run_masked(c, w, ids):
    kept, x = body(c, w, ids)
    y = linear(x, w["vocab_transform.weight"], w["vocab_transform.bias"])
    y = kept.keep("unembed.act", ACTIVATIONS[c["activation"]](kept.keep("unembed.pre", y)))
    y = kept.keep("ln_head.normalized", layer_norm(
        y, w["vocab_layer_norm.weight"], w["vocab_layer_norm.bias"], EPSILON))
    finish(kept, linear(y, w["vocab_projector.weight"], w["vocab_projector.bias"]))
    return kept


def run_classifier(c, w, ids):
    kept, x = body(c, w, ids)
    y = vector_product(pick_first(kept, x), w, "pre_classifier")
    y = kept.keep("classify.hidden", relu(kept.keep("classify.pre", y)))
    finish(kept, vector_product(y, w, "classifier"))
    return kept
