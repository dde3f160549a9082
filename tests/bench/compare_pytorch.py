#!/usr/bin/env python3
"""Training's speed beside PyTorch's: the models of `headlight bench train`, on the same cores.

  python3 tests/bench/compare_pytorch.py [HEADLIGHT] [--rounds 7] [--threads 1,2] [--model toy]

Programs and numbers of threads take turns, so that whatever else the machine does slows all of
them; a round of each lasts a tenth of a second or more. The best median of each program's numbers
of threads is compared. PyTorch trains in float32 as one would write it there: one projection for Q,
K and V, AdamW over lists of tensors where that is faster, and no number is asked for between steps.
Its products are those of the BLAS that is installed: Debian's reference BLAS (libblas3) is a tenth
as fast as OpenBLAS (libopenblas0-pthread), so the one in use is printed. Ends with 77 where PyTorch
is missing.
"""

import argparse
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print("skipped: no PyTorch for this python3 (Debian: python3-torch)")
    sys.exit(77)

TURN = 0.1  # seconds, at least


class Block(nn.Module):
    def __init__(self, width, heads, positions):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        later = torch.ones(positions, positions, dtype=torch.bool).triu(1)
        self.register_buffer("later", later)

    def forward(self, x):
        rows, positions, width = x.shape
        parted = self.qkv(self.norm1(x)).view(rows, positions, 3, self.heads, -1)
        q, k, v = parted.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        mixed = scores.masked_fill(self.later, -math.inf).softmax(-1) @ v
        x = x + self.output(mixed.transpose(1, 2).reshape(rows, positions, width))
        return x + self.narrower(F.gelu(self.wider(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, model):
        super().__init__()
        width = model["d_model"]
        self.tokens = nn.Embedding(model["vocab"], width)
        self.places = nn.Parameter(0.02 * torch.randn(model["positions"], width))
        self.blocks = nn.Sequential(*(Block(width, model["heads"], model["positions"])
                                      for _ in range(model["layers"])))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, model["vocab"])

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places)))


def blas():
    """The file of the library that PyTorch's products are in; None: its own."""
    torch.ones(2, 2) @ torch.ones(2, 2)
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return max((line.split()[-1] for line in maps if "blas" in line), default=None)


def use_threads(count):
    torch.set_num_threads(count)
    library = ctypes.CDLL(blas())
    if hasattr(library, "openblas_set_num_threads"):  # it has threads of its own
        library.openblas_set_num_threads(count)


class Training:
    """Steps of one model by PyTorch."""

    def __init__(self, model, threads, foreach):
        use_threads(threads)
        torch.manual_seed(1)
        self.threads, self.name = threads, model["config"]
        self.module = Decoder(model)
        self.adam = torch.optim.AdamW(self.module.parameters(), lr=1e-3, foreach=foreach)
        self.ids = torch.randint(model["vocab"], (model["batch"], model["positions"]))
        self.targets = torch.randint(model["vocab"], (model["batch"] * model["positions"],))
        self.tokens = self.ids.numel()
        self.steps = 1
        while self.turn() < TURN:
            self.steps *= 2

    def turn(self):
        use_threads(self.threads)
        begin = time.perf_counter()
        for _ in range(self.steps):
            self.adam.zero_grad(set_to_none=True)
            F.cross_entropy(self.module(self.ids).flatten(0, 1), self.targets).backward()
            self.adam.step()
        return time.perf_counter() - begin

    def rate(self):
        return self.tokens * self.steps / self.turn()


def bench(headlight, name, threads):
    run = subprocess.run([headlight, "bench", "train", "--model", name, "--rounds", "1", "--json",
                          "--threads", str(threads)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["configs"][0]


def compare(headlight, name, threads, rounds):
    """Prints how many tokens a second each trains, and how many times that of PyTorch is ours."""
    model = bench(headlight, name, threads[0])
    trained = [Training(model, n, foreach) for n in threads for foreach in (False, True)]
    count = sum(p.numel() for p in trained[0].module.parameters())
    if count != model["parameters"]:
        sys.exit(f"{name}: PyTorch's model has {count} parameters, ours {model['parameters']}")
    own, other = {n: [] for n in threads}, {training: [] for training in trained}
    for _ in range(rounds):
        for n in threads:
            own[n].append(bench(headlight, name, n)["tokens_per_second"])
        for training in trained:
            other[training].append(training.rate())
    best, threads_best = max((statistics.median(rates), n) for n, rates in own.items())
    torch_best = max(trained, key=lambda training: statistics.median(other[training]))
    torch_rate = statistics.median(other[torch_best])
    print(f"{name:6} {best:11,.0f} tokens/s on {threads_best}   PyTorch {torch_rate:11,.0f} on "
          f"{torch_best.threads}   {best / torch_rate:5.1f} times", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("headlight", nargs="?", default="build/release/headlight")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1,2", help="numbers, of which the best counts")
    parser.add_argument("--model", choices=["tiny", "toy", "small"])
    given = parser.parse_args()
    threads = [int(n) for n in given.threads.split(",")]
    print(f"Forward, backward and update: the best of {given.threads} threads; medians of "
          f"{given.rounds} rounds in turns\nPyTorch {torch.__version__}; its products are of "
          f"{blas() or 'its own'}")
    for name in [given.model] if given.model else ["tiny", "toy", "small"]:
        compare(given.headlight, name, threads, given.rounds)


if __name__ == "__main__":
    main()
