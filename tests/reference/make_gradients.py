#!/usr/bin/env python3
"""Makes the gradients that tests/test_gradients_model.cpp compares every backend with.

The models are those of make_reference.py, in float64; torch's autograd walks them backwards from the
mean cross-entropy (torch's own) over the counted targets. One .safetensors file per configuration in
the folder `gradients`, stored as float32:

  __metadata__          the configuration, by the words of the command line
  token_ids, targets    the inputs of the run; a target of -1 is not counted
  mask                  where the model has one
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
}


def make(name, changes, folder):
    c = reference.DEFAULTS | changes
    generator = torch.Generator().manual_seed(zlib.crc32(("gradients of " + name).encode()))
    parameters = reference.make_parameters(c, generator)
    for tensor in parameters.values():
        tensor.requires_grad_()
    shape = (c["batch"], c["tokens"])
    ids = torch.randint(0, reference.VOCAB, shape, generator=generator)
    targets = torch.randint(0, reference.VOCAB, shape, generator=generator)
    targets[torch.rand(shape, generator=generator) < 0.25] = -1
    targets[0, 0] = 3  # at least one is counted
    tensors = {"token_ids": ids.double(), "targets": targets.double()}
    mask = None
    if c["mask"] != "none":
        allowed = torch.stack([reference.allowed_keys(c, item) for item in range(c["batch"])])
        mask = torch.zeros(allowed.shape, dtype=torch.float64).masked_fill(~allowed, -torch.inf)
        tensors["mask"] = mask
    run = reference.Run(c, parameters, ids, mask)
    run.compute()
    losses = F.cross_entropy(run.kept["logits"].transpose(1, 2), targets, ignore_index=-1,
                             reduction="none")
    kept = {key: tensor for key, tensor in run.kept.items() if tensor.requires_grad}
    for tensor in kept.values():
        tensor.retain_grad()
    losses.retain_grad()
    F.cross_entropy(run.kept["logits"].reshape(-1, reference.VOCAB), targets.reshape(-1),
                    ignore_index=-1).backward()
    tensors["loss"] = losses
    tensors |= {"d." + key: tensor.grad for key, tensor in kept.items() if tensor.grad is not None}
    if c["batch"] == 1:
        tensors = {key: tensor[0] for key, tensor in tensors.items()}
    for key, tensor in parameters.items():
        tensors["param:" + key] = tensor
        tensors["d.param:" + key] = tensor.grad
    for key, tensor in tensors.items():
        if key != "mask" and not torch.isfinite(tensor).all():
            sys.exit(f"{name}: {key} is not finite")
    path = folder / (name + ".safetensors")
    reference.write_safetensors(path, tensors, reference.metadata(c))
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
