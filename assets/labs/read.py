# What this lab says, computed with NumPy from the tensors that it exports:
#
#   headlight lab NAME --tensors lab.safetensors --code lab.py
#   python3 lab.py lab.safetensors
import json
import sys

import numpy as np

data = open(sys.argv[1], "rb").read()
size = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + size])
controls = header.pop("__metadata__")
t = {name: np.frombuffer(data[8 + size:], "<f4", offset=entry["data_offsets"][0],
                         count=int(np.prod(entry["shape"]))).reshape(entry["shape"]).astype(float)
     for name, entry in header.items()}
values, series, right = {}, {}, {}  # numbers and curves by name; the right answer by question


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


