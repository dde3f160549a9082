"""Layers of encoder-decoders that Marian, BART and M2M-100 share, with the names that their
checkpoints share: self_attn, encoder_attn, fc1, fc2 and a norm for each. Marian and BART norm
behind each sum, M2M-100 before each part."""

from parts import ACTIVATIONS, attend, causal_mask, layer_norm, linear, project

EPSILON = 1e-05  # torch's own; no key of the configuration says it


class Stack:
    """The encoder or the decoder of one run. `root`: "encoder" or "decoder"."""

    def __init__(self, kept, c, w, root, norm_first):
        self.kept, self.c, self.w, self.root = kept, c, w, root
        self.norm_first = norm_first
        self.heads = c[root + "_attention_heads"]
        self.activation = ACTIVATIONS[c["activation_function"]]

    def product(self, x, name):
        return linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return layer_norm(x, self.w[name + ".weight"], self.w[name + ".bias"], EPSILON)

    def attention(self, at, of, x, source, mask):
        q, k, v = (project(self.kept, at, letter, rows, self.w[f"{of}.{letter}_proj.weight"],
                           self.w[f"{of}.{letter}_proj.bias"], self.heads)
                   for letter, rows in (("q", x), ("k", source), ("v", source)))
        concat = attend(self.kept, at, q, k, v, q.shape[-1] ** 0.5, mask)
        return self.kept.keep(at + "_out", self.product(concat, of + ".out_proj"))

    def feed_forward(self, at, of, x):
        y = self.kept.keep(at + "mlp.pre", self.product(x, of + "fc1"))
        y = self.kept.keep(at + "mlp.post", self.activation(y))
        return self.kept.keep(at + "mlp_out", self.product(y, of + "fc2"))

    def around(self, at, number, norm, x, part, result):
        """One part of a layer with its norm and its sum."""
        name = f"{at}ln{number}."
        if self.norm_first:
            y = self.kept.keep(name + "normalized", self.norm(x, norm))
            x = x + part(y)
        else:
            total = self.kept.keep(name + "input", x + part(x))
            x = self.kept.keep(name + "normalized", self.norm(total, norm))
        return self.kept.keep(at + result, x)

    def layer(self, number, x, encoded=None, mask=None):
        at = f"{self.root}.blocks.{number}."
        of = f"model.{self.root}.layers.{number}."
        self.kept.keep(at + "resid_pre", x)
        x = self.around(at, 1, of + "self_attn_layer_norm", x, lambda rows: self.attention(
            at + "attn", of + "self_attn", rows, rows, mask), "resid_mid")
        last = 2
        if encoded is not None:
            x = self.around(at, 2, of + "encoder_attn_layer_norm", x, lambda rows: self.attention(
                at + "cross_attn", of + "encoder_attn", rows, encoded, None), "resid_mid_cross")
            last = 3
        return self.around(at, last, of + "final_layer_norm", x,
                           lambda rows: self.feed_forward(at, of, rows), "resid_post")

    def layers(self, x, encoded=None):
        mask = None
        if self.root == "decoder":
            mask = self.kept.keep("mask", causal_mask(len(x)))
        for number in range(self.c[self.root + "_layers"]):
            x = self.layer(number, x, encoded, mask)
        if self.norm_first:
            x = self.kept.keep(self.root + ".ln_final.normalized",
                               self.norm(x, f"model.{self.root}.layer_norm"))
        return x

    def embed(self, ids, table, scale):
        x = self.kept.keep(self.root + ".embed", table[ids])
        if scale:
            x = self.kept.keep(self.root + ".embed_scaled", x * self.c["d_model"] ** 0.5)
        return x

    def add_positions(self, x, rows):
        return x + self.kept.keep(self.root + ".pos_embed", rows)


def make_layers(draw, c, final_norms):
    d = c["d_model"]
    for root in ("encoder", "decoder"):
        for number in range(c[root + "_layers"]):
            of = f"model.{root}.layers.{number}."
            for part in ["self_attn"] + ["encoder_attn"] * (root == "decoder"):
                for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
                    draw.linear(f"{of}{part}.{name}", d, d)
                draw.norm(f"{of}{part}_layer_norm", d)
            draw.linear(of + "fc1", c[root + "_ffn_dim"], d)
            draw.linear(of + "fc2", d, c[root + "_ffn_dim"])
            draw.norm(of + "final_layer_norm", d)
        if final_norms:
            draw.norm(f"model.{root}.layer_norm", d)


def put_table_again(draw, names):
    """The shared table under further names, as files written from a whole state have it."""
    for name in names:
        draw.put(name, draw.made["model.shared.weight"].clone())
