"""RoBERTa (Liu et al. 2019): BERT whose positions begin behind the id of padding, with one segment.

The first token stands at position pad_token_id + 1 = 2, so 514 rows are of 512 tokens.
"""

import torch

import bert
from parts import finish, gelu, layer_norm, linear
from post_norm import pick_first, vector_product


def config(**changes):
    return {
        "architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1,
        "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "hidden_size": 16, "initializer_range": 0.02, "intermediate_size": 28,
        "layer_norm_eps": 1e-05, "max_position_embeddings": 14, "model_type": "roberta",
        "num_attention_heads": 2, "num_hidden_layers": 2, "pad_token_id": 1,
        "type_vocab_size": 1, "vocab_size": 40} | changes


def make_masked(draw, c):
    d = c["hidden_size"]
    bert.make_body(draw, c, "roberta.")
    draw.linear("lm_head.dense", d, d)
    draw.norm("lm_head.layer_norm", d)
    draw.vector("lm_head.bias", c["vocab_size"])
    # The tied matrix and the bias once more, under the names of the last layer.
    draw.put("lm_head.decoder.weight",
             draw.made["roberta.embeddings.word_embeddings.weight"].clone())
    draw.put("lm_head.decoder.bias", draw.made["lm_head.bias"].clone())
    draw.put("roberta.embeddings.position_ids",
             torch.arange(c["max_position_embeddings"]).reshape(1, -1))


def make_classifier(draw, c):
    bert.make_body(draw, c, "roberta.")
    draw.linear("classifier.dense", c["hidden_size"], c["hidden_size"])
    draw.linear("classifier.out_proj", len(c["id2label"]), c["hidden_size"])


def body(c, w, ids):
    if c["pad_token_id"] in ids:
        raise ValueError("rows with padding are not computed here")
    return bert.body(c, w, ids, [0] * len(ids), "roberta.", c["pad_token_id"] + 1)


def run_masked(c, w, ids):
    kept, x = body(c, w, ids)
    y = linear(x, w["lm_head.dense.weight"], w["lm_head.dense.bias"])
    y = kept.keep("unembed.act", gelu(kept.keep("unembed.pre", y)))
    y = kept.keep("ln_head.normalized", layer_norm(
        y, w["lm_head.layer_norm.weight"], w["lm_head.layer_norm.bias"], c["layer_norm_eps"]))
    finish(kept, linear(y, w["roberta.embeddings.word_embeddings.weight"], w["lm_head.bias"]))
    return kept


def run_classifier(c, w, ids):
    kept, x = body(c, w, ids)
    y = vector_product(pick_first(kept, x), w, "classifier.dense")
    y = kept.keep("classify.hidden", torch.tanh(kept.keep("classify.pre", y)))
    finish(kept, vector_product(y, w, "classifier.out_proj"))
    return kept
