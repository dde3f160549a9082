#!/usr/bin/env python3
"""Makes what tests/cli/test_cli_op.cpp gives to `headlight op`, and what it expects back.

For each case of tests/reference/ops two files: NAME.in.safetensors has the inputs, NAME.out.safetensors
the results by PyTorch (float64, stored as float32) with the operation and its attributes as
metadata. Needs only torch:

  python3 tests/reference/make_ops.py [folder]     (default: ops beside this script)
"""

import json
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

KINDS = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}


def write(path, tensors, words=None):
    """Sorted by name, the widest numbers first, so that each is aligned."""
    header, blobs, offset = {"__metadata__": words} if words else {}, [], 0
    for name, t in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        t = t.contiguous()
        blob = bytes(t.reshape(-1).view(torch.uint8).tolist())
        header[name] = {"dtype": KINDS[t.dtype], "shape": list(t.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def attention(q, k, v, allowed=None, added=None, scale=None):
    """By torch's products and softmax, because F.scaled_dot_product_attention is not in every
    version; where it is, it must agree. Rows that may look nowhere are zeros."""
    heads = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)
    shape = (*q.shape[:3], k.shape[2])
    mask = torch.zeros(shape, dtype=q.dtype)
    if added is not None:
        mask = mask + added.double()
    if allowed is not None:
        mask = mask.masked_fill(~allowed.expand(shape), float("-inf"))
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    out = torch.softmax(q @ k.transpose(-1, -2) * factor + mask, -1) @ v
    if hasattr(F, "scaled_dot_product_attention"):
        theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        assert torch.allclose(theirs.nan_to_num(), out.nan_to_num())
    empty = (mask == float("-inf")).all(-1, keepdim=True)
    return torch.where(empty, torch.zeros_like(out), out)


def turned(x, r, base, interleaved):
    """Rotary positions by complex numbers: each pair of features is one, times e^(iθ)."""
    first, second = (x[..., 0:r:2], x[..., 1:r:2]) if interleaved else (x[..., :r // 2],
                                                                        x[..., r // 2:r])
    rates = base ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
    angles = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * rates
    pairs = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
    parts = [pairs.real, pairs.imag]
    flat = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    return torch.cat([flat, x[..., r:]], -1)


def causal(queries, keys, past):
    return torch.arange(keys)[None, :] <= torch.arange(queries)[:, None] + past


def cases():
    g = torch.Generator().manual_seed(5)

    def draw(*shape, size=1.0):
        return torch.randn(*shape, generator=g) * size

    x = draw(2, 3, 7, size=4.0)
    yield "softmax", "softmax", {"x": x}, {}, torch.softmax(x.double(), -1)
    masked = draw(3, 5)
    masked[0, 2:] = float("-inf")
    yield "softmax-cool", "softmax", {"x": masked}, {"temperature": "0.5"}, torch.softmax(
        masked.double() / 0.5, -1)
    yield "log-softmax", "log-softmax", {"x": x}, {}, torch.log_softmax(x.double(), -1)
    w, b = draw(7), draw(7)
    yield "layer-norm", "layer-norm", {"x": x, "weight": w, "bias": b}, {
        "epsilon": "0.001"}, F.layer_norm(x.double(), (7,), w.double(), b.double(), 1e-3)
    yield "layer-norm-plain", "layer-norm", {"x": x}, {}, F.layer_norm(x.double(), (7,))
    yield "gelu", "gelu", {"x": x}, {}, F.gelu(x.double())
    yield "gelu-tanh", "gelu-tanh", {"x": x}, {}, F.gelu(x.double(), approximate="tanh")
    yield "rms-norm", "rms-norm", {"x": x, "weight": w}, {"epsilon": "0.001"}, (
        x.double() * torch.rsqrt(x.double().pow(2).mean(-1, keepdim=True) + 1e-3) * w.double())
    yield "silu", "silu", {"x": x}, {}, F.silu(x.double())
    yield "multiply", "multiply", {"a": x, "b": x.flip(0)}, {}, x.double() * x.flip(0).double()
    turns = torch.linspace(-3, 3, 2 * 3 * 9 * 6).reshape(2, 3, 9, 6).sin()
    yield "rotary", "rotary", {"x": turns}, {}, turned(turns.double(), 6, 10000.0, False)
    yield "rotary-interleaved", "rotary", {"x": turns}, {
        "turned": "4", "base": "50", "interleaved": "1"}, turned(turns.double(), 4, 50.0, True)
    a, m, many = draw(2, 3, 5), draw(5, 4), draw(2, 5, 6)
    yield "product", "product", {"a": a, "b": m}, {}, a.double() @ m.double()
    yield "product-batch", "product", {"a": a, "b": many}, {}, a.double() @ many.double()
    table, ids = draw(6, 3), torch.tensor([[5, 0], [2, 2]])
    yield "gather", "gather", {"table": table, "ids": ids}, {}, table.double()[ids]

    q, k, v = draw(2, 4, 3, 5), draw(2, 2, 6, 5), draw(2, 2, 6, 7)
    d = [t.double() for t in (q, k, v)]
    qkv = {"q": q, "k": k, "v": v}
    yield "attention", "attention", qkv, {}, attention(*d)
    yield "attention-causal", "attention", qkv, {"causal": "1"}, attention(*d, causal(3, 6, 0))
    yield "attention-past", "attention", qkv, {
        "causal": "1", "past": "3", "scale": "0.3"}, attention(*d, causal(3, 6, 3), scale=0.3)
    allowed = torch.rand(2, 1, 3, 6, generator=g) < 0.5
    allowed[1, 0, 2] = False
    yield "attention-boolean", "attention", {**qkv, "mask": allowed}, {}, attention(*d, allowed)
    added = draw(4, 3, 6)
    added[1, 2, 1:3] = float("-inf")
    added[3, 0] = float("-inf")
    yield "attention-additive", "attention", {**qkv, "mask": added}, {
        "causal": "1", "past": "2"}, attention(*d, causal(3, 6, 2), added)
    split = {"q": q, "past_key": k[:, :, :3].contiguous(), "k": k[:, :, 3:].contiguous(),
             "past_value": v[:, :, :3].contiguous(), "v": v[:, :, 3:].contiguous()}
    yield "attention-cache", "attention", split, {"causal": "1"}, attention(*d, causal(3, 6, 3))


def main():
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "ops")
    here.mkdir(exist_ok=True)
    for name, op, tensors, attributes, out in cases():
        write(here / f"{name}.in.safetensors", tensors)
        words = {"op": op, **{f"attr.{key}": value for key, value in attributes.items()}}
        write(here / f"{name}.out.safetensors", {"out": out.float()}, words)
        print(name, list(out.shape))


if __name__ == "__main__":
    main()
