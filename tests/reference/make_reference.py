#!/usr/bin/env python3
"""Makes the reference numbers that tests/reference/test_reference.cpp compares every backend with.

An implementation of the recipes in PyTorch that shares nothing with core/: torch's own functions
wherever they exist, float64 throughout, stored as float32. One .safetensors file per configuration:

  __metadata__      the configuration, by the words of the command line
  token_ids, mask   the inputs of the run; of the other forms also source_ids, source_mask,
                    cross_mask, present
  param:NAME        a weight, NAME as in a weights file
  NAME              a tensor of the run

With a batch of 1 the batch axis is left out. Needs only torch:

  python3 tests/reference/make_reference.py [folder]     (default: the folder of this script)

Layers that torch has a module for are also computed by that module (MultiheadAttention,
TransformerEncoderLayer, TransformerDecoderLayer) and by scaled_dot_product_attention; the script
fails if they differ.
"""

import json
import math
import pathlib
import struct
import sys
import zlib

import torch
import torch.nn.functional as F

VOCAB = 7
SEPARATOR = 3  # the id of [SEP] where rows have segments
EPSILON = 1e-5

DEFAULTS = dict(
    layers=1, heads=2, d_model=8, d_head=0, d_hidden=10, attention="narrow", scores="dot",
    scale="on", block="pre-norm", activation="gelu", positions="sinusoidal", bias="on",
    residual="on", mask="causal", window=2, stride=3, causal="auto", padding=[], forbidden=[],
    batch=1, tokens=6, temperature=1.0, form="tokens", classes=0, source=0, lengths=[],
    source_lengths=[])

# What came later: stands in a file only where it is not this.
LATER = dict(norm="layer", kv_heads=0, rotary="half", rotary_base=10000.0, rotary_width=0,
             tied_head="off", pool="mean", foci=3, pool_hidden=0, foci_penalty=0.0,
             relative_reach=16, t5_buckets=32, t5_reach=128,
             mixer="attention", kernel=3, dilation=1, experts=0, top_experts=0, balance=0.0,
             memory=0, numbers="off", components=0, output_projection="on", d_value=0, bias_kv="off",
             zero_attention="off", average_weights="off", fused_attention="off", masked_heads="", added="",
             by_head=[], segments="off", token_head="off",
             norm_epsilon=EPSILON, qkv_bias="", output_bias="", mlp_bias="", head_bias="",
             embed_scale="off", embed_norm="off", sinusoid="interleaved", position_offset=0,
             segment_rows=2, head_transform="off", pooler="none", encoder_layers=0, source_vocab=0)
# Of recipes that only some published models have.
LATER |= dict(score_scale=0.0, softcap=0.0, rotary_scaling="none", rotary_factor=1.0,
              rotary_low=1.0, rotary_high=4.0, rotary_context=8192, local_layers=[],
              local_window=0)
DEFAULTS |= LATER

BY_DISTANCE = ("relative", "t5", "alibi", "transformer-xl")

# What differs from DEFAULTS. Sizes are small and odd on purpose: a swapped axis must not fit.
CONFIGS = {
    "basic": dict(attention="basic", block="attention", scale="off", positions="none",
                  mask="none", bias="off", d_model=6, tokens=5),
    "basic-scaled-alone": dict(attention="basic", block="attention", residual="off", layers=2,
                               d_model=7),
    "basic-additive": dict(attention="basic", scores="additive", scale="off", activation="relu",
                           positions="learned", d_model=6, tokens=7),
    "basic-additive-scaled": dict(attention="basic", scores="additive", block="attention",
                                  residual="off", positions="none", bias="off", mask="local",
                                  d_model=6, window=1),
    "single": dict(attention="single", tokens=7),
    "single-width": dict(attention="single", d_head=5, block="attention", bias="off",
                         positions="learned", layers=2, d_model=6),
    "single-additive": dict(attention="single", scores="additive", scale="off", block="post-norm",
                            activation="gelu-tanh", mask="padding", padding=[4, 5], d_model=7),
    "narrow-pre-norm": dict(heads=3, d_model=12, layers=2, tokens=7),
    "narrow-post-norm": dict(heads=2, block="post-norm", activation="relu", mask="none", layers=2,
                             tokens=5),
    "narrow-pre-norm-relu": dict(heads=3, d_model=9, activation="relu", positions="learned"),
    "narrow-post-norm-gelu": dict(heads=3, d_model=6, block="post-norm", positions="none"),
    "narrow-attention": dict(heads=3, d_model=12, block="attention"),
    "narrow-normed-attention": dict(heads=2, d_model=6, block="attention-norm", layers=2, norm="rms"),
    "translate-normed-attention": dict(form="translate", heads=2, d_model=6, block="attention-norm",
                                       tokens=3, source=4, batch=2),
    "narrow-attention-alone": dict(heads=2, block="attention", residual="off", layers=3,
                                   positions="learned", d_model=10),
    "narrow-width": dict(heads=3, d_head=5, d_model=8, activation="gelu-tanh", bias="off",
                         mask="local", window=1),
    "narrow-one-head": dict(heads=1, d_model=6, d_hidden=0, tokens=5),
    "narrow-no-scale": dict(heads=2, scale="off", bias="off", positions="learned", d_model=6),
    "narrow-additive": dict(heads=2, scores="additive", scale="off", d_model=10, tokens=5),
    "narrow-additive-scaled": dict(heads=3, scores="additive", d_model=9, block="post-norm",
                                   activation="gelu-tanh"),
    "wide": dict(attention="wide", heads=3, d_model=6, layers=2),
    "wide-no-scale": dict(attention="wide", heads=2, d_model=7, scale="off", block="post-norm",
                          bias="off", activation="relu"),
    "wide-additive-scaled": dict(attention="wide", heads=2, d_model=6, scores="additive",
                                 block="attention", mask="none"),
    "wide-width": dict(attention="wide", heads=3, d_model=8, d_head=3, positions="none"),
    "local": dict(mask="local", window=2, tokens=7),
    "local-both-ways": dict(mask="local", window=1, causal="off", tokens=7, block="attention"),
    "strided": dict(mask="strided", stride=2, tokens=7, block="post-norm"),
    "strided-both-ways": dict(mask="strided", stride=3, causal="off", tokens=7,
                              block="attention"),
    "padding": dict(mask="padding", padding=[2, 5], heads=2),
    "padding-causal": dict(mask="padding", padding=[0, 3], causal="on", block="attention"),
    "free": dict(mask="free", tokens=5, forbidden=[(0, 1), (0, 4), (2, 2), (4, 0), (4, 3)] +
                 [(3, j) for j in range(5)]),
    "free-causal": dict(mask="free", causal="on", tokens=6, block="post-norm",
                        forbidden=[(0, 0), (1, 0), (3, 3), (5, 1), (5, 2)]),
    "pre-norm-alone": dict(residual="off", layers=2, activation="gelu-tanh", d_model=6),
    "post-norm-alone": dict(residual="off", block="post-norm", bias="off", d_model=6),
    "pre-norm-deep": dict(layers=3, heads=2, d_model=6, d_hidden=7, bias="off"),
    "post-norm-deep": dict(layers=3, heads=3, d_model=6, d_hidden=7, block="post-norm",
                           activation="gelu-tanh"),
    "cool": dict(heads=2, temperature=0.3, layers=2),
    "warm": dict(attention="wide", heads=2, d_model=6, temperature=2.5, mask="free",
                 block="post-norm", forbidden=[(1, j) for j in range(6)] + [(4, 2)]),
    "one-token": dict(tokens=1, heads=2, d_model=6),
    # Every item of the batch has a mask of its own.
    "batch-pre-norm": dict(batch=2, heads=2, mask="padding", tokens=5, d_model=6,
                           padding=[[3, 4], [0]]),
    "batch-post-norm": dict(batch=2, attention="wide", heads=2, d_model=6, tokens=5,
                            scores="additive", block="post-norm", mask="local", window=1),
    # The other forms; rows of a batch end in padding.
    "classes": dict(form="classes", classes=3, heads=2, d_model=4, d_hidden=5, mask="none",
                    positions="learned", batch=2, tokens=5, lengths=[5, 3]),
    "classes-basic": dict(form="classes", classes=4, attention="basic", d_model=3, block="attention",
                          positions="none", tokens=4),
    # Pooling, over layers and over embeddings alone.
    "pool-last": dict(form="classes", classes=3, pool="last", heads=2, d_model=4, d_hidden=5,
                      batch=3, tokens=5, lengths=[5, 3, 1]),
    "pool-cls": dict(form="classes", classes=3, pool="cls", heads=2, d_model=4, d_hidden=5,
                     mask="none", batch=2, tokens=5, lengths=[5, 2]),
    "pool-concat": dict(form="classes", classes=2, pool="concat", layers=0, d_model=4, mask="none",
                        positions="none", batch=2, tokens=5, lengths=[4, 2]),
    "pool-vector": dict(form="classes", classes=3, pool="vector", layers=0, d_model=6, mask="none",
                        batch=2, tokens=5, lengths=[5, 3]),
    "pool-foci": dict(form="classes", classes=3, pool="foci", foci=4, pool_hidden=3, heads=2,
                      d_model=6, d_hidden=5, mask="none", batch=2, tokens=7, lengths=[7, 4]),
    "pool-foci-alone": dict(form="classes", classes=2, pool="foci", foci=2, layers=0, d_model=5,
                            positions="learned", mask="none", tokens=6),
    # Segments: two sentences of a row, as BERT tells them apart; one of one sentence alone.
    "segments": dict(segments="on", heads=2, d_model=6, d_hidden=5, positions="learned",
                     mask="none", batch=2, tokens=7),
    "segments-cls": dict(segments="on", form="classes", classes=2, pool="cls", heads=2, d_model=4,
                         d_hidden=5, block="post-norm", positions="learned", mask="none", batch=3,
                         tokens=6, lengths=[6, 4, 5]),
    # A head of tokens beside that of classes, with a matrix of its own and with the embeddings.
    "token-head": dict(token_head="on", segments="on", form="classes", classes=2, pool="cls",
                       heads=2, d_model=6, d_hidden=5, positions="learned", mask="none", batch=2,
                       tokens=6, lengths=[6, 4]),
    "token-head-tied": dict(token_head="on", tied_head="on", form="classes", classes=3, heads=2,
                            d_model=4, block="post-norm", mask="none", tokens=5),
    "segments-alone": dict(segments="on", heads=2, d_model=4, block="attention", positions="none",
                           tokens=5),
    # Experts in the feed-forward network's place: all of them, the best, the best one, a single one.
    "experts": dict(experts=4, heads=2, d_model=6, d_hidden=5, batch=2, tokens=5),
    "experts-best": dict(experts=5, top_experts=2, heads=2, d_model=6, d_hidden=4, layers=2,
                         block="post-norm", activation="relu", tokens=6),
    "experts-best-one": dict(experts=3, top_experts=1, heads=2, d_model=4, d_hidden=5, bias="off",
                             activation="silu", tokens=7),
    "experts-one": dict(experts=1, heads=2, d_model=4, d_hidden=5, activation="gelu-tanh",
                        tokens=4),
    "experts-one-token": dict(experts=3, top_experts=3, heads=2, d_model=4, d_hidden=5, tokens=1),
    "experts-classes": dict(form="classes", classes=3, experts=3, top_experts=2, heads=2, d_model=4,
                            d_hidden=5, mask="none", batch=2, tokens=5, lengths=[5, 3]),
    "experts-translate": dict(form="translate", experts=3, heads=2, d_model=4, d_hidden=5, tokens=4,
                              source=6, batch=2, source_lengths=[4, 6]),
    # In attention's place: both directions, padding within a row and at the ends of a batch's.
    "recurrent": dict(mixer="recurrent", layers=2, d_model=6, tokens=7),
    "recurrent-both-ways": dict(mixer="recurrent", form="classes", classes=3, mask="none",
                                d_model=5, batch=3, tokens=6, lengths=[6, 4, 1]),
    "recurrent-padding": dict(mixer="recurrent", mask="padding", padding=[1, 5], d_model=4,
                              bias="off", block="attention", tokens=6),
    "gru": dict(mixer="gru", layers=2, d_model=5, tokens=6, block="post-norm", activation="relu"),
    "gru-both-ways": dict(mixer="gru", form="classes", classes=2, mask="none", d_model=4, batch=2,
                          tokens=5, lengths=[3, 5], bias="off"),
    "convolution": dict(mixer="convolution", layers=3, dilation=2, d_model=5, tokens=9,
                        block="attention"),
    "convolution-both-ways": dict(mixer="convolution", kernel=4, dilation=2, layers=2, mask="none",
                                  form="classes", classes=3, d_model=6, batch=2, tokens=8,
                                  lengths=[8, 5], bias="off"),
    "convolution-wide": dict(mixer="convolution", kernel=9, d_model=4, tokens=4, mask="none"),
    "translate": dict(form="translate", heads=2, d_model=4, d_hidden=5, tokens=4, source=6, batch=2,
                      positions="learned", source_lengths=[4, 6]),
    "translate-post-norm": dict(form="translate", heads=3, d_model=6, d_hidden=4, tokens=5, source=3,
                                block="post-norm", activation="relu"),
    "translate-attention": dict(form="translate", attention="single", d_model=3, layers=2, tokens=3,
                                source=4, block="attention", scores="additive", mask="none"),
    # Segments: the run is of the second, and what it remembers was made by a run of the first.
    "memory": dict(memory=4, positions="rotary", heads=2, d_model=8, layers=2, tokens=5, batch=2),
    "memory-post-norm": dict(memory=9, positions="none", block="post-norm", d_model=6, heads=3,
                             tokens=4, mask="local", window=3),
    "memory-relative": dict(memory=3, positions="relative", relative_reach=4, heads=2, d_model=6,
                            d_hidden=5, tokens=4),
    "memory-t5": dict(memory=4, positions="t5", t5_buckets=6, t5_reach=7, heads=3, d_model=6,
                      d_hidden=5, tokens=5),
    "memory-alibi": dict(memory=3, positions="alibi", heads=3, d_model=6, d_hidden=5, tokens=4),
    "memory-transformer-xl": dict(memory=4, positions="transformer-xl", heads=2, d_model=6,
                                  d_hidden=5, layers=2, tokens=5, batch=2),
    "memory-transformer-xl-both-ways": dict(memory=2, positions="transformer-xl", mask="none",
                                            heads=2, d_model=6, d_hidden=5, tokens=3),
    "memory-basic": dict(memory=3, positions="rotary", attention="basic", block="attention",
                         d_model=6, layers=2, tokens=5, rotary="interleaved"),
    "memory-additive-rms": dict(memory=2, positions="none", attention="wide", scores="additive",
                                heads=2, kv_heads=1, d_model=4, norm="rms", tokens=3, mask="none"),
    # The mechanisms of today's language models, one by one and as LLaMA has them.
    "rms-post-norm": dict(norm="rms", block="post-norm", d_model=6, layers=2, tokens=4),
    "rotary-interleaved": dict(positions="rotary", rotary="interleaved", rotary_base=100.0,
                               rotary_width=4, heads=2, d_model=12, block="attention", tokens=7),
    "rotary-half-width": dict(positions="rotary", rotary_width=2, heads=2, d_head=5, d_model=6,
                              block="attention", mask="local", window=2),
    "rotary-basic": dict(positions="rotary", attention="basic", block="attention", d_model=6,
                         tokens=5),
    "rotary-single": dict(positions="rotary", attention="single", d_model=6, block="attention",
                          tokens=5, rotary="interleaved"),
    "rotary-wide-additive": dict(positions="rotary", attention="wide", heads=2, d_model=4,
                                 scores="additive", block="attention", tokens=5),
    "grouped": dict(heads=6, kv_heads=2, d_model=12, block="attention", tokens=5, batch=2),
    "tied": dict(tied_head="on", positions="learned", heads=2, layers=2, tokens=7, d_model=10),
    "translate-tied": dict(form="translate", tied_head="on", heads=2, d_model=6, tokens=5,
                           source=4),
    "heads-side-by-side": dict(output_projection="off", heads=2, d_model=6, layers=2, tokens=5),
    "heads-side-by-side-alone": dict(output_projection="off", heads=3, kv_heads=1, d_head=2,
                                     d_model=6, residual="off", block="attention", tokens=5,
                                     batch=2),
    "one-head-as-it-is": dict(output_projection="off", attention="single", d_model=5, tokens=6),
    "translate-side-by-side": dict(form="translate", output_projection="off", heads=2, d_model=6,
                                   tokens=5, source=4),
    # The options of the usual modules: further keys and values, numbers added to the scores, masks
    # of single heads, heads that are off, the mean of the weights.
    "bias-kv": dict(bias_kv="on", heads=2, d_model=6, layers=2, tokens=5, batch=2),
    "zero-attention": dict(zero_attention="on", heads=2, d_model=6, tokens=5, mask="none"),
    "extra-keys": dict(bias_kv="on", zero_attention="on", average_weights="on", heads=3, d_model=6,
                       tokens=6, mask="padding", padding=[2, 5]),
    "extra-keys-grouped": dict(bias_kv="on", zero_attention="on", positions="rotary", heads=4,
                               kv_heads=2, d_model=8, tokens=5, block="attention", batch=2),
    "extra-keys-basic": dict(bias_kv="on", zero_attention="on", attention="basic", d_model=5,
                             tokens=4, block="attention"),
    "extra-keys-memory": dict(bias_kv="on", zero_attention="on", memory=4, positions="rotary",
                              heads=2, d_model=8, tokens=5, batch=2),
    "translate-extra-keys": dict(form="translate", bias_kv="on", zero_attention="on", heads=2,
                                 d_model=4, d_hidden=5, tokens=4, source=6, batch=2,
                                 source_lengths=[4, 6]),
    "classes-extra-keys": dict(form="classes", classes=3, zero_attention="on", heads=2, d_model=4,
                               d_hidden=5, mask="none", batch=2, tokens=5, lengths=[5, 3]),
    "added-mask": dict(added="shared", heads=2, d_model=6, layers=2, tokens=5),
    "added-mask-by-head": dict(added="heads", average_weights="on", heads=3, d_model=6, tokens=6,
                               mask="none", batch=2),
    "added-mask-extra-keys": dict(added="heads", by_head=[(0, 2, 1), (1, 4, 0)], bias_kv="on",
                                  zero_attention="on", heads=2, d_model=6, tokens=5),
    "masks-of-heads": dict(by_head=[(0, 3, 1), (0, 3, 2), (1, 0, 0), (1, 5, 2)], heads=2, d_model=6,
                           layers=2, tokens=6),
    "heads-off": dict(masked_heads="0.1,1.0,1.2", average_weights="on", heads=3, d_model=6,
                      layers=2, tokens=5),
    "translate-heads-off": dict(form="translate", masked_heads="0.0,encoder.0.1,cross.0.0",
                                added="shared", heads=2, d_model=4, d_hidden=5, tokens=4,
                                source=3),
    "values-wider": dict(d_value=5, heads=2, d_model=6, layers=2, tokens=5, batch=2),
    "values-narrower": dict(d_value=2, attention="wide", heads=2, kv_heads=1, d_model=6, tokens=4,
                            scores="additive", bias="off", mask="local", window=1),
    "values-single": dict(d_value=3, d_head=4, attention="single", d_model=6, tokens=5,
                          zero_attention="on"),
    "values-side-by-side": dict(d_value=3, d_head=2, heads=2, d_model=6, tokens=5,
                                output_projection="off"),
    # One operation from scores to weighted sum: only what it reads and makes.
    "fused": dict(fused_attention="on", heads=2, d_model=6, layers=2, tokens=7, batch=2),
    "fused-basic": dict(fused_attention="on", attention="basic", scale="off", d_model=5, tokens=6,
                        mask="none", temperature=0.6),
    "fused-single": dict(fused_attention="on", attention="single", d_head=3, d_value=4, d_model=6,
                         mask="local", window=1, tokens=6),
    "fused-grouped": dict(fused_attention="on", positions="rotary", heads=4, kv_heads=2, d_model=8,
                          tokens=19, zero_attention="on", bias_kv="on", block="post-norm"),
    "fused-free": dict(fused_attention="on", mask="free", heads=2, tokens=5, temperature=1.7,
                       forbidden=[(0, 1), (2, 2), (4, 0)] + [(3, j) for j in range(5)]),
    "fused-memory": dict(fused_attention="on", memory=4, positions="rotary", heads=2, d_model=8,
                         tokens=5, batch=2),
    "classes-fused": dict(form="classes", classes=3, fused_attention="on", heads=2, d_model=4,
                          d_hidden=5, mask="none", batch=2, tokens=5, lengths=[5, 3]),
    "translate-fused": dict(form="translate", fused_attention="on", heads=2, d_model=4, d_hidden=5,
                            tokens=4, source=6, batch=2, source_lengths=[4, 6]),
    "multi-query": dict(attention="wide", heads=3, kv_heads=1, d_model=4, scores="additive",
                        block="attention", bias="off", tokens=5),
    "silu": dict(activation="silu", d_model=6, tokens=4),
    "llama": dict(norm="rms", positions="rotary", heads=4, kv_heads=2, activation="swiglu",
                  bias="off", layers=2, d_model=16, d_hidden=11, tokens=7),
    "classes-llama": dict(form="classes", classes=3, norm="rms", positions="rotary", heads=4,
                          kv_heads=2, activation="swiglu", d_model=8, d_hidden=5, mask="none",
                          batch=2, tokens=5, lengths=[5, 3]),
    "translate-llama": dict(form="translate", norm="rms", positions="rotary", rotary="interleaved",
                            heads=4, kv_heads=2, activation="geglu", d_model=8, d_hidden=5,
                            tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    # Positions by distance: looking back only, and both ways.
    "relative": dict(positions="relative", relative_reach=2, layers=2, heads=3, d_model=9, tokens=7),
    "relative-both-ways": dict(positions="relative", relative_reach=3, attention="wide", heads=2,
                               d_model=5, mask="none", block="post-norm", batch=2, tokens=5),
    "relative-basic": dict(positions="relative", relative_reach=1, attention="basic", d_model=6,
                           block="attention", tokens=5),
    "t5": dict(positions="t5", t5_buckets=5, t5_reach=6, layers=2, heads=3, d_model=6, tokens=9),
    "t5-both-ways": dict(positions="t5", t5_buckets=8, t5_reach=5, heads=2, mask="padding",
                         padding=[1, 6], scale="off", block="attention", tokens=8),
    "alibi": dict(positions="alibi", heads=3, d_model=6, layers=2, tokens=7),
    "alibi-both-ways": dict(positions="alibi", heads=12, kv_heads=4, d_model=12, mask="local",
                            causal="off", block="attention", tokens=6),
    "transformer-xl": dict(positions="transformer-xl", heads=3, d_model=9, layers=2, tokens=6,
                           batch=2),
    "transformer-xl-both-ways": dict(positions="transformer-xl", attention="single", d_model=7,
                                     mask="none", block="attention", tokens=5),
    "transformer-xl-basic": dict(positions="transformer-xl", attention="basic", d_model=6,
                                 scores="additive", block="attention", tokens=4),
    "translate-relative": dict(form="translate", positions="relative", relative_reach=2, heads=2,
                               d_model=4, d_hidden=5, tokens=4, source=5, batch=2,
                               source_lengths=[3, 5]),
    "translate-t5": dict(form="translate", positions="t5", t5_buckets=6, t5_reach=4, heads=2,
                         d_model=4, d_hidden=5, tokens=4, source=6),
    "translate-transformer-xl": dict(form="translate", positions="transformer-xl", heads=2,
                                     d_model=4, d_hidden=5, tokens=3, source=5,
                                     block="attention"),
    "classes-alibi": dict(form="classes", classes=3, positions="alibi", heads=4, d_model=8,
                          d_hidden=5, mask="none", batch=2, tokens=5, lengths=[5, 3]),
    # Without norms, without anything in attention's place, and numbers as tokens.
    "norm-none": dict(norm="none", heads=2, d_model=6, layers=2, tokens=5),
    "norm-none-post": dict(norm="none", block="post-norm", heads=2, d_model=6, tokens=5, batch=2),
    "mixer-none": dict(mixer="none", d_model=5, d_hidden=4, layers=2, tokens=5, batch=2),
    "mixer-none-post": dict(mixer="none", block="post-norm", d_model=5, d_hidden=4, tokens=5,
                            positions="learned"),
    "numbers": dict(numbers="on", mixer="none", norm="none", positions="none", residual="off",
                    experts=2, d_model=4, d_hidden=5, tokens=6, batch=2, mask="none"),
    "numbers-attention": dict(numbers="on", heads=2, d_model=6, layers=2, bias="off", tokens=5),
    "numbers-mixture": dict(numbers="on", components=3, mixer="none", norm="none", d_model=4,
                            d_hidden=5, tokens=6, batch=2, mask="none"),
    "numbers-one-component": dict(numbers="on", components=1, mixer="gru", d_model=5, bias="off",
                                  tokens=4),
    # What models of other programs have: the number in norms, biases of single products.
    "norm-epsilon": dict(norm_epsilon=0.3, heads=2, d_model=6, layers=2, tokens=5),
    "norm-epsilon-rms": dict(norm_epsilon=0.07, norm="rms", heads=2, d_model=6, tokens=5, batch=2),
    "bias-not-of-qkv": dict(qkv_bias="off", head_bias="off", heads=2, d_model=6, layers=2, tokens=5),
    "bias-of-qkv-alone": dict(bias="off", qkv_bias="on", heads=2, kv_heads=1, d_model=6, norm="rms",
                              activation="swiglu", tokens=5),
    "bias-of-the-rest": dict(bias="off", output_bias="on", mlp_bias="on", head_bias="on", heads=2,
                             d_model=6, tokens=5, batch=2),
    "bias-of-experts": dict(mlp_bias="off", experts=3, heads=2, d_model=4, d_hidden=5, tokens=5),
    "bias-of-numbers": dict(numbers="on", components=2, head_bias="off", output_bias="off",
                            mixer="gru", d_model=5, tokens=4),
    "tied-with-bias": dict(tied_head="on", head_bias="on", heads=2, d_model=6, tokens=5, batch=2),
    "token-head-tied-with-bias": dict(token_head="on", tied_head="on", head_bias="on",
                                      form="classes", classes=3, heads=2, d_model=4, mask="none",
                                      tokens=5),
    # What becomes of embeddings, and where the first token stands.
    "embed-scale": dict(embed_scale="on", heads=2, d_model=6, tokens=5, batch=2),
    "embed-norm": dict(embed_norm="on", positions="learned", position_offset=2, segments="on",
                       heads=2, d_model=6, block="post-norm", mask="none", tokens=5),
    "embed-norm-rotary": dict(embed_norm="on", embed_scale="on", norm="rms", positions="rotary",
                              heads=2, d_model=8, tokens=5),
    "embed-norm-alone": dict(embed_norm="on", form="classes", classes=3, layers=0, d_model=4,
                             positions="learned", position_offset=1, mask="none", tokens=5),
    "position-offset": dict(position_offset=3, heads=2, d_model=7, attention="wide", tokens=6),
    "sinusoid-halves": dict(sinusoid="halves", heads=2, d_model=10, tokens=7, batch=2),
    "sinusoid-to-end": dict(sinusoid="halves-to-end", position_offset=2, heads=3, d_model=12,
                            tokens=6),
    "translate-marian": dict(form="translate", embed_scale="on", sinusoid="halves",
                             block="post-norm", activation="silu", tied_head="on", head_bias="on",
                             heads=2, d_model=6, d_hidden=5, tokens=4, source=6, batch=2,
                             source_lengths=[4, 6]),
    "translate-bart": dict(form="translate", embed_scale="on", embed_norm="on",
                           positions="learned", position_offset=2, block="post-norm",
                           tied_head="on", head_bias="on", heads=2, d_model=6, d_hidden=5,
                           layers=1, encoder_layers=2, tokens=4, source=5),
    "translate-m2m": dict(form="translate", embed_scale="on", sinusoid="halves-to-end",
                          position_offset=2, activation="relu", tied_head="on", heads=2, d_model=8,
                          d_hidden=5, layers=2, encoder_layers=1, tokens=4, source=5),
    "translate-two-tables": dict(form="translate", source_vocab=9, heads=2, d_model=4, d_hidden=5,
                                 tokens=4, source=6, batch=2, source_lengths=[4, 6]),
    "translate-two-tables-tied": dict(form="translate", source_vocab=5, tied_head="on", heads=2,
                                      d_model=6, d_hidden=5, tokens=5, source=4),
    # Between the last layer and the scores.
    "bert": dict(embed_norm="on", segments="on", positions="learned", block="post-norm",
                 norm_epsilon=1e-12, head_transform="on", tied_head="on", head_bias="on",
                 mask="none", heads=2, d_model=6, d_hidden=5, layers=2, tokens=6, batch=2),
    "head-transform-rms": dict(head_transform="on", norm="rms", activation="silu", heads=2,
                               d_model=6, tokens=5),
    "head-transform-plain": dict(head_transform="on", norm="none", activation="relu", bias="off",
                                 heads=2, d_model=6, tokens=5),
    "bert-classes": dict(form="classes", classes=3, pool="cls", pooler="tanh", embed_norm="on",
                         segments="on", positions="learned", block="post-norm", mask="none",
                         heads=2, d_model=4, d_hidden=5, tokens=6, batch=2, lengths=[6, 4]),
    "roberta-classes": dict(form="classes", classes=2, pool="cls", pooler="tanh", embed_norm="on",
                            segments="on", segment_rows=1, positions="learned", position_offset=2,
                            block="post-norm", mask="none", heads=2, d_model=4, d_hidden=5,
                            tokens=5),
    "distilbert-classes": dict(form="classes", classes=3, pool="cls", pooler="relu",
                               embed_norm="on", positions="learned", block="post-norm",
                               mask="none", heads=2, d_model=4, d_hidden=5, tokens=5, batch=2,
                               lengths=[5, 3]),
    "pooler-foci": dict(form="classes", classes=3, pool="foci", foci=2, pool_hidden=3,
                        pooler="relu", bias="off", head_bias="on", heads=2, d_model=6, d_hidden=5,
                        mask="none", tokens=5),
}


CONFIGS |= {
    # Attention and network both from the block's input, as in GPT-NeoX and GPT-J.
    "parallel": dict(block="parallel", heads=2, d_model=6, d_hidden=5, layers=2, tokens=5, batch=2),
    "parallel-alone": dict(block="parallel", residual="off", norm="rms", heads=3, d_model=6,
                           d_hidden=5, layers=2, tokens=4),
    "parallel-neox": dict(block="parallel", positions="rotary", rotary_width=2, heads=2, d_model=8,
                          d_hidden=7, layers=2, activation="gelu", tokens=6),
    "parallel-no-norm": dict(block="parallel", norm="none", heads=2, d_model=6, d_hidden=5,
                             tokens=5),
    "parallel-memory": dict(block="parallel", memory=4, positions="rotary", heads=2, d_model=8,
                            d_hidden=5, layers=2, tokens=5, batch=2),
    "parallel-mixer": dict(block="parallel", mixer="gru", d_model=5, d_hidden=4, layers=2, tokens=5),
    "parallel-no-mixer": dict(block="parallel", mixer="none", d_model=5, d_hidden=4, layers=2,
                              tokens=5),
    "translate-parallel": dict(form="translate", block="parallel", heads=2, d_model=4, d_hidden=5,
                               layers=2, tokens=4, source=6, batch=2, source_lengths=[4, 6]),
    "translate-parallel-alone": dict(form="translate", block="parallel", residual="off", heads=2,
                                     d_model=4, d_hidden=5, tokens=4, source=3),
    "classes-parallel-experts": dict(form="classes", classes=3, block="parallel", experts=3,
                                     top_experts=2, heads=2, d_model=4, d_hidden=5, mask="none",
                                     batch=2, tokens=5, lengths=[5, 3]),
    # A factor of the scores that is not 1 / sqrt(d_head).
    "score-scale": dict(score_scale=0.3, heads=2, d_model=6, d_hidden=5, layers=2, tokens=5),
    "score-scale-one": dict(score_scale=1.0, heads=3, d_model=9, block="attention", tokens=5,
                            scores="additive"),
    "score-scale-fused": dict(score_scale=0.2, fused_attention="on", temperature=1.4, heads=2,
                              d_model=6, d_hidden=5, tokens=18),
    # Rotary positions that turn more slowly: all pairs, and by wavelength; of the eight pairs of
    # "llama3" some stay, some are slowed down in full, some in part.
    "rotary-linear": dict(positions="rotary", rotary_scaling="linear", rotary_factor=2.5, heads=2,
                          d_model=8, d_hidden=5, layers=2, tokens=7),
    "rotary-llama3": dict(positions="rotary", rotary_scaling="llama3", rotary_factor=8.0,
                          rotary_context=64, rotary_base=100.0, heads=2, d_model=32, d_hidden=5,
                          norm="rms", activation="swiglu", bias="off", kv_heads=1, tokens=9),
    "rotary-llama3-bounds": dict(positions="rotary", rotary="interleaved", rotary_width=12,
                                 rotary_scaling="llama3", rotary_factor=4.0, rotary_low=0.5,
                                 rotary_high=9.0, rotary_context=200, heads=2, d_head=14, d_model=6,
                                 block="attention", memory=3, tokens=6),
    "translate-rotary-linear": dict(form="translate", positions="rotary", rotary_scaling="linear",
                                    rotary_factor=4.0, heads=2, d_model=8, d_hidden=5, tokens=4,
                                    source=5, batch=2, source_lengths=[3, 5]),
    # Layers with a window of their own, as every second one of GPT-Neo; and all of them.
    "local-layers": dict(local_layers=[1], local_window=2, layers=2, heads=2, d_model=6, d_hidden=5,
                         tokens=6, batch=2),
    "local-layers-all": dict(local_layers=[0, 1], local_window=3, layers=2, heads=2, d_model=6,
                             d_hidden=5, tokens=6),
    "local-layers-open": dict(local_layers=[0], local_window=1, mask="none", layers=2, heads=2,
                              d_model=6, d_hidden=5, tokens=5),
    "local-layers-padding": dict(local_layers=[1], local_window=2, mask="padding", padding=[2, 4],
                                 layers=2, heads=3, d_model=6, d_hidden=5, bias_kv="on", tokens=6),
    "local-layers-fused": dict(local_layers=[0, 2], local_window=4, fused_attention="on", layers=3,
                               heads=2, d_model=6, d_hidden=5, tokens=35),
    "local-layers-memory": dict(local_layers=[1], local_window=3, memory=4, positions="rotary",
                                layers=2, heads=2, d_model=8, d_hidden=5, tokens=5, batch=2),
    "translate-local-layers": dict(form="translate", local_layers=[1], local_window=2, layers=2,
                                   heads=2, d_model=4, d_hidden=5, tokens=5, source=6, batch=2,
                                   source_lengths=[4, 6]),
    "classes-local-layers": dict(form="classes", classes=3, local_layers=[0], local_window=2,
                                 heads=2, d_model=4, d_hidden=5, mask="none", batch=2, tokens=5,
                                 lengths=[5, 3]),
    # Scores that cannot grow beyond a cap, as in Gemma 2.
    "softcap": dict(softcap=1.5, heads=2, d_model=6, d_hidden=5, layers=2, tokens=5, batch=2),
    "softcap-alibi": dict(softcap=0.8, positions="alibi", score_scale=0.9, heads=3, d_model=6,
                          block="attention", mask="local", window=2, tokens=6),
    "softcap-additive": dict(softcap=1.0, scores="additive", scale="off", attention="wide", heads=2,
                             d_model=5, block="post-norm", temperature=0.7, tokens=5),
    "translate-softcap": dict(form="translate", softcap=2.0, heads=2, d_model=4, d_hidden=5,
                              tokens=4, source=5, batch=2, source_lengths=[3, 5]),
    "translate-score-scale": dict(form="translate", score_scale=0.7, heads=2, d_model=4, d_hidden=5,
                                  tokens=4, source=3),
}


def mixes():
    """Every combination of the four mechanisms, small."""
    made = {}
    for number in range(1, 16):
        parts = {}
        c = dict(heads=2, d_model=4, d_hidden=5, tokens=4)
        if number & 1:
            parts["rms"] = dict(norm="rms")
        if number & 2:
            parts["rotary"] = dict(positions="rotary",
                                   rotary="interleaved" if number & 4 else "half")
        if number & 4:
            parts["grouped"] = dict(kv_heads=1)
        if number & 8:
            parts["gated"] = dict(activation="geglu" if number & 1 else "swiglu")
        for changes in parts.values():
            c |= changes
        made["mix-" + "-".join(parts)] = c
    return made


CONFIGS |= mixes()


# ---- sizes and masks, by the formulas of the design ----

def has_bias(c, of):
    """Has this product a bias: of "qkv", "output", "mlp", "head" or a "tied" head?"""
    if of == "tied":
        return c["head_bias"] == "on"
    return (c[of + "_bias"] or c["bias"]) == "on"


def encoder_layers(c):
    return c["encoder_layers"] or c["layers"]


def head_count(c):
    return 1 if c["attention"] in ("basic", "single") else c["heads"]


def kv_head_count(c):
    return c["kv_heads"] or head_count(c) if head_count(c) > 1 else 1


def focus_count(c):
    return c["foci"] if c["pool"] == "foci" else 1


def norms_before(c):
    """Does each part start from normed rows, and the model end with a norm?"""
    return c["block"] in ("pre-norm", "attention-norm", "parallel") and c["norm"] != "none"


def is_gated(c):
    return c["activation"] in ("swiglu", "geglu")


def head_width(c):
    if c["attention"] == "basic":
        return c["d_model"]
    if c["d_head"]:
        return c["d_head"]
    return c["d_model"] // c["heads"] if c["attention"] == "narrow" else c["d_model"]


def value_width(c):
    return head_width(c) if c["attention"] == "basic" else c["d_value"] or head_width(c)


def extra_keys(c):
    return (c["bias_kv"] == "on") + (c["zero_attention"] == "on")


def masked_heads(c, of, layer):
    """1 for each head of this attention, 0 for one that is off; None where all are on."""
    words = [word for word in c["masked_heads"].split(",") if word]
    places = [([""] + word.split("."))[-3:] for word in words]
    off = [int(head) for own, at, head in places if own == of and int(at) == layer]
    if not off:
        return None
    made = torch.ones(head_count(c), dtype=torch.float64)
    made[off] = 0
    return made


def head_masks(c):
    """Those of every attention, by their names."""
    two = c["form"] == "translate"
    of = {"decoder.%d.attn": "", "encoder.%d.attn": "encoder", "decoder.%d.cross_attn": "cross"} \
        if two else {"%d.attn": ""}
    made = {}
    for name, word in of.items():
        for layer in range(encoder_layers(c) if word == "encoder" else c["layers"]):
            at = (name % layer).split(".")
            at = ".".join(at[:-2] + ["blocks"] + at[-2:])
            mask = masked_heads(c, word, layer)
            if mask is not None:
                made[at + ".head_mask"] = mask
    return made


def added_mask(c):
    """(batch, head, query, key): numbers of the person's own; keys of no token are never felt."""
    if not c["added"] and not c["by_head"]:
        return {}
    heads, n, m = head_count(c), c["tokens"], remembered(c)
    own = torch.zeros(heads, n, n, dtype=torch.float64)
    if c["added"]:
        count = heads if c["added"] == "heads" else 1
        numbers = 1.5 * torch.sin(1.7 * torch.arange(count * n * n, dtype=torch.float64))
        numbers[3::7] = -math.inf
        own = own + numbers.float().double().reshape(count, n, n)
    for head, query, key in c["by_head"]:
        own[head, query, key] = -math.inf
    own = F.pad(own, (m, extra_keys(c)))
    return {"added_mask": own.expand(c["batch"], -1, -1, -1).clone()}


def remembered(c):
    """Rows that the second segment remembers of the first, which has as many tokens."""
    return min(c["memory"], c["tokens"]) if c.get("second") else 0


def allowed_keys(c, item):
    """(query, key), True where query i may look at key j; what is remembered stands before key 0."""
    n = c["tokens"]
    m = remembered(c)
    i = torch.arange(n)[:, None]
    j = torch.arange(-m, n)[None, :]
    kind = c["mask"]
    if kind in ("none", "causal"):
        allowed = torch.ones(n, m + n, dtype=torch.bool)
    elif kind == "padding":
        padding = c["padding"][item] if c["batch"] > 1 else c["padding"]
        allowed = torch.tensor([key not in padding for key in range(n)]).expand(n, n).clone()
    elif kind == "local":
        allowed = (i - j).abs() <= c["window"]
    elif kind == "strided":
        distance = (i - j).abs()
        allowed = (distance < c["stride"]) | (distance % c["stride"] == 0)
    else:
        allowed = torch.ones(n, n, dtype=torch.bool)
        for query, key in c["forbidden"]:
            allowed[query, key] = False
    if c["lengths"]:  # keys that are padding
        allowed = allowed & (j < c["lengths"][item])
    causal = {"on": True, "off": False, "auto": kind in ("causal", "local", "strided")}[c["causal"]]
    if causal and kind != "none":
        allowed = allowed & (j <= i)
    return allowed


def is_causal(c):
    """Of a mixer, which has no other mask."""
    return c["mask"] == "causal" or c["mask"] != "none" and c["causal"] == "on"


def as_mask(allowed):
    return torch.zeros(allowed.shape, dtype=torch.float64).masked_fill(~allowed, -math.inf)


def make_inputs(c):
    """The masks and what is present, for every item of the batch; only what the form has."""
    batch, n, s = c["batch"], c["tokens"], c["source"]
    made = {}
    mixes = c["mixer"] not in ("attention", "none")
    if c["mixer"] == "none":
        return made
    allowed = [] if mixes else [allowed_keys(c, item) for item in range(batch)]
    some = len(c["local_layers"]) < c["layers"] or c["layers"] == 0  # layers without a window
    if not mixes and some and (c["mask"] != "none" or c["lengths"] or c["source_lengths"]):
        made["mask"] = as_mask(torch.stack(allowed))
    if c["local_layers"]:
        behind = torch.arange(n)[:, None] - torch.arange(-remembered(c), n)[None, :]
        made["local_mask"] = as_mask(torch.stack(allowed) & (behind < c["local_window"]))
    if not mixes:
        made |= added_mask(c)
    if c["form"] == "classes" or mixes:
        lengths = torch.tensor(c["lengths"] or [n] * batch)
        made["present"] = (torch.arange(n)[None] < lengths[:, None]).double()
        if c["mask"] == "padding":
            made["present"][:, c["padding"]] = 0
        if c["form"] == "classes" and c["pool"] in ("last", "cls"):
            picked = lengths - 1 if c["pool"] == "last" else torch.zeros_like(lengths)
            made["picked"] = F.one_hot(picked, n).double()
        if c["pool"] in ("vector", "foci") and c["lengths"]:
            made["pool_mask"] = as_mask(made["present"][:, None].expand(-1, focus_count(c), -1) > 0)
    if c["source_lengths"]:
        there = torch.arange(s)[None] < torch.tensor(c["source_lengths"])[:, None]
        made["source_mask"] = as_mask(there[:, None].expand(-1, s, -1))
        made["cross_mask"] = as_mask(there[:, None].expand(-1, n, -1))
    for name in ("mask", "local_mask", "source_mask", "cross_mask"):  # keys of no token are never forbidden
        if name in made:
            made[name] = F.pad(made[name], (0, extra_keys(c)))
    return made


def divide(c, ids, inputs):
    """Puts a [SEP] into every row but the last of several, and says which sentence each token
    stands in."""
    if c["segments"] == "off":
        return
    if c["segment_rows"] == 1:
        inputs["segment_ids"] = torch.zeros_like(ids)
        return
    ids[ids == SEPARATOR] = 0
    for item in range(max(1, c["batch"] - 1)):
        ids[item, 1 + item] = SEPARATOR
    before = (ids == SEPARATOR).long().cumsum(1) - (ids == SEPARATOR).long()
    inputs["segment_ids"] = before.clamp(max=1)


def read_inputs(c, inputs):
    """Without what only this script asks for: who picks a token or masks foci reads no presence."""
    own = c["form"] == "classes" and c["pool"] not in ("mean", "concat") and \
        c["mixer"] == "attention"
    return {name: tensor for name, tensor in inputs.items() if not (own and name == "present")}


# ---- weights ----

def make_parameters(c, generator):
    """Every weight that the configuration needs, as float64 numbers that float32 holds exactly."""
    d, heads, width, values = c["d_model"], head_count(c), head_width(c), value_width(c)
    hidden = c["d_hidden"] or 4 * d
    bias = c["bias"] == "on"
    made = {}

    def draw(name, *shape, deviation=1.0, mean=0.0):
        numbers = torch.randn(*shape, generator=generator, dtype=torch.float64) * deviation + mean
        made[name] = numbers.float().double()

    if c["numbers"] == "off":
        draw("embed.W_E", VOCAB, d)
    if c["segments"] == "on":
        draw("segment_embed.W_seg", c["segment_rows"], d, deviation=0.5)
    if c["source_vocab"]:
        draw("encoder.embed.W_E", c["source_vocab"], d)

    def draw_norm(name):
        if c["norm"] == "none":
            return
        draw(name + ".w", d, deviation=0.3, mean=1.0)
        if bias and c["norm"] == "layer":
            draw(name + ".b", d, deviation=0.3)

    def draw_attention(at):
        if c["attention"] != "basic":
            for letter in "QKV":
                own = heads if letter == "Q" else kv_head_count(c)
                wide = values if letter == "V" else width
                draw(at + "W_" + letter, own, d, wide, deviation=1.3 / math.sqrt(d))
                if has_bias(c, "qkv"):
                    draw(at + "b_" + letter, own, wide, deviation=0.3)
            if c["output_projection"] == "on":
                draw(at + "W_O", heads, values, d, deviation=1 / math.sqrt(heads * values))
                if has_bias(c, "output"):
                    draw(at + "b_O", d, deviation=0.3)
        if c["scores"] == "additive":
            draw(at + "v", heads, width)
        if c["bias_kv"] == "on":
            draw(at + "bias_K", kv_head_count(c), width)
            draw(at + "bias_V", kv_head_count(c), values)

    def draw_distances(at):
        if c["positions"] == "relative":
            for letter in "KV":
                draw(at + "a_" + letter, 2 * c["relative_reach"] + 1, width)
        if c["positions"] == "transformer-xl" and c["attention"] != "basic":
            draw(at + "W_R", heads, d, width, deviation=1.3 / math.sqrt(d))

    def draw_experts(at):
        count = c["experts"]
        draw(at + "W_G", d, count, deviation=1.3 / math.sqrt(d))
        draw(at + "W_in", count, d, hidden, deviation=1 / math.sqrt(d))
        draw(at + "W_out", count, hidden, d, deviation=1 / math.sqrt(hidden))
        if has_bias(c, "mlp"):
            draw(at + "b_G", count, deviation=0.3)
            draw(at + "b_in", count, hidden, deviation=0.3)
            draw(at + "b_out", count, d, deviation=0.3)

    def draw_mixer(at):
        kernel, wide = c["kernel"], 3 * d if c["mixer"] == "gru" else d
        draw(at + "W_O", d, d, deviation=1 / math.sqrt(d))
        if has_bias(c, "output"):
            draw(at + "b_O", d, deviation=0.3)
        if c["mixer"] == "convolution":
            draw(at + "W", kernel, d, d, deviation=1 / math.sqrt(kernel * d))
            if bias:
                draw(at + "b", d, deviation=0.3)
            return
        for way in [""] if is_causal(c) else ["", "_back"]:
            draw(at + "W" + way, d, wide, deviation=1 / math.sqrt(d))
            draw(at + "U" + way, d, wide, deviation=1 / math.sqrt(d))
            if bias:
                draw(at + "b" + way, wide, deviation=0.3)
            if bias and c["mixer"] == "gru":
                draw(at + "c" + way, wide, deviation=0.3)

    def draw_stack(root, places, crosses):
        if c["positions"] == "learned":
            draw(root + "pos_embed.W_pos", c["position_offset"] + places, d, deviation=0.5)
        if c["embed_norm"] == "on":
            draw_norm(root + "ln_embed")
        if c["positions"] == "t5":
            draw(root + "rel_pos.b_D", heads, c["t5_buckets"])
        if c["positions"] == "transformer-xl":
            draw(root + "rel_pos.u", heads, width, deviation=0.5)
            draw(root + "rel_pos.v", heads, width, deviation=0.5)
        for layer in range(encoder_layers(c) if root == "encoder." else c["layers"]):
            at = f"{root}blocks.{layer}."
            if c["mixer"] == "attention":
                draw_attention(at + "attn.")
                draw_distances(at + "attn.")
            elif c["mixer"] != "none":
                draw_mixer(at + "mixer.")
            if crosses:
                draw_attention(at + "cross_attn.")
            if c["block"] == "attention-norm":
                draw_norm(at + "ln1")
                if crosses:
                    draw_norm(at + "ln2")
            elif c["block"] != "attention":
                if c["mixer"] != "none":
                    draw_norm(at + "ln1")
                draw_norm(at + "ln2")
                if crosses:
                    draw_norm(at + "ln3")
                if c["experts"]:
                    draw_experts(at + "mlp.")
                    continue
                if is_gated(c):
                    draw(at + "mlp.W_gate", d, hidden, deviation=1 / math.sqrt(d))
                    if has_bias(c, "mlp"):
                        draw(at + "mlp.b_gate", hidden, deviation=0.3)
                draw(at + "mlp.W_in", d, hidden, deviation=1 / math.sqrt(d))
                draw(at + "mlp.W_out", hidden, d, deviation=1 / math.sqrt(hidden))
                if has_bias(c, "mlp"):
                    draw(at + "mlp.b_in", hidden, deviation=0.3)
                    draw(at + "mlp.b_out", d, deviation=0.3)
        if norms_before(c) and c["layers"] > 0:
            draw_norm(root + "ln_final")

    if c["form"] == "translate":
        draw_stack("encoder.", c["source"], False)
        draw_stack("decoder.", c["tokens"], True)
    else:
        draw_stack("", c["tokens"], False)
    rows = d  # of the last matrix
    if c["form"] == "classes":
        if c["pool"] == "concat":
            rows = c["tokens"] * d
        if c["pool"] == "vector":
            draw("pool.w", d, 1, deviation=1.3 / math.sqrt(d))
        if c["pool"] == "foci":
            k, rows = c["pool_hidden"] or d, c["foci"] * d
            draw("pool.W_1", d, k, deviation=1.3 / math.sqrt(d))
            draw("pool.W_2", k, c["foci"], deviation=1.3)
    name, letter, outcomes = ("classify", "C", c["classes"]) if c["form"] == "classes" else \
        ("unembed", "U", VOCAB)
    if c["numbers"] == "on":
        draw("embed.W_x", 1, d)
        if bias:
            draw("embed.b_x", d, deviation=0.3)
        parts = ("mu", "pi", "rho") if c["components"] else ("y",)
        for part in parts:
            at, count = ("w_" if part == "y" else "W_") + part, c["components"] or 1
            draw("unembed." + at, d, count, deviation=1 / math.sqrt(d))
            if has_bias(c, "head"):
                draw("unembed.b_" + part, count, deviation=0.3)
        return made
    tied = c["tied_head"] == "on"  # the head is the table of embeddings
    if c["head_transform"] == "on":
        draw("unembed.W_H", d, d, deviation=1.3 / math.sqrt(d))
        if bias:
            draw("unembed.b_H", d, deviation=0.3)
        draw_norm("ln_head")
    if c["pooler"] != "none":
        draw("classify.W_P", rows, d, deviation=1.3 / math.sqrt(rows))
        if bias:
            draw("classify.b_P", d, deviation=0.3)
        rows = d
    words = c["form"] != "classes" or c["token_head"] == "on"
    if tied and words and has_bias(c, "tied"):
        draw("unembed.b_U", VOCAB, deviation=0.3)
    if tied and c["form"] != "classes":
        return made
    if c["token_head"] == "on" and not tied:
        draw("unembed.W_U", d, VOCAB, deviation=1 / math.sqrt(d))
        if has_bias(c, "head"):
            draw("unembed.b_U", VOCAB, deviation=0.3)
    draw(f"{name}.W_{letter}", rows, outcomes, deviation=1 / math.sqrt(rows))
    if has_bias(c, "head"):
        draw(f"{name}.b_{letter}", outcomes, deviation=0.3)
    return made


# ---- the model ----

class Run:
    """One run; `kept` collects every tensor by its name, batch axis first. `inputs` are those of
    make_inputs(), the source_ids, and dropout's factors by the names of what they multiply."""

    def __init__(self, c, parameters, ids, inputs):
        self.c, self.w, self.ids, self.inputs = c, parameters, ids, inputs
        self.mask = inputs.get("mask")
        self.kept = {}
        self.checks = set()

    def drop(self, name, tensor):
        if name + ".dropout" not in self.inputs:
            return tensor
        return self.keep(name + ".dropped", tensor * self.inputs[name + ".dropout"])

    def keep(self, name, tensor):
        self.kept[name] = tensor
        return tensor

    def layer_norm(self, name, x, made="normalized"):
        if self.c["norm"] == "none":
            return x
        epsilon = self.c["norm_epsilon"]
        if self.c["norm"] == "rms":
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * self.w[name + ".w"]
        else:
            y = F.layer_norm(x, x.shape[-1:], self.w[name + ".w"], self.w.get(name + ".b"), epsilon)
        return self.keep(name + "." + made, y)

    def compute(self):
        c, w = self.c, self.w
        if c["form"] == "translate":
            self.mask = self.inputs.get("source_mask")
            encoded = self.stack("encoder.", self.inputs["source_ids"])
            self.mask = self.inputs.get("mask")
            x = self.stack("decoder.", self.ids, encoded)
        else:
            x = self.stack("", self.ids)
        if c["head_transform"] == "on":
            x = self.keep("unembed.pre", F.linear(x, w["unembed.W_H"].T, w.get("unembed.b_H")))
            x = self.keep("unembed.act", self.activation(x))
            x = self.layer_norm("ln_head", x)
        if c["numbers"] == "on":
            logits = self.keep("logits", self.number_logits(x))
            return self.keep("probs", F.softmax(logits, dim=-1))
        name = "unembed.%s_U"
        table = w["embed.W_E"] if c["tied_head"] == "on" else w.get("unembed.W_U", w["embed.W_E"].T).T
        head = table if c["form"] != "classes" else w["classify.W_C"].T
        if c["form"] == "classes":
            if c["token_head"] == "on":
                words = self.keep("token_logits", F.linear(x, table, w.get("unembed.b_U")))
                self.keep("token_probs", F.softmax(words, dim=-1))
            x = self.keep("pooled", self.pool(x))
            if c["pooler"] != "none":
                x = self.keep("classify.pre",
                              F.linear(x, w["classify.W_P"].T, w.get("classify.b_P")))
                x = self.keep("classify.hidden", x.tanh() if c["pooler"] == "tanh" else x.relu())
            name = "classify.%s_C"
        logits = self.keep("logits", F.linear(x, head, w.get(name % "b")))
        self.keep("probs", F.softmax(logits, dim=-1))

    def activation(self, x):
        return {"relu": F.relu, "gelu": F.gelu, "silu": F.silu,
                "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[self.c["activation"]](x)

    def number_logits(self, x):
        """How likely each number of the grid is: around one number, or by torch's own mixture."""
        w, grid = self.w, torch.linspace(-1, 1, VOCAB, dtype=torch.float64)

        def part(name, letters, matrix="W_"):
            return self.keep(name, F.linear(x, w["unembed." + matrix + letters].T,
                                            w.get("unembed.b_" + letters)))

        if not self.c["components"]:
            return -(grid - part("y", "y", "w_")) ** 2 / (2 * 0.1 ** 2)
        means = part("mixture.means", "mu")
        scores = part("mixture.scores", "pi")
        weights = self.keep("mixture.weights", scores.softmax(-1))
        spreads = 1 / (VOCAB - 1) + part("mixture.log_spreads", "rho").clamp(-20, 3).exp()
        bells = torch.distributions.Normal(means[..., None, :], spreads[..., None, :])
        parts = bells.log_prob(grid[:, None]) + weights.log()[..., None, :]
        made = parts.logsumexp(-1)
        mixture = torch.distributions.MixtureSameFamily(
            torch.distributions.Categorical(weights[..., None, :].expand(parts.shape)), bells)
        self.agree("torch.distributions.MixtureSameFamily", made, mixture.log_prob(grid))
        return made

    def embed(self, root, ids):
        if self.c["numbers"] == "off":
            own = root == "encoder." and self.c["source_vocab"]
            table = self.w["encoder.embed.W_E" if own else "embed.W_E"]
            x = self.keep(root + "embed", F.embedding(ids, table))
            if self.c["embed_scale"] == "off":
                return x
            return self.keep(root + "embed_scaled", x * math.sqrt(self.c["d_model"]))
        number = self.keep("number", (-1 + 2 * ids.double() / (VOCAB - 1))[..., None])
        return self.keep("embed", F.linear(number, self.w["embed.W_x"].T, self.w.get("embed.b_x")))

    def stack(self, root, ids, encoded=None):
        c, w = self.c, self.w
        x = self.embed(root, ids)
        if c["segments"] == "on":
            rows = F.embedding(self.inputs["segment_ids"], w["segment_embed.W_seg"])
            x = self.keep("segment_sum", x + self.keep("segment_embed", rows))
        if c["positions"] in ("sinusoidal", "learned"):
            rows = w[root + "pos_embed.W_pos"][c["position_offset"]:] \
                if c["positions"] == "learned" else self.sinusoids(ids.shape[1])
            x = x + self.keep(root + "pos_embed", rows.expand_as(x).clone())
            if c["embed_norm"] == "on":
                self.keep(root + "ln_embed.input", x)
            elif c["layers"] == 0:
                self.keep(root + "resid_pre", x)
        if c["embed_norm"] == "on":
            x = self.layer_norm(root + "ln_embed", x)
        self.root = root
        if c["positions"] == "transformer-xl":
            n = ids.shape[1]
            first = 0 if self.looks_back() else 1 - n
            rows = self.waves(torch.arange(first, remembered(c) + n, dtype=torch.float64))
            self.keep(root + "dist_embed", rows.expand(len(ids), -1, -1).clone())
        mask = self.mask
        for layer in range(encoder_layers(c) if root == "encoder." else c["layers"]):
            local = root != "encoder." and layer in c["local_layers"]
            self.mask = self.inputs["local_mask"] if local else mask
            x = self.block(f"{root}blocks.{layer}.", x, encoded)
        last = norms_before(c) and c["layers"] > 0
        return self.layer_norm(root + "ln_final", x) if last else x

    def pool(self, x):
        c, w, present = self.c, self.w, self.inputs["present"][..., None]
        if c["pool"] == "mean":
            return (x * present).sum(1) / present.sum(1)
        if c["pool"] == "cls":
            return x[:, 0]
        if c["pool"] == "last":
            last = present[..., 0].sum(1).long() - 1
            return x[torch.arange(len(x)), last]
        if c["pool"] == "concat":
            return (x * present).flatten(1)
        if c["pool"] == "vector":
            scores = x @ w["pool.w"]
        else:
            hidden = self.keep("pool.hidden", x @ w["pool.W_1"])
            scores = self.keep("pool.activated", hidden.tanh()) @ w["pool.W_2"]
        scores = self.keep("pool.scores", scores.transpose(1, 2)[:, None].clone())
        if "pool_mask" in self.inputs:
            scores = self.keep("pool.scores_masked", scores + self.inputs["pool_mask"][:, None])
        weights = self.keep("pool.weights", scores.softmax(-1))
        rows = self.keep("pool.rows", x[:, None])
        return self.keep("pool.sums", weights @ rows).flatten(1)

    def sinusoids(self, tokens):
        d = self.c["d_model"]
        rows = torch.zeros(tokens, d, dtype=torch.float64)
        first = self.c["position_offset"]
        if self.c["sinusoid"] == "halves":  # as in Hugging Face's Marian
            for t in range(tokens):
                angles = [(t + first) / 10000 ** (2 * (j // 2) / d) for j in range(d)]
                rows[t, :d // 2] = torch.tensor([math.sin(a) for a in angles[0::2]])
                rows[t, d // 2:] = torch.tensor([math.cos(a) for a in angles[1::2]])
            return rows
        if self.c["sinusoid"] == "halves-to-end":  # as in fairseq and Hugging Face's M2M-100
            half = d // 2
            step = math.log(10000) / (half - 1)
            rates = torch.exp(torch.arange(half, dtype=torch.float64) * -step)
            angles = torch.arange(first, first + tokens, dtype=torch.float64)[:, None] * rates
            return torch.cat([angles.sin(), angles.cos()], 1)
        for t in range(tokens):
            for even in range(0, d, 2):
                angle = (t + first) / 10000 ** (even / d)
                rows[t, even] = math.sin(angle)
                if even + 1 < d:
                    rows[t, even + 1] = math.cos(angle)
        return rows

    # ---- positions by distance ----

    def looks_back(self):
        """Does no query look at what comes after it, by the kind of mask? Encoders always do."""
        kind = self.c["mask"]
        causal = {"on": True, "off": False, "auto": kind in ("causal", "local", "strided")}
        return causal[self.c["causal"]] and kind != "none" and self.root != "encoder."

    def waves(self, distances):
        """Rows of sines and cosines as of "Attention Is All You Need", of any distances."""
        d = self.c["d_model"]
        rows = torch.zeros(len(distances), d, dtype=torch.float64)
        rates = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        rows[:, 0::2] = torch.sin(distances[:, None] * rates)
        rows[:, 1::2] = torch.cos(distances[:, None] * rates[:d // 2])
        return rows

    def behind(self, n):
        """(query, key): how far key j lies before query i; what is remembered stands first."""
        before = remembered(self.c)
        return torch.arange(n)[:, None] + before - torch.arange(before + n)[None, :]

    def slopes(self, heads):
        """As in the authors' code (get_slopes of attention_with_linear_biases)."""
        def of_power(n):
            start = 2 ** (-(2 ** -(math.log2(n) - 3)))
            return [start * start ** i for i in range(n)]
        if math.log2(heads).is_integer():
            return of_power(heads)
        closest = 2 ** math.floor(math.log2(heads))
        return of_power(closest) + self.slopes(2 * closest)[0::2][:heads - closest]

    def buckets(self, n):
        """As in the T5 of Hugging Face (_relative_position_bucket)."""
        position = -self.behind(n)  # key minus query
        count, bucket = self.c["t5_buckets"], torch.zeros_like(position)
        if self.looks_back():
            position = -torch.min(position, torch.zeros_like(position))
        else:
            count //= 2
            bucket += (position > 0).long() * count
            position = position.abs()
        exact = count // 2
        far = exact + (torch.log(position.float() / exact) /
                       math.log(self.c["t5_reach"] / exact) * (count - exact)).long()
        far = torch.min(far, torch.full_like(far, count - 1))
        return bucket + torch.where(position < exact, position, far)

    def content_queries(self, at, q):
        if self.c["positions"] != "transformer-xl":
            return q
        return self.keep(at + "q_content", q + self.w[self.root + "rel_pos.u"][:, None])

    def score_distances(self, at, q, scores):
        """What rows by distance add to the scores, before they are scaled."""
        c, w, n = self.c, self.w, q.shape[2]
        if c["positions"] == "relative":
            reach = c["relative_reach"]
            rows = w[at + "a_K"][self.behind(n).clamp(-reach, reach) + reach]  # (query, key, d_head)
            found = torch.einsum("bhie,ije->bhij", q, rows)
        elif c["positions"] == "transformer-xl":
            waves = self.kept[self.root + "dist_embed"]
            if c["attention"] == "basic":
                keys = waves[:, None]
            else:
                weight = w[at + "W_R"]
                flat = weight.permute(0, 2, 1).reshape(-1, weight.shape[1])
                self.keep(at + "r_proj", F.linear(waves, flat))
                keys = torch.einsum("bdm,hme->bhde", waves, weight)
            self.keep(at + "r", keys)
            q = self.keep(at + "q_position", q + w[self.root + "rel_pos.v"][:, None])
            row = self.behind(n).clamp(min=0) if self.looks_back() else self.behind(n) + n - 1
            found = torch.einsum("bhie,bhije->bhij", q, keys[:, :, row])
        else:
            return scores
        return self.keep(at + "scores_placed", scores + self.keep(at + "scores_distance", found))

    def bias_distances(self, at, scores):
        """The number that a distance adds to the scaled scores."""
        heads, n = scores.shape[1], scores.shape[2]
        if self.c["positions"] == "alibi":
            slopes = torch.tensor(self.slopes(heads), dtype=torch.float64)
            return self.keep(at + "scores_placed",
                             scores - slopes[:, None, None] * self.behind(n).abs())
        if self.c["positions"] == "t5":
            bias = self.w[self.root + "rel_pos.b_D"][:, self.buckets(n)]
            return self.keep(at + "scores_placed", scores + bias)
        return scores

    def sum_distances(self, at, weights, z):
        c = self.c
        if c["positions"] != "relative":
            return z
        reach, n = c["relative_reach"], z.shape[2]
        rows = self.w[at + "a_V"][self.behind(n).clamp(-reach, reach) + reach]
        found = self.keep(at + "z_distance", torch.einsum("bhij,ije->bhie", weights, rows))
        return self.keep(at + "z_content", z) + found

    def turn(self, x, first=0):
        """Rotary positions by complex numbers: each pair of features is one, times e^(iθ)."""
        r = self.c["rotary_width"] or x.shape[-1]
        if self.c["rotary"] == "half":
            pairs = torch.stack([x[..., :r // 2], x[..., r // 2:r]], -1)
        else:
            pairs = x[..., :r].reshape(*x.shape[:-1], r // 2, 2)
        rates = self.c["rotary_base"] ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
        places = torch.arange(first, first + x.shape[-2], dtype=torch.float64)
        angles = places[:, None] * self.slowed(rates)
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) *
                                    torch.polar(torch.ones_like(angles), angles))
        if self.c["rotary"] == "half":
            turned = torch.cat([turned[..., 0], turned[..., 1]], -1)
        else:
            turned = turned.flatten(-2)
        return torch.cat([turned, x[..., r:]], -1)

    def slowed(self, rates):
        """As the `rope_scaling` of Llama's configs asks for, by wavelength."""
        c, factor = self.c, self.c["rotary_factor"]
        if c["rotary_scaling"] == "none":
            return rates
        if c["rotary_scaling"] == "linear":
            return rates / factor
        made = []
        for rate in rates.tolist():
            wavelength = 2 * math.pi / rate
            if wavelength < c["rotary_context"] / c["rotary_high"]:
                made.append(rate)
            elif wavelength > c["rotary_context"] / c["rotary_low"]:
                made.append(rate / factor)
            else:
                smooth = (c["rotary_context"] / wavelength - c["rotary_low"]) / \
                    (c["rotary_high"] - c["rotary_low"])
                made.append((1 - smooth) * rate / factor + smooth * rate)
        return torch.tensor(made, dtype=torch.float64)

    def block(self, at, x, encoded=None):
        c = self.c
        if encoded is not None:
            return self.decoder_block(at, x, encoded)
        residual = 1.0 if c["residual"] == "on" else 0.0
        self.keep(at + "resid_pre", x)
        # Dai et al.'s code joins the rows, then norms them: the same, row by row.
        memory = self.inputs.get(at + "memory")
        joined = None if memory is None else torch.cat([memory, x], 1)
        if joined is not None and not norms_before(c):
            self.keep(at + "attn.extended", joined)
        if c["block"] == "attention":
            return self.keep(at + "resid_post", self.attention(at, x, joined) + residual * x)
        if c["block"] == "attention-norm" and joined is None:
            normed = self.layer_norm(at + "ln1", x)
            return self.keep(at + "resid_post", self.attention(at, normed, None) + residual * x)
        parallel = c["block"] == "parallel"
        if c["block"] == "pre-norm" or parallel:
            if c["mixer"] == "none":
                return self.keep(at + "resid_post", self.feed_forward(
                    at, self.layer_norm(at + "ln2", x)) + residual * x)
            normed = self.layer_norm(at + "ln1", x)
            if joined is not None and norms_before(c):
                theirs = self.layer_norm(at + "ln1", joined, "joined")
                del self.kept[at + "ln1.joined"]
                before = self.layer_norm(at + "ln1", memory, "memory_normalized")
                joined = self.keep(at + "attn.extended", torch.cat([before, normed], 1))
                self.agree("the norm of joined rows", joined, theirs)
            mid = self.attention(at, normed, joined) + residual * x
            self.keep(at + "resid_mid", mid)
            start = x if parallel else mid
            kept = mid if parallel else residual * mid  # attention's part stays in any case
            post = self.feed_forward(at, self.layer_norm(at + "ln2", start)) + kept
        elif c["norm"] == "none":
            mid = self.keep(at + "resid_mid", self.attention(at, x, joined) + residual * x)
            post = self.feed_forward(at, mid) + residual * mid
        elif c["mixer"] == "none":
            total = self.keep(at + "ln2.input", self.feed_forward(at, x) + residual * x)
            return self.keep(at + "resid_post", self.layer_norm(at + "ln2", total))
        else:
            total = self.keep(at + "ln1.input", self.attention(at, x, joined) + residual * x)
            mid = self.keep(at + "resid_mid", self.layer_norm(at + "ln1", total))
            total = self.keep(at + "ln2.input", self.feed_forward(at, mid) + residual * mid)
            post = self.layer_norm(at + "ln2", total)
        self.check_encoder_layer(at, x, post)
        return self.keep(at + "resid_post", post)

    def decoder_block(self, at, x, encoded):
        """Three sublayers: attention to the own row, attention to the encoder's, feed-forward."""
        c = self.c
        residual = 1.0 if c["residual"] == "on" else 0.0
        alone = c["block"] in ("attention", "attention-norm")
        self.keep(at + "resid_pre", x)
        start = x
        own_mask, cross_mask = self.mask, self.inputs.get("cross_mask")

        def cross(rows):
            self.mask = cross_mask
            found = self.attention(at, rows, encoded, "cross_attn")
            self.mask = own_mask
            return found

        sublayers = [("ln1", lambda rows: self.attention(at, rows), "resid_mid"),
                     ("ln2", cross, "resid_post" if alone else "resid_mid_cross")]
        if not alone:
            sublayers.append(("ln3", lambda rows: self.feed_forward(at, rows), "resid_post"))
        for norm, sublayer, name in sublayers:
            if c["block"] == "parallel":
                kept = residual * x if norm == "ln1" else x
                x = sublayer(self.layer_norm(at + norm, start)) + kept
            elif norms_before(c):
                x = sublayer(self.layer_norm(at + norm, x)) + residual * x
            else:
                x = sublayer(x) + residual * x
                if c["block"] == "post-norm":
                    x = self.layer_norm(at + norm, self.keep(at + norm + ".input", x))
            self.keep(at + name, x)
        self.check_decoder_layer(at, start, encoded, x)
        return x

    def mixer(self, at, x):
        c, w = self.c, self.w
        out = self.window(at + "mixer.", x) if c["mixer"] == "convolution" else \
            self.states(at + "mixer.", x)
        out = F.linear(out, w[at + "mixer.W_O"].T, w.get(at + "mixer.b_O"))
        return self.keep(at + "mixer_out", out)

    def states(self, at, x):
        """Recurrent layers of both kinds; where a row is padding, the state stays what it is."""
        c, w, present = self.c, self.w, self.inputs["present"]
        tokens, made = range(x.shape[1]), []
        for way in [""] if is_causal(c) else ["", "_back"]:
            a = F.linear(x, w[at + "W" + way].T, w.get(at + "b" + way))
            self.keep(at + "pre" + way, a)
            state, rows = torch.zeros_like(x[:, 0]), {}
            for t in reversed(tokens) if way else tokens:
                past = state @ w[at + "U" + way] + w.get(at + "c" + way, 0.0)
                if c["mixer"] == "gru":
                    (ar, az, an), (hr, hz, hn) = a[:, t].chunk(3, -1), past.chunk(3, -1)
                    r, z = torch.sigmoid(ar + hr), torch.sigmoid(az + hz)
                    new = (1 - z) * torch.tanh(an + r * hn) + z * state
                else:
                    new = torch.tanh(a[:, t] + past)
                state = rows[t] = torch.where(present[:, t, None] > 0, new, state)
            made.append(self.keep(at + "state" + way, torch.stack([rows[t] for t in tokens], 1)))
        self.check_recurrent(at, x, made)
        return made[0] if is_causal(c) else self.keep(at + "both", made[0] + made[1])

    def window(self, at, x):
        """torch's own convolution, the padding that it needs laid on by hand."""
        c, w = self.c, self.w
        layer = int(at.split(".")[1])
        dilation, kernel = c["dilation"] ** layer, c["kernel"]
        span = dilation * (kernel - 1)
        left = span if is_causal(c) else span // 2
        rows = (x * self.inputs["present"][..., None]).transpose(1, 2)
        weight = w[at + "W"].permute(2, 1, 0)
        padded = F.pad(rows, (left, span - left))
        out = F.conv1d(padded, weight, w.get(at + "b"), dilation=dilation).transpose(1, 2)
        if not is_causal(c):
            theirs = F.conv1d(rows, weight, w.get(at + "b"), dilation=dilation, padding="same")
            self.agree("conv1d", out, theirs.transpose(1, 2))
        return self.keep(at + "window", out)

    def check_recurrent(self, at, x, made):
        """torch's own layers, of packed rows: nothing is said of padding, which ends a row."""
        c, w, present = self.c, self.w, self.inputs["present"]
        if c["mask"] == "padding":
            return
        kind = torch.nn.GRU if c["mixer"] == "gru" else torch.nn.RNN
        module = kind(c["d_model"], c["d_model"], batch_first=True, bias=c["bias"] == "on",
                      bidirectional=len(made) == 2, dtype=torch.float64)
        with torch.no_grad():
            for way, end in (("", ""), ("_back", "_reverse"))[:len(made)]:
                for name, letter in (("weight_ih", "W"), ("weight_hh", "U"), ("bias_ih", "b"),
                                     ("bias_hh", "c")):
                    if not hasattr(module, name + "_l0" + end):
                        continue
                    value = w.get(at + letter + way)  # a plain layer has one bias
                    into = getattr(module, name + "_l0" + end)
                    into.copy_(torch.zeros_like(into) if value is None else value.T)
            lengths = present.sum(1).long()
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True,
                                                             enforce_sorted=False)
            theirs, _ = torch.nn.utils.rnn.pad_packed_sequence(
                module(packed)[0], batch_first=True, total_length=x.shape[1])
        self.agree(kind.__name__, torch.cat(made, -1) * present[..., None], theirs)

    def attention(self, at, x, source=None, name="attn"):
        """Queries from x, keys and values from `source` (x itself where there is none). Of another
        mixer: what stands in its place."""
        if self.c["mixer"] != "attention":
            return self.mixer(at, x)
        block_at, at = at, at + name + "."
        c, w = self.c, self.w
        source = x if source is None else source
        heads, width = head_count(c), head_width(c)
        batch, tokens, d = x.shape
        if c["attention"] == "basic":
            q, k = x[:, None], source[:, None]
            v = k
        else:
            made = []
            for letter in "QKV":
                weight, bias = w[at + "W_" + letter], w.get(at + "b_" + letter)
                rows = x if letter == "Q" else source
                flat = weight.permute(0, 2, 1).reshape(-1, d)
                flat_bias = None if bias is None else bias.reshape(-1)
                self.keep(at + f"{letter.lower()}_proj", F.linear(rows, flat, flat_bias))
                per_head = torch.einsum("btm,hme->bhte", rows, weight)
                made.append(per_head if bias is None else per_head + bias[:, None, :])
            q, k, v = made
        for letter, tensor in zip("qkv", (q, k, v)):
            self.keep(at + letter, tensor)
        if c["positions"] == "rotary" and name == "attn":
            before = k.shape[2] - q.shape[2]  # what is remembered
            q = self.keep(at + "rot_q", self.turn(q, before))
            k = self.keep(at + "rot_k", self.turn(k))
        k, v = self.with_extra_keys(at, k, v)
        k, v = (t.repeat_interleave(heads // t.shape[1], 1) for t in (k, v))

        own = name == "attn"
        steps = c["fused_attention"] == "off"  # else nothing between is kept
        asks = self.content_queries(at, q) if own else q
        if c["scores"] == "additive":
            pairs = torch.tanh(asks[:, :, :, None, :] + k[:, :, None, :, :])
            scores = (pairs * w[at + "v"][:, None, None, :]).sum(-1)
        else:
            scores = asks @ k.transpose(-1, -2)
        if steps:
            self.keep(at + "scores_raw", scores)
        if own:
            scores = self.score_distances(at, q, scores)
        if c["scale"] == "on":
            scores = scores * c["score_scale"] if c["score_scale"] else scores / math.sqrt(width)
            if steps:
                self.keep(at + "scores_scaled", scores)
        if c["softcap"]:
            scores = self.keep(at + "scores_capped",
                               c["softcap"] * torch.tanh(scores / c["softcap"]))
        if own:
            scores = self.bias_distances(at, scores)
        if self.mask is not None:
            scores = scores.masked_fill(self.mask[:, None] != 0, -math.inf)
            if steps:
                self.keep(at + "scores_masked", scores)
        added = self.inputs.get("added_mask") if own and self.root != "encoder." else None
        if added is not None:
            scores = self.keep(at + "scores_added", scores + added)
        forbidden_rows = torch.isinf(scores).all(-1, keepdim=True)
        # Zeros in place of a forbidden row, so that no NaN is made that a gradient would meet.
        safe = scores.masked_fill(forbidden_rows, 0.0) / c["temperature"]
        pattern = F.softmax(safe, dim=-1).masked_fill(forbidden_rows, 0.0)
        if steps:
            self.keep(at + "pattern", pattern)
        if c["average_weights"] == "on" and heads > 1:
            self.keep(at + "pattern_mean", pattern.mean(1))
        used = self.drop(at + "pattern", pattern)
        of = "cross" if not own else "encoder" if self.root == "encoder." else ""
        off = masked_heads(c, of, int(block_at.split(".")[-2]))
        if off is not None:
            used = self.keep(at + "pattern_masked", off[:, None, None] * used)
        z = torch.einsum("bhqk,bhke->bhqe", used, v)
        z = self.keep(at + "z", self.sum_distances(at, used, z) if own else z)
        if used is pattern and not (own and c["positions"] in BY_DISTANCE):
            self.check_dot_product(q, k, v, z, forbidden_rows, added)
        concat = z.transpose(1, 2).reshape(batch, tokens, heads * value_width(c))
        self.keep(at + "concat", concat)
        if c["attention"] == "basic" or c["output_projection"] == "off":
            out = concat
        else:
            out = torch.einsum("bhqe,hem->bqm", z, w[at + "W_O"])
            out = out + w.get(at + "b_O", 0.0)
        if used is pattern:
            self.check_multihead(at, x, source, pattern, out, added)
        self.keep(block_at + name + "_out", out)
        return self.drop(block_at + name + "_out", out)

    def with_extra_keys(self, at, k, v):
        c, w, batch = self.c, self.w, len(k)

        def appended(x, row):
            row = torch.zeros_like(x[:, :, :1]) if row is None else \
                row[None, :, None].expand(batch, -1, -1, -1)
            return torch.cat([x, row], 2)

        if c["bias_kv"] == "on":
            k = self.keep(at + "k_biased", appended(k, w[at + "bias_K"]))
            v = self.keep(at + "v_biased", appended(v, w[at + "bias_V"]))
        if c["zero_attention"] == "on":
            k = self.keep(at + "k_extended", appended(k, None))
            v = self.keep(at + "v_extended", appended(v, None))
        return k, v

    def experts(self, at, x):
        """A gate over several feed-forward networks, each run on its own by torch's F.linear."""
        c, w, name = self.c, self.w, at + "mlp."
        act = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu,
               "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        scores = self.keep(name + "gate_scores", F.linear(x, w[name + "W_G"].T, w.get(name + "b_G")))
        gate = self.keep(name + "gate", scores.softmax(-1))
        if c["top_experts"]:
            values, chosen = gate.topk(c["top_experts"])
            if c["top_experts"] > 1:
                values = values / values.sum(-1, keepdim=True)
            gate = self.keep(name + "gate_best",
                             torch.zeros_like(gate).scatter(-1, chosen, values))

        def layer(letters, rows):
            made = []
            for e in range(c["experts"]):
                own = rows if rows.dim() == 3 else rows[:, e]
                bias = w.get(name + "b_" + letters)
                made.append(F.linear(own, w[name + "W_" + letters][e].T,
                                     None if bias is None else bias[e]))
            return torch.stack(made, 1)

        pre = self.keep(name + "expert_pre", layer("in", x))
        post = self.keep(name + "expert_post", act(pre))
        out = self.keep(name + "expert_out", layer("out", post))
        mixed = (gate.transpose(1, 2)[..., None] * out).sum(1)
        return self.drop(at + "mlp_out", self.keep(at + "mlp_out", mixed))

    def feed_forward(self, at, x):
        w = self.w
        if self.c["experts"]:
            return self.experts(at, x)
        first, gated = "gate" if is_gated(self.c) else "in", is_gated(self.c)
        pre = self.keep(at + "mlp.pre", F.linear(x, w[at + "mlp.W_" + first].T,
                                                 w.get(at + "mlp.b_" + first)))
        act = {"relu": F.relu, "gelu": F.gelu, "geglu": F.gelu, "silu": F.silu, "swiglu": F.silu,
               "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[self.c["activation"]](pre)
        if gated:
            linear = F.linear(x, w[at + "mlp.W_in"].T, w.get(at + "mlp.b_in"))
            act = self.keep(at + "mlp.act", act) * self.keep(at + "mlp.pre_linear", linear)
        x = self.keep(at + "mlp.post", act)
        x = F.linear(x, w[at + "mlp.W_out"].T, w.get(at + "mlp.b_out"))
        return self.drop(at + "mlp_out", self.keep(at + "mlp_out", x))

    # ---- torch's own modules as witnesses ----

    def agree(self, what, ours, theirs):
        error = (ours - theirs).abs().max().item()
        if not error < 1e-10:
            sys.exit(f"{what} differs from torch's by {error}")
        self.checks.add(what)

    def check_dot_product(self, q, k, v, z, forbidden_rows, added):
        if self.c["scores"] == "additive" or self.c["softcap"]:
            return
        q = q / self.c["temperature"]
        if self.c["scale"] == "off":
            q = q * math.sqrt(q.shape[-1])
        elif self.c["score_scale"]:
            q = q * math.sqrt(q.shape[-1]) * self.c["score_scale"]
        mask = None
        if self.mask is not None:
            mask = self.mask[:, None].expand(-1, q.shape[1], -1, -1)
        if added is not None:
            mask = added if mask is None else mask + added
        if hasattr(F, "scaled_dot_product_attention"):
            theirs = F.scaled_dot_product_attention(q, k, v, mask)
        elif hasattr(F, "_scaled_dot_product_attention"):  # its name in torch 1.13
            theirs = F._scaled_dot_product_attention(q, k, v, mask)[0]
        else:
            return
        # Rows without an allowed key are NaN there; here they are zeros by definition.
        self.agree("scaled_dot_product_attention", z, theirs.masked_fill(forbidden_rows, 0.0))

    def fits_torch_modules(self):
        """Their attention: bias everywhere, scale, d_head = d_model / heads, no empty row, nothing
        turned or shared."""
        c = self.c
        empty = self.mask is not None and (self.mask != 0).all(-1).any()
        added = self.inputs.get("added_mask")
        if added is not None:
            mask = 0 if self.mask is None else self.mask[:, None]
            empty = torch.isinf(added + mask).all(-1).any()
        return (c["mixer"] == "attention" and c["attention"] == "narrow" and not c["d_head"] and c["scores"] == "dot" and
                c["scale"] == "on" and not c["score_scale"] and not c["softcap"] and c["temperature"] == 1 and
                has_bias(c, "qkv") and has_bias(c, "output") and not empty and
                value_width(c) == head_width(c) and c["positions"] not in ("rotary",) + BY_DISTANCE and kv_head_count(c) == head_count(c))

    def fits_torch_layers(self):
        return (self.fits_torch_modules() and self.c["norm"] == "layer" and
                self.c["block"] != "parallel" and
                has_bias(self.c, "mlp") and self.c["bias"] == "on" and
                not extra_keys(self.c) and not self.c["masked_heads"] and
                not self.c["added"] and not self.c["by_head"] and
                not self.c["experts"] and self.c["activation"] in ("relu", "gelu", "gelu-tanh"))

    def their_mask(self, added=None):
        """Without the keys of no token, which their modules know of."""
        mine = None if self.mask is None else self.mask[..., :self.mask.shape[-1] - extra_keys(self.c)]
        if added is not None:
            added = added[..., :added.shape[-1] - extra_keys(self.c)]
            mine = added if mine is None else added + mine[:, None]
            return mine.flatten(0, 1)
        if mine is None:
            return None
        return (mine != 0).repeat_interleave(head_count(self.c), dim=0)

    def fill_multihead(self, module, at):
        w, d = self.w, self.c["d_model"]
        with torch.no_grad():
            stacked = [w[at + "W_" + x].permute(0, 2, 1).reshape(d, d) for x in "QKV"]
            module.in_proj_weight.copy_(torch.cat(stacked))
            module.in_proj_bias.copy_(torch.cat([w[at + "b_" + x].reshape(-1) for x in "QKV"]))
            if self.c["bias_kv"] == "on":
                module.bias_k.copy_(w[at + "bias_K"].reshape(1, 1, d))
                module.bias_v.copy_(w[at + "bias_V"].reshape(1, 1, d))
            if self.c["output_projection"] == "on":
                module.out_proj.weight.copy_(w[at + "W_O"].reshape(d, d).T)
                module.out_proj.bias.copy_(w[at + "b_O"])
            else:  # theirs is always there: one that changes nothing
                module.out_proj.weight.copy_(torch.eye(d))
                module.out_proj.bias.zero_()

    def check_multihead(self, at, x, source, pattern, out, added):
        if not self.fits_torch_modules():
            return
        c = self.c
        module = torch.nn.MultiheadAttention(
            c["d_model"], c["heads"], batch_first=True, dtype=torch.float64,
            add_bias_kv=c["bias_kv"] == "on", add_zero_attn=c["zero_attention"] == "on")
        self.fill_multihead(module, at)
        mask = self.their_mask(added)
        theirs, weights = module(x, source, source, attn_mask=mask, average_attn_weights=False)
        if c["average_weights"] == "on":
            mean = module(x, source, source, attn_mask=mask)[1]
            self.agree("MultiheadAttention's mean", self.kept[at + "pattern_mean"], mean)
        self.agree("MultiheadAttention", out, theirs)
        self.agree("MultiheadAttention", pattern, weights)

    def check_encoder_layer(self, at, x, post):
        c, w = self.c, self.w
        if not self.fits_torch_layers() or c["residual"] == "off" or self.drops() or \
                at + "memory" in self.inputs:
            return
        activation = {"relu": F.relu, "gelu": F.gelu,
                      "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        module = torch.nn.TransformerEncoderLayer(
            c["d_model"], c["heads"], c["d_hidden"] or 4 * c["d_model"], dropout=0.0,
            activation=activation, layer_norm_eps=c["norm_epsilon"], batch_first=True,
            norm_first=c["block"] == "pre-norm", dtype=torch.float64)
        self.fill_multihead(module.self_attn, at + "attn.")
        self.fill_rest(module, at, ((module.norm1, "ln1"), (module.norm2, "ln2")))
        self.agree("TransformerEncoderLayer", post, module(x, src_mask=self.their_mask()))

    def drops(self):
        return any(name.endswith(".dropout") for name in self.inputs)

    def check_decoder_layer(self, at, x, encoded, post):
        c = self.c
        if not self.fits_torch_layers() or c["residual"] == "off" or self.drops() or \
                c["block"] in ("attention", "attention-norm"):
            return
        activation = {"relu": F.relu, "gelu": F.gelu,
                      "gelu-tanh": lambda x: F.gelu(x, approximate="tanh")}[c["activation"]]
        module = torch.nn.TransformerDecoderLayer(
            c["d_model"], c["heads"], c["d_hidden"] or 4 * c["d_model"], dropout=0.0,
            activation=activation, layer_norm_eps=c["norm_epsilon"], batch_first=True,
            norm_first=c["block"] == "pre-norm", dtype=torch.float64)
        self.fill_multihead(module.self_attn, at + "attn.")
        self.fill_multihead(module.multihead_attn, at + "cross_attn.")
        self.fill_rest(module, at, ((module.norm1, "ln1"), (module.norm2, "ln2"),
                                    (module.norm3, "ln3")))
        own, mask = self.their_mask(), self.inputs.get("cross_mask")
        cross = None if mask is None else (mask != 0).repeat_interleave(head_count(c), dim=0)
        theirs = module(x, encoded, tgt_mask=own, memory_mask=cross)
        self.agree("TransformerDecoderLayer", post, theirs)

    def fill_rest(self, module, at, norms):
        w = self.w
        with torch.no_grad():
            for linear, end in ((module.linear1, "in"), (module.linear2, "out")):
                linear.weight.copy_(w[at + "mlp.W_" + end].T)
                linear.bias.copy_(w[at + "mlp.b_" + end])
            for norm, name in norms:
                norm.weight.copy_(w[at + name + ".w"])
                norm.bias.copy_(w[at + name + ".b"])


# ---- files ----

def metadata(c):
    """The configuration as words; safetensors allows only strings here."""
    words = {}
    for key, value in c.items():
        if key in LATER and value == LATER[key]:
            continue
        if key == "padding":
            # A list for each item of the batch has no word; such a mask is only in the file.
            value = ",".join(map(str, value)) if c["batch"] == 1 else ""
        elif key in ("forbidden", "by_head"):
            value = ",".join(":".join(map(str, cell)) for cell in value)
        elif key == "local_layers":
            value = ",".join(map(str, value))
        if not isinstance(value, list) and key != "second":  # lengths stand in the masks
            words[key] = str(value)
    padded = "on" if c["lengths"] or c["source_lengths"] else "off"
    return words | {"vocab": str(VOCAB), "padded": padded}


def first_words(ids):
    """The tokens of the segment before."""
    return {} if ids is None else {"first": ",".join(map(str, ids.flatten().tolist()))}


def write_safetensors(path, tensors, words):
    """8 bytes of header length, the header as JSON, the numbers (little endian)."""
    header, blobs, offset = {"__metadata__": words}, [], 0
    for name, tensor in tensors.items():
        numbers = tensor.detach().float().reshape(-1).tolist()
        blob = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def remember(c, parameters, generator):
    """A segment before the one that is run: its ids, and the rows that came into each layer, of
    which the last are remembered. No gradient passes."""
    ids = torch.randint(0, VOCAB, (c["batch"], c["tokens"]), generator=generator)
    run = Run(c, parameters, ids, make_inputs(c))
    run.compute()
    made = {}
    for layer in range(c["layers"]):
        at = f"blocks.{layer}."
        made[at + "memory"] = run.kept[at + "resid_pre"][:, -c["memory"]:].detach().clone()
    return ids, made


def make(name, changes, folder):
    c = DEFAULTS | changes
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    parameters = make_parameters(c, generator)
    ids = torch.randint(0, VOCAB, (c["batch"], c["tokens"]), generator=generator)
    inputs, first = {}, None
    if c["memory"]:
        first, inputs = remember(c, parameters, generator)
        c["second"] = True
    inputs |= make_inputs(c)
    if c["source"]:
        inputs["source_ids"] = torch.randint(0, c["source_vocab"] or VOCAB,
                                             (c["batch"], c["source"]), generator=generator)
    divide(c, ids, inputs)
    tensors = {"token_ids": ids.double()} | read_inputs(c, inputs)
    run = Run(c, parameters, ids, inputs)
    run.compute()
    tensors |= run.kept
    if c["batch"] == 1:
        tensors = {key: tensor[0] for key, tensor in tensors.items()}
    tensors |= head_masks(c)
    tensors |= {"param:" + key: tensor for key, tensor in parameters.items()}
    path = folder / (name + ".safetensors")
    write_safetensors(path, tensors, metadata(c) | first_words(first))
    print(f"{path.name}: {len(run.kept)} tensors, {path.stat().st_size} bytes; agrees with "
          f"{', '.join(sorted(run.checks)) or 'no module of torch (none computes this)'}")
    return path.stat().st_size, run.checks


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    total, seen = 0, set()
    for name, changes in CONFIGS.items():
        size, checks = make(name, changes, folder)
        total, seen = total + size, seen | checks
    print(f"{len(CONFIGS)} files, {total} bytes, torch {torch.__version__}")
    missing = {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "RNN",
               "GRU", "conv1d", "MultiheadAttention's mean", "torch.distributions.MixtureSameFamily"} - seen
    if missing:
        sys.exit(f"no configuration was checked against {missing}")


if __name__ == "__main__":
    main()
