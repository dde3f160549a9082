#!/usr/bin/env python3
"""Makes the training runs that tests/train/test_trainer.cpp lays its own beside.

Ten updates of small models by PyTorch's autograd and optimizers, in float64, of the recipes of
make_reference.py. One .safetensors file per run:

  __metadata__   the configuration by the words of the command line, and the optimizer's options
  param:NAME     a weight before the first update
  tokens         (steps, batch, position), token ids
  targets        the same shape, what should come next; -1 where it is not counted. Of classes
                 (steps, batch)
  lengths        where rows are padded: (batch), tokens of a row, in every step
  source, source_lengths     likewise, of an encoder-decoder
  losses         (steps), the mean loss before each update
  norms          (steps), the norm of all gradients before clipping

  python3 tests/reference/make_training.py [folder]     (default: train/ beside this script)
"""

import math
import pathlib
import sys
import zlib

import torch
import torch.nn.functional as F

import make_reference as reference

STEPS, BATCH = 10, 5

RUNS = {
    "run-decoder": dict(
        model=dict(heads=2, d_model=8, layers=2, positions="learned", tokens=6),
        optimizer="adamw", lr=0.01, beta1=0.9, beta2=0.99, decay=0.1, clip=0.5,
        schedule="cosine", warmup=3, counted=1.0),
    "run-encoder": dict(
        model=dict(heads=2, d_model=6, mask="none", block="post-norm", activation="relu", tokens=5),
        optimizer="adam", lr=0.02, beta1=0.9, beta2=0.999, decay=0.0, clip=0.0,
        schedule="constant", warmup=0, counted=0.4),
    "run-sgd": dict(
        model=dict(heads=3, d_model=6, layers=1, activation="gelu-tanh", bias="off", tokens=6),
        optimizer="sgd", lr=0.1, momentum=0.9, decay=0.01, clip=1.0,
        schedule="constant", warmup=0, counted=1.0),
    "run-classes": dict(
        model=dict(form="classes", classes=3, heads=2, d_model=6, mask="none", positions="learned",
                   tokens=5, lengths=[5, 2, 4, 1, 3]),
        optimizer="adamw", lr=0.01, beta1=0.9, beta2=0.999, decay=0.01, clip=1.0,
        schedule="constant", warmup=0, counted=1.0),
    "run-translate": dict(
        model=dict(form="translate", heads=2, d_model=6, layers=2, activation="relu", tokens=4,
                   source=5, source_lengths=[5, 3, 4, 1, 5]),
        optimizer="adam", lr=0.01, beta1=0.9, beta2=0.98, decay=0.0, clip=1.0,
        schedule="cosine", warmup=2, counted=0.8),
}


def learning_rate(run, step):
    peak, warmup = run["lr"], run["warmup"]
    if step < warmup:
        return peak * (step + 1) / warmup
    if run["schedule"] == "constant":
        return peak
    return peak * (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup))) / 2


def make_optimizer(run, parameters):
    if run["optimizer"] == "sgd":
        return torch.optim.SGD(parameters, lr=run["lr"], momentum=run["momentum"],
                               weight_decay=run["decay"])
    kind = torch.optim.AdamW if run["optimizer"] == "adamw" else torch.optim.Adam
    return kind(parameters, lr=run["lr"], betas=(run["beta1"], run["beta2"]),
                weight_decay=run["decay"])


def train(name, run, folder):
    c = reference.DEFAULTS | run["model"] | dict(batch=BATCH)
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    weights = reference.make_parameters(c, generator)
    file = {"param:" + key: value.clone() for key, value in weights.items()}
    for value in weights.values():
        value.requires_grad_(True)
    shape = (STEPS, BATCH, c["tokens"])
    tokens = torch.randint(0, reference.VOCAB, shape, generator=generator)
    outcomes = c["classes"] or reference.VOCAB
    shape = shape[:2] if c["classes"] else shape
    targets = torch.randint(0, outcomes, shape, generator=generator)
    targets[torch.rand(shape, generator=generator) >= run["counted"]] = -1
    inputs = reference.make_inputs(c)
    source = None
    if c["source"]:
        source = torch.randint(0, reference.VOCAB, (STEPS, BATCH, c["source"]), generator=generator)
        file["source"] = source
    for key in ("lengths", "source_lengths"):
        if c[key]:
            file[key] = torch.tensor(c[key])
    optimizer = make_optimizer(run, list(weights.values()))
    losses, norms = [], []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(run, step)
        if source is not None:
            inputs["source_ids"] = source[step]
        model = reference.Run(c, weights, tokens[step], inputs)
        # Made for one run:
        model.check_multihead = model.check_encoder_layer = lambda *_: None
        model.check_decoder_layer = lambda *_: None
        model.compute()
        loss = F.cross_entropy(model.kept["logits"].reshape(-1, outcomes),
                               targets[step].reshape(-1), ignore_index=-1)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(weights.values()), run["clip"] or math.inf)
        optimizer.step()
        losses.append(loss.item())
        norms.append(norm.item())
    file |= {"tokens": tokens, "targets": targets, "losses": torch.tensor(losses),
             "norms": torch.tensor(norms)}
    words = reference.metadata(c) | {
        key: str(run.get(key, 0)) for key in
        ("optimizer", "lr", "beta1", "beta2", "momentum", "decay", "clip", "schedule", "warmup")}
    reference.write_safetensors(folder / (name + ".safetensors"), file, words)
    print(name, losses[0], "->", losses[-1])


if __name__ == "__main__":
    here = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else \
        pathlib.Path(__file__).resolve().parent / "train"
    for run_name, options in RUNS.items():
        train(run_name, options, here)
