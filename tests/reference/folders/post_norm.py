"""A layer of an encoder that norms behind each sum (Vaswani et al. 2017): BERT's, DistilBERT's and
RoBERTa's, which differ only in the names of their weights."""

from parts import attend, layer_norm, linear, project


def encoder_layer(kept, at, x, w, names, heads, epsilon, activation):
    """`names`: how the checkpoint calls q, k, v, out, norm1, into, out_of and norm2 of the layer."""

    def product(x, name):
        return linear(x, w[names[name] + ".weight"], w[names[name] + ".bias"])

    def norm(x, name):
        weight = names[name] + ".weight"
        if weight not in w:  # as TensorFlow calls them
            return layer_norm(x, w[names[name] + ".gamma"], w[names[name] + ".beta"], epsilon)
        return layer_norm(x, w[weight], w[names[name] + ".bias"], epsilon)

    kept.keep(at + "resid_pre", x)
    q, k, v = (project(kept, at + "attn", letter, x, w[names[letter] + ".weight"],
                       w[names[letter] + ".bias"], heads) for letter in "qkv")
    concat = attend(kept, at + "attn", q, k, v, q.shape[-1] ** 0.5)
    out = kept.keep(at + "attn_out", product(concat, "out"))
    total = kept.keep(at + "ln1.input", x + out)
    x = kept.keep(at + "ln1.normalized", norm(total, "norm1"))
    kept.keep(at + "resid_mid", x)
    y = kept.keep(at + "mlp.pre", product(x, "into"))
    y = kept.keep(at + "mlp.post", activation(y))
    out = kept.keep(at + "mlp_out", product(y, "out_of"))
    total = kept.keep(at + "ln2.input", x + out)
    x = kept.keep(at + "ln2.normalized", norm(total, "norm2"))
    return kept.keep(at + "resid_post", x)


def pick_first(kept, x):
    """The row of the first token: what a classifier reads."""
    picked = x.new_zeros(len(x))
    picked[0] = 1
    kept.keep("picked", picked)
    return kept.keep("pooled", x[0])


def vector_product(x, w, name):
    """A row alone by a layer's weight."""
    return linear(x[None], w[name + ".weight"], w.get(name + ".bias"))[0]
