#!/usr/bin/env python3
"""Computes a run of a model's folder a second time, by make_reference.py's PyTorch in float64 from the
exported weights, and prints how far each tensor of `headlight trace` is from it.

  python3 tests/reference/check_trace.py FOLDER SENTENCE [HEADLIGHT] [--positions KIND]

For models that predict the next token. Fails where a tensor is more than 1e-4 of its largest number off.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

import make_reference as reference


def config_of(folder, tokens):
    model = json.loads((folder / "config.json").read_text())["model"]
    c = dict(reference.DEFAULTS, tokens=tokens)
    c |= {key: value for key, value in model.items() if key in c and key not in ("mask", "form")}
    c |= {key: "on" if model[key] else "off"
          for key in ("scale", "bias", "residual", "tied_head", "output_projection", "segments",
                      "fused_attention")
          if isinstance(model.get(key), bool)}
    return c | {"mask": model.get("mask", {}).get("kind", "causal")}


def numbers(path):
    return {name: torch.tensor(array.astype(np.float64)) for name, array in np.load(path).items()
            if array.dtype.kind in "fi"}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("sentence")
    arguments.add_argument("headlight", nargs="?", default="build/release/headlight")
    arguments.add_argument("--positions", help="other ones than the model was trained with")
    given = arguments.parse_args()
    folder, sentence, headlight = given.folder, given.sentence, given.headlight
    other = ["--positions", given.positions] if given.positions else []
    with tempfile.TemporaryDirectory() as scratch:
        trace, weights = (str(pathlib.Path(scratch) / name) for name in ("trace.npz", "weights.npz"))
        subprocess.run([headlight, "trace", "--model", folder, "--sentence", sentence, "--out", trace,
                        "--weights-out", weights, *other], check=True, stdout=subprocess.DEVNULL)
        ours, w = numbers(trace), numbers(weights)
    ids = ours["token_ids"].long()[None]
    c = config_of(folder, ids.shape[1])
    if given.positions:
        c["positions"] = given.positions
    if "pos_embed.W_pos" in w:
        w["pos_embed.W_pos"] = w["pos_embed.W_pos"][: ids.shape[1]]
    inputs = reference.make_inputs(c)
    if c["segments"] == "on":
        inputs["segment_ids"] = ours["segment_ids"].long()[None]
    run = reference.Run(c, w, ids, inputs)
    run.compute()
    worst = 0.0
    for name, theirs in run.kept.items():
        theirs = theirs[0]
        finite = torch.isfinite(theirs)
        assert torch.equal(finite, torch.isfinite(ours[name])), name
        off = (ours[name] - theirs)[finite].abs().max() / theirs[finite].abs().max()
        worst = max(worst, off.item())
        print(f"{name:32} {off.item():.1e}")
    print(f"{len(run.kept)} of {len(ours)} tensors, {ids.shape[1]} tokens; at most {worst:.1e} off")
    sys.exit(worst > 1e-4)


if __name__ == "__main__":
    main()
