"""Random weights, the same for every run, and the files that hold them."""

import json
import struct
import zlib

import numpy as np
import torch

SIZES = {"F32": 4, "F16": 2, "BF16": 2, "U8": 1, "BOOL": 1, "I64": 8}


class Weights:
    """Draws float32 numbers under the names of a checkpoint; the seed is the case's name."""

    def __init__(self, case):
        self.generator = torch.Generator().manual_seed(zlib.crc32(case.encode()))
        self.made = {}

    def normal(self, name, *shape, deviation=None, mean=0.0):
        """Unless said otherwise as wide as keeps the size of what is multiplied by it."""
        deviation = shape[-1] ** -0.5 if deviation is None else deviation
        numbers = torch.randn(*shape, generator=self.generator, dtype=torch.float64)
        self.made[name] = (numbers * deviation + mean).float()

    def matrix(self, name, rows, columns):
        """Of torch.nn.Linear: (out, in)."""
        self.normal(name, rows, columns, deviation=1.2 * columns ** -0.5)

    def linear(self, name, rows, columns, bias=True):
        self.matrix(name + ".weight", rows, columns)
        if bias:
            self.vector(name + ".bias", rows)

    def vector(self, name, size):
        self.normal(name, size, deviation=0.3)

    def table(self, name, rows, columns):
        self.normal(name, rows, columns, deviation=0.8)

    def norm(self, name, size, bias=True, words=("weight", "bias")):
        self.normal(f"{name}.{words[0]}", size, deviation=0.3, mean=1.0)
        if bias:
            self.vector(f"{name}.{words[1]}", size)

    def put(self, name, tensor):
        """A buffer or a tensor that stands in the file a second time."""
        self.made[name] = tensor

    def to_float64(self):
        return {name: tensor.double() for name, tensor in self.made.items()
                if tensor.is_floating_point()}


def rounded(tensor, kind):
    """The float32 numbers that are left in a file of this kind."""
    return tensor.to({"F16": torch.float16, "BF16": torch.bfloat16}[kind]).float()


def bytes_of(tensor, kind):
    if kind == "BF16":  # the upper half of a float32
        bits = tensor.to(torch.bfloat16).float().contiguous().numpy().view(np.uint32) >> 16
        return bits.astype("<u2").tobytes()
    types = {"F32": "<f4", "F16": "<f2", "U8": "u1", "BOOL": "u1", "I64": "<i8"}
    return np.ascontiguousarray(tensor.numpy().astype(types[kind])).tobytes()


def kind_of(tensor):
    return {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
            torch.uint8: "U8", torch.bool: "BOOL", torch.int64: "I64"}[tensor.dtype]


def write_safetensors(path, tensors, words=None):
    """8 bytes of header length, the header as JSON, the numbers; names in alphabetical order."""
    header = {"__metadata__": words} if words else {}
    blobs, offset = [], 0
    for name in sorted(tensors):
        tensor = tensors[name]
        blob = bytes_of(tensor, kind_of(tensor))
        header[name] = {"dtype": kind_of(tensor), "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
