#!/usr/bin/env python3
"""Makes the gradients that tests/autodiff/test_gradients_model.cpp compares every backend with.

The models are those of make_reference.py, in float64; torch's autograd differentiates them from the
mean cross-entropy (torch's own) over the counted targets. One .safetensors file per configuration in
the folder `gradients`, stored as float32:

  __metadata__          the configuration, by the words of the command line
  token_ids, targets    the inputs of the run; a target of -1 is not counted
  mask, source_ids, …   where the model has them; NAME.dropout: 0 where NAME is left out
  param:NAME            a weight
  loss                  the cross-entropy of each position, 0 where no target is counted
  d.param:NAME          dL/d(weight)
  d.NAME                dL/d(tensor of the run), where torch's graph leads through that tensor

Needs only torch:

  python3 tests/reference/make_gradients.py [folder]     (default: gradients, beside this script)
"""

import pathlib
import sys
import zlib

import torch
import torch.nn.functional as F

import make_reference as reference

# What differs from make_reference's defaults: every block, attention, score, activation and kind of
# position, a temperature, a query without a key, switches on and off.
CONFIGS = {
    "pre-norm": dict(layers=2, heads=3, d_model=6, d_hidden=7, tokens=5, batch=2),
    "post-norm-wide": dict(attention="wide", heads=2, d_model=4, d_hidden=5, block="post-norm",
                           activation="gelu-tanh", positions="learned", mask="local", window=1,
                           bias="off", tokens=5),
    "attention-single": dict(attention="single", d_model=5, block="attention", layers=2,
                             scores="additive", scale="off", positions="none", mask="none",
                             tokens=4, batch=2),
    "basic-relu": dict(attention="basic", d_model=5, d_hidden=6, activation="relu",
                       positions="learned", mask="strided", stride=2, tokens=6),
    "masked-row-cool": dict(heads=2, d_model=4, d_hidden=6, temperature=0.4, mask="free",
                            forbidden=[(2, j) for j in range(5)] + [(0, 4)], tokens=5,
                            residual="off", activation="gelu-tanh"),
    "additive-warm": dict(attention="narrow", heads=2, d_head=3, d_model=4, d_hidden=5, tokens=5,
                          scores="additive", temperature=2.5, block="post-norm",
                          activation="relu", mask="padding", padding=[3]),
    "classes": dict(form="classes", classes=3, heads=2, d_model=4, d_hidden=5, mask="none",
                    tokens=5, batch=3, lengths=[5, 2, 4]),
    "pool-last": dict(form="classes", classes=3, pool="last", heads=2, d_model=4, d_hidden=5,
                      tokens=5, batch=3, lengths=[5, 1, 4]),
    "pool-concat": dict(form="classes", classes=3, pool="concat", layers=0, d_model=4, mask="none",
                        tokens=5, batch=3, lengths=[5, 2, 4]),
    "pool-vector": dict(form="classes", classes=3, pool="vector", heads=2, d_model=4, d_hidden=5,
                        mask="none", tokens=5, batch=2, lengths=[5, 2]),
    "pool-foci": dict(form="classes", classes=3, pool="foci", foci=2, pool_hidden=3, layers=0,
                      d_model=4, mask="none", tokens=5, batch=3, lengths=[5, 2, 4]),
    "pool-foci-penalty": dict(form="classes", classes=3, pool="foci", foci=3, pool_hidden=2,
                              foci_penalty=0.3, heads=2, d_model=4, d_hidden=5, mask="none",
                              tokens=6, batch=3, lengths=[6, 5, 4]),
    "segments": dict(segments="on", heads=2, d_model=4, d_hidden=5, mask="none", tokens=6, batch=3),
    "segments-cls": dict(segments="on", form="classes", classes=3, pool="cls", heads=2, d_model=4,
                         d_hidden=5, block="post-norm", positions="learned", mask="none", tokens=6,
                         batch=3, lengths=[6, 4, 5]),
    "token-head": dict(token_head="on", segments="on", form="classes", classes=3, pool="cls",
                       heads=2, d_model=4, d_hidden=5, positions="learned", mask="none", tokens=6,
                       batch=3, lengths=[6, 4, 5]),
    "token-head-foci-tied": dict(token_head="on", tied_head="on", form="classes", classes=3,
                                 pool="foci", foci=2, pool_hidden=3, foci_penalty=0.3, heads=2,
                                 d_model=4, d_hidden=5, mask="none", tokens=5, batch=2,
                                 lengths=[5, 3]),
    "experts": dict(experts=3, heads=2, d_model=4, d_hidden=5, tokens=5, batch=2),
    "experts-best": dict(experts=4, top_experts=2, layers=2, heads=2, d_model=4, d_hidden=5,
                         block="post-norm", activation="gelu-tanh", tokens=5, batch=2),
    "experts-best-one": dict(experts=4, top_experts=1, heads=2, d_model=4, d_hidden=5,
                             activation="silu", bias="off", tokens=6),
    "experts-balance": dict(experts=3, balance=0.7, layers=2, heads=2, d_model=4, d_hidden=5,
                            tokens=6, batch=2),
    "experts-best-balance": dict(experts=4, top_experts=2, balance=0.3, heads=2, d_model=4,
                                 d_hidden=5, block="post-norm", tokens=6, batch=2, dropout=0.4),
    "experts-classes-balance": dict(form="classes", classes=3, experts=3, top_experts=1, balance=0.5,
                                    heads=2, d_model=4, d_hidden=5, mask="none", tokens=5, batch=3,
                                    lengths=[5, 2, 4]),
    "experts-translate-balance": dict(form="translate", experts=3, top_experts=2, balance=0.4,
                                      heads=2, d_model=4, d_hidden=5, tokens=4, source=5, batch=2,
                                      source_lengths=[3, 5]),
    "recurrent": dict(mixer="recurrent", layers=2, d_model=5, d_hidden=4, tokens=6, batch=2),
    "recurrent-both-ways": dict(mixer="recurrent", form="classes", classes=3, mask="none",
                                d_model=4, d_hidden=5, batch=3, tokens=6, lengths=[6, 4, 1]),
    "gru": dict(mixer="gru", layers=2, d_model=4, d_hidden=5, tokens=6, batch=2),
    "gru-both-ways": dict(mixer="gru", form="classes", classes=3, mask="none", d_model=4,
                          block="attention", batch=2, tokens=5, lengths=[3, 5], bias="off"),
    "convolution": dict(mixer="convolution", layers=3, dilation=2, d_model=4, d_hidden=5, tokens=7,
                        batch=2),
    "convolution-both-ways": dict(mixer="convolution", kernel=4, dilation=2, layers=2, mask="none",
                                  form="classes", classes=3, d_model=5, block="attention", batch=2,
                                  tokens=6, lengths=[6, 3], bias="off"),
    "translate": dict(form="translate", heads=2, d_model=4, d_hidden=5, tokens=4, source=5, batch=2,
                      positions="learned", source_lengths=[3, 5]),
    "translate-post-norm": dict(form="translate", attention="wide", heads=2, d_model=3, d_hidden=4,
                                tokens=3, source=4, block="post-norm", activation="relu",
                                positions="none"),
    "dropout": dict(heads=2, d_model=4, d_hidden=5, tokens=4, batch=2, positions="none",
                    dropout=0.4),
    "llama": dict(norm="rms", positions="rotary", heads=4, kv_heads=2, activation="swiglu",
                  bias="off", layers=2, d_model=8, d_hidden=7, tokens=5, batch=2),
    "llama-dropout": dict(norm="rms", positions="rotary", rotary="interleaved", heads=2, kv_heads=1,
                          activation="geglu", d_model=4, d_hidden=5, tokens=4, batch=2,
                          dropout=0.4),
    "tied": dict(tied_head="on", heads=2, d_model=4, d_hidden=5, tokens=5, batch=2),
    "heads-side-by-side": dict(output_projection="off", heads=2, d_model=4, d_hidden=5, layers=2,
                               tokens=5, batch=2),
    "heads-side-by-side-dropout": dict(output_projection="off", heads=2, d_model=4, d_hidden=5,
                                       tokens=4, batch=2, dropout=0.4),
    "one-head-as-it-is": dict(output_projection="off", attention="single", d_model=4, d_hidden=5,
                              tokens=5),
    "translate-side-by-side": dict(form="translate", output_projection="off", heads=2, d_model=4,
                                   d_hidden=5, tokens=4, source=3),
    "extra-keys": dict(bias_kv="on", zero_attention="on", heads=2, d_model=4, d_hidden=5, layers=2,
                       tokens=5, batch=2),
    "extra-keys-grouped-dropout": dict(bias_kv="on", heads=2, kv_heads=1, d_model=4, d_hidden=5,
                                       tokens=4, batch=2, mask="none", dropout=0.4),
    "added-mask": dict(added="heads", by_head=[(0, 2, 1)], zero_attention="on", heads=2, d_model=4,
                       d_hidden=5, tokens=5, batch=2, average_weights="on"),
    "heads-off": dict(masked_heads="0.1,1.0", heads=2, d_model=4, d_hidden=5, layers=2, tokens=5,
                      batch=2),
    "translate-heads-off": dict(form="translate", masked_heads="0.0,encoder.0.1,cross.0.0", heads=2,
                                d_model=4, d_hidden=5, tokens=4, source=3),
    "fused": dict(fused_attention="on", heads=2, d_model=4, d_hidden=5, layers=2, tokens=6, batch=2),
    "fused-basic": dict(fused_attention="on", attention="basic", d_model=4, d_hidden=5, tokens=5,
                        positions="rotary", block="attention", layers=2),
    "fused-grouped": dict(fused_attention="on", positions="rotary", heads=4, kv_heads=2, d_model=8,
                          d_hidden=5, tokens=19, zero_attention="on", temperature=0.7),
    "fused-free": dict(fused_attention="on", mask="free", heads=2, d_model=4, d_hidden=5, tokens=5,
                       d_value=3, forbidden=[(0, 1), (2, 2)] + [(3, j) for j in range(5)]),
    "translate-fused": dict(form="translate", fused_attention="on", heads=2, d_model=4, d_hidden=5,
                            tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    "values-wider": dict(d_value=3, heads=2, kv_heads=1, d_model=4, d_hidden=5, tokens=5, batch=2),
    "translate-tied": dict(form="translate", tied_head="on", heads=2, d_model=4, d_hidden=5,
                           tokens=4, source=3, positions="none"),
    "memory-relative": dict(memory=3, positions="relative", relative_reach=4, heads=2, d_model=4,
                            d_hidden=5, tokens=4),
    "memory-t5": dict(memory=4, positions="t5", t5_buckets=6, t5_reach=7, heads=2, d_model=4,
                      d_hidden=5, tokens=5),
    "memory-transformer-xl": dict(memory=4, positions="transformer-xl", heads=2, d_model=4,
                                  d_hidden=5, layers=2, tokens=5, batch=2),
    "memory": dict(memory=4, positions="rotary", heads=2, d_model=4, d_hidden=5, layers=2, tokens=5,
                   batch=2),
    "memory-post-norm": dict(memory=9, positions="none", block="post-norm", d_model=6, heads=3,
                             d_hidden=4, tokens=4, batch=2),
    "memory-basic": dict(memory=3, positions="rotary", attention="basic", block="attention",
                         d_model=4, layers=2, tokens=5),
    "memory-dropout-rms": dict(memory=3, positions="none", heads=2, d_model=4, d_hidden=5,
                               norm="rms", tokens=4, batch=2, dropout=0.4),
    "rotary-basic": dict(positions="rotary", rotary_width=4, rotary_base=50.0, attention="basic",
                         d_model=6, block="attention", tokens=5),
    "multi-query-additive": dict(heads=3, kv_heads=1, d_model=6, scores="additive", scale="off",
                                 positions="rotary", d_hidden=4, activation="silu",
                                 block="post-norm", norm="rms", tokens=4, batch=2),
    "translate-llama": dict(form="translate", norm="rms", positions="rotary", heads=4, kv_heads=2,
                            activation="swiglu", d_model=8, d_hidden=5, tokens=4, source=5, batch=2,
                            source_lengths=[3, 5]),
    "relative": dict(positions="relative", relative_reach=2, layers=2, heads=2, d_model=6,
                     d_hidden=5, tokens=5, batch=2),
    "relative-dropout": dict(positions="relative", relative_reach=1, heads=2, d_model=4, d_hidden=5,
                             tokens=5, mask="none", batch=2, dropout=0.4),
    "t5": dict(positions="t5", t5_buckets=5, t5_reach=4, layers=2, heads=3, d_model=6, d_hidden=5,
               tokens=7, batch=2),
    "t5-masked-row": dict(positions="t5", t5_buckets=8, t5_reach=5, heads=2, d_model=4, d_hidden=6,
                          mask="free", forbidden=[(2, j) for j in range(6)] + [(0, 4)], tokens=6),
    "alibi": dict(positions="alibi", heads=3, d_model=6, d_hidden=5, tokens=5, batch=2),
    "transformer-xl": dict(positions="transformer-xl", layers=2, heads=2, d_model=6, d_hidden=5,
                           tokens=5, batch=2),
    "transformer-xl-additive": dict(positions="transformer-xl", heads=2, kv_heads=1, d_model=4,
                                    d_hidden=5, scores="additive", mask="none", tokens=4),
    "translate-relative": dict(form="translate", positions="relative", relative_reach=2, heads=2,
                               d_model=4, d_hidden=5, tokens=4, source=5, batch=2,
                               source_lengths=[3, 5]),
    "translate-transformer-xl": dict(form="translate", positions="transformer-xl", heads=2,
                                     d_model=4, d_hidden=5, tokens=4, source=5),
    "norm-none": dict(norm="none", heads=2, d_model=4, d_hidden=5, layers=2, tokens=5, batch=2),
    "mixer-none": dict(mixer="none", d_model=5, d_hidden=4, layers=2, tokens=5, batch=2),
    "numbers": dict(numbers="on", mixer="none", norm="none", positions="none", residual="off",
                    experts=2, d_model=4, d_hidden=5, tokens=6, batch=2, mask="none"),
    "numbers-mixture": dict(numbers="on", components=3, heads=2, d_model=4, d_hidden=5, tokens=5,
                            batch=2),
    "numbers-mixture-bare": dict(numbers="on", components=2, mixer="none", norm="none", d_model=4,
                                 d_hidden=5, tokens=6, bias="off"),
    "norm-epsilon": dict(norm_epsilon=0.3, heads=2, d_model=6, d_hidden=5, tokens=5, batch=2),
    "norm-epsilon-rms": dict(norm_epsilon=0.07, norm="rms", qkv_bias="off", head_bias="off",
                             heads=2, d_model=6, d_hidden=5, tokens=5),
    "bias-of-few": dict(bias="off", qkv_bias="on", mlp_bias="on", heads=2, d_model=6, d_hidden=5,
                        tokens=5, batch=2),
    "tied-with-bias": dict(tied_head="on", head_bias="on", output_bias="off", heads=2, d_model=4,
                           d_hidden=5, tokens=5, batch=2),
    "embed-norm-offset": dict(embed_norm="on", embed_scale="on", positions="learned",
                              position_offset=2, heads=2, d_model=4, d_hidden=5, tokens=5,
                              batch=2),
    "translate-bart": dict(form="translate", embed_scale="on", embed_norm="on",
                           positions="learned", position_offset=2, block="post-norm",
                           tied_head="on", head_bias="on", heads=2, d_model=4, d_hidden=5,
                           encoder_layers=2, tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    "translate-two-tables": dict(form="translate", source_vocab=9, sinusoid="halves", heads=2,
                                 d_model=4, d_hidden=5, tokens=4, source=5),
    "bert": dict(embed_norm="on", segments="on", positions="learned", block="post-norm",
                 head_transform="on", tied_head="on", head_bias="on", mask="none", heads=2,
                 d_model=4, d_hidden=5, tokens=5, batch=2),
    "roberta-classes": dict(form="classes", classes=3, pool="cls", pooler="tanh", segments="on",
                            segment_rows=1, positions="learned", position_offset=2, mask="none",
                            heads=2, d_model=4, d_hidden=5, tokens=5, batch=2, lengths=[5, 3]),
    "pooler-relu": dict(form="classes", classes=3, pooler="relu", heads=2, d_model=4, d_hidden=5,
                        mask="none", tokens=5, batch=2, lengths=[5, 3]),
} | reference.mixes()

CONFIGS |= {
    "parallel": dict(block="parallel", heads=2, d_model=4, d_hidden=5, layers=2, tokens=5, batch=2),
    "parallel-alone": dict(block="parallel", residual="off", norm="rms", heads=2, d_model=4,
                           d_hidden=5, layers=2, tokens=4, batch=2),
    "parallel-dropout": dict(block="parallel", heads=2, d_model=4, d_hidden=5, tokens=4, batch=2,
                             dropout=0.4),
    "translate-parallel": dict(form="translate", block="parallel", heads=2, d_model=4, d_hidden=5,
                               tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    "rotary-llama3": dict(positions="rotary", rotary_scaling="llama3", rotary_factor=8.0,
                          rotary_context=16, rotary_base=50.0, heads=2, d_model=16, d_hidden=5,
                          tokens=5, batch=2),
    "local-layers": dict(local_layers=[1], local_window=2, layers=2, heads=2, d_model=4, d_hidden=5,
                         tokens=5, batch=2),
    "local-layers-dropout": dict(local_layers=[0], local_window=2, heads=2, d_model=4, d_hidden=5,
                                 tokens=5, batch=2, dropout=0.4),
    "classes-local-layers": dict(form="classes", classes=3, local_layers=[0], local_window=2,
                                 heads=2, d_model=4, d_hidden=5, mask="none", tokens=5, batch=3,
                                 lengths=[5, 2, 4]),
    "softcap": dict(softcap=1.2, heads=2, d_model=4, d_hidden=5, layers=2, tokens=5, batch=2),
    "translate-softcap": dict(form="translate", softcap=0.9, heads=2, d_model=4, d_hidden=5,
                              tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    "score-scale": dict(score_scale=0.3, heads=2, d_model=4, d_hidden=5, tokens=5, batch=2),
}


def dropout_factors(c, generator):
    """0 for what is left out, 1 / (1 - p) for the rest, of a model with narrow heads."""
    batch, n, d = c["batch"], c["tokens"], c["d_model"]
    made = {}
    for layer in range(c["layers"]):
        keys = reference.remembered(c) + n + reference.extra_keys(c)
        for name, shape in (("attn.pattern", (batch, c["heads"], n, keys)),
                            ("attn_out", (batch, n, d)), ("mlp_out", (batch, n, d))):
            kept = torch.rand(shape, generator=generator) >= c["dropout"]
            made[f"blocks.{layer}.{name}.dropout"] = kept.double() / (1 - c["dropout"])
    return made


def penalised(c, run, losses, targets):
    """The mean over the rows that count, and each row's loss, with what overlapping foci cost."""
    weights = run.kept["pool.weights"]
    run.keep("class_loss", losses)
    overlap = run.keep("pool.overlap", weights @ weights.transpose(-1, -2))
    apart = torch.eye(c["foci"], dtype=torch.float64)
    penalty = run.keep("pool.penalty", c["foci_penalty"] * (overlap - apart).pow(2).sum((1, 2, 3)))
    losses = losses + penalty
    counted = targets >= 0
    return losses[counted].sum() / counted.sum(), losses


def with_hidden(c, run, tensors, losses, targets, generator):
    """The sum of both means: over the rows whose class counts, and over their hidden tokens; and
    each row's share of it."""
    n = c["tokens"]
    words = torch.randint(0, reference.VOCAB, (c["batch"], n), generator=generator)
    hidden = torch.rand(words.shape, generator=generator) < 0.5
    hidden[:, 0] = True
    hidden &= torch.arange(n)[None] < torch.tensor(c["lengths"])[:, None]
    words = words.masked_fill(~hidden, -1)
    counted = targets >= 0
    asked = hidden & counted[:, None]
    shares = asked.double() * (counted.double().sum() / asked.double().sum())
    tensors["token_targets"] = words.double()
    tensors["chosen"] = shares[:, None, None]
    of_class = losses
    if "pool.penalty" in run.kept:
        run.keep("class_cost", losses)
    else:
        run.keep("class_loss", losses)
    logits = run.kept["token_logits"].transpose(1, 2)
    by_token = run.keep("token_loss", F.cross_entropy(logits, words, ignore_index=-1,
                                                      reduction="none"))
    rows = run.keep("hidden_loss.sum", (shares * by_token).sum(1)[:, None, None, None])
    losses = losses + rows.flatten()
    # The same once more, as torch means it, of the rows that count.
    plain = F.cross_entropy(logits.transpose(1, 2)[asked], words[asked])
    total = losses[counted].mean()
    assert abs(total - (of_class[counted].mean() + plain)) < 1e-12
    return total, losses


def balanced(c, run, inputs, losses, targets):
    """The mean over the targets that count, and each one's loss, with what an uneven load of the
    experts costs in its row: C · E · Σ f · P, for each layer."""
    run.keep("own_loss", losses)
    experts, best = c["experts"], c["top_experts"] or 1
    stacks = ["encoder.", "decoder."] if c["form"] == "translate" else [""]
    names = [f"{root}blocks.{layer}.mlp." for root in stacks for layer in range(c["layers"])]
    counted = targets >= 0
    for i, name in enumerate(names):
        gate = run.kept[name + "gate"]
        present = torch.ones(gate.shape[:2], dtype=torch.float64)
        lengths = c["source_lengths"] if name.startswith("encoder") else c["lengths"]
        if lengths:
            there = torch.arange(gate.shape[1])[None] < torch.tensor(lengths)[:, None]
            present = there.double()
        inputs["source_present" if name.startswith("encoder") else "present"] = present
        chosen = F.one_hot(gate.topk(best).indices, experts).sum(2).double() * present[..., None]
        tokens = present.sum(1, keepdim=True)
        share, mean = chosen.sum(1) / (best * tokens), (gate * present[..., None]).sum(1) / tokens
        cost = c["balance"] * experts * (share * mean).sum(-1)
        cost = cost if targets.dim() == 1 else cost[:, None].expand(targets.shape)
        losses = losses + run.keep(name + "balance", cost * counted)
        if i + 1 < len(names):
            run.keep(f"own_loss.{i + 1}", losses)
    return losses[counted].sum() / counted.sum(), losses


def make(name, changes, folder):
    c = reference.DEFAULTS | changes
    generator = torch.Generator().manual_seed(zlib.crc32(("gradients of " + name).encode()))
    parameters = reference.make_parameters(c, generator)
    for tensor in parameters.values():
        tensor.requires_grad_()
    shape = (c["batch"], c["tokens"])
    ids = torch.randint(0, reference.VOCAB, shape, generator=generator)
    outcomes = c["classes"] or reference.VOCAB
    targets = torch.randint(0, outcomes, shape[:1] if c["classes"] else shape, generator=generator)
    targets[torch.rand(targets.shape, generator=generator) < 0.25] = -1
    targets.view(-1)[0] = 3 if outcomes > 3 else 2  # at least one is counted
    inputs, first = {}, None
    if c["memory"]:
        first, inputs = reference.remember(c, parameters, generator)
        c["second"] = True
    inputs |= reference.make_inputs(c)
    if c["source"]:
        inputs["source_ids"] = torch.randint(0, c["source_vocab"] or reference.VOCAB,
                                             (c["batch"], c["source"]), generator=generator)
    if c.get("dropout"):
        inputs |= dropout_factors(c, generator)
    reference.divide(c, ids, inputs)
    tensors = {"token_ids": ids.double(), "targets": targets.double()}
    tensors |= reference.read_inputs(c, inputs)
    run = reference.Run(c, parameters, ids, inputs)
    run.compute()
    losses = F.cross_entropy(run.kept["logits"].movedim(-1, 1), targets, ignore_index=-1,
                             reduction="none")
    total = F.cross_entropy(run.kept["logits"].reshape(-1, outcomes), targets.reshape(-1),
                            ignore_index=-1)
    if c["foci_penalty"]:
        total, losses = penalised(c, run, losses, targets)
    if c["token_head"] == "on":
        total, losses = with_hidden(c, run, tensors, losses, targets, generator)
    if c["balance"]:
        made = {}
        total, losses = balanced(c, run, made, losses, targets)
        tensors |= made
    kept = {key: tensor for key, tensor in run.kept.items() if tensor.requires_grad}
    for tensor in kept.values():
        tensor.retain_grad()
    losses.retain_grad()
    total.backward()
    tensors["loss"] = losses
    tensors |= {"d." + key: tensor.grad for key, tensor in kept.items() if tensor.grad is not None}
    if c["batch"] == 1:
        tensors = {key: tensor[0] for key, tensor in tensors.items()}
    tensors |= reference.head_masks(c)
    for key, tensor in parameters.items():
        tensors["param:" + key] = tensor
        tensors["d.param:" + key] = tensor.grad
    for key, tensor in tensors.items():
        if not key.endswith("mask") and not torch.isfinite(tensor).all():
            sys.exit(f"{name}: {key} is not finite")
    path = folder / (name + ".safetensors")
    reference.write_safetensors(path, tensors, reference.metadata(c) | reference.first_words(first))
    print(f"{path.name}: {sum(key.startswith('d.') for key in tensors)} gradients, "
          f"{path.stat().st_size} bytes")
    return path.stat().st_size


def main():
    here = pathlib.Path(__file__).parent / "gradients"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    folder.mkdir(exist_ok=True)
    total = sum(make(name, changes, folder) for name, changes in CONFIGS.items())
    print(f"{len(CONFIGS)} files, {total} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
