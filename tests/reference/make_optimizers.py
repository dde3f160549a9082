#!/usr/bin/env python3
"""Makes the numbers that tests/train/test_optimizer.cpp compares the optimizers and schedules with:
torch.optim itself, in float64, stored as float32 in train/optimizers.safetensors.

  w, b            the parameters at the start (a matrix and a vector)
  g{t}.w, g{t}.b  their gradients at step t
  NAME.w, NAME.b  after the last step of the case NAME
  NAME.norms      the gradient norm of each step, before clipping, as clip_grad_norm_ returns it
  NAME.rates      the learning rate of each step (schedules)

The metadata holds a line of words for each case. Needs only torch:

  python3 tests/reference/make_optimizers.py
"""

import math
import pathlib

import torch

from make_reference import write_safetensors

STEPS = 9
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}

# kind, learning rate, clip (0: none), decay on matrices only, and what torch.optim takes. An option
# that is left out has torch's default.
CASES = {
    "sgd": ("sgd", 0.1, 0, False, {}),
    "sgd-decay": ("sgd", 0.05, 0, False, {"weight_decay": 0.1}),
    "sgd-momentum": ("sgd", 0.05, 0, False, {"momentum": 0.9}),
    "sgd-all": ("sgd", 0.02, 2.5, False, {"momentum": 0.8, "weight_decay": 0.2}),
    "adam": ("adam", 0.01, 0, False, {}),
    "adam-decay": ("adam", 0.02, 0, False, {"betas": (0.8, 0.95), "weight_decay": 0.3}),
    "adam-clip": ("adam", 0.01, 0.5, False, {"eps": 1e-3}),
    "adamw": ("adamw", 0.01, 0, False, {}),
    "adamw-decay": ("adamw", 0.02, 0, False, {"betas": (0.7, 0.9), "eps": 1e-2,
                                              "weight_decay": 0.5}),
    "adamw-matrices": ("adamw", 0.02, 1.0, True, {"weight_decay": 0.5}),
}


def run(case, start, gradients):
    kind, rate, clip, matrices_only, options = case
    parameters = {name: tensor.clone().requires_grad_() for name, tensor in start.items()}
    groups = [{"params": [parameters["w"]]}, {"params": [parameters["b"]]}]
    if matrices_only:
        groups[1]["weight_decay"] = 0.0
    optimizer = OPTIMIZERS[kind](groups, lr=rate, **options)
    norms = []
    for gradient in gradients:
        for name, parameter in parameters.items():
            parameter.grad = gradient[name].clone()
        norms.append(torch.nn.utils.clip_grad_norm_(parameters.values(), clip or math.inf))
        optimizer.step()
    return parameters, torch.stack(norms)


def words(case):
    kind, rate, clip, matrices_only, options = case
    said = {"kind": kind, "rate": rate, "clip": clip, "matrices_only": int(matrices_only)}
    for key, value in options.items():
        said |= {"beta1": value[0], "beta2": value[1]} if key == "betas" else {key: value}
    return " ".join(f"{key} {value}" for key, value in said.items())


def cosine(peak, floor, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps, eta_min=floor)
    rates = []
    for _ in range(steps + 1):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return torch.tensor(rates, dtype=torch.float64)


def main():
    generator = torch.Generator().manual_seed(4)

    def draw(scale):
        # Float32 numbers, so that every reader starts from the same ones.
        return {name: (scale * torch.randn(shape, generator=generator)).double()
                for name, shape in (("w", (3, 7)), ("b", (5,)))}

    start, gradients = draw(1.0), [draw(0.1 * 3 ** (t % 4)) for t in range(STEPS)]
    gradients[3]["b"].zero_()
    tensors, metadata = dict(start), {"steps": str(STEPS)}
    for t, gradient in enumerate(gradients):
        tensors |= {f"g{t}.{name}": tensor for name, tensor in gradient.items()}
    for name, case in CASES.items():
        parameters, norms = run(case, start, gradients)
        tensors |= {f"{name}.{key}": tensor for key, tensor in parameters.items()}
        tensors[name + ".norms"] = norms
        metadata["case:" + name] = words(case)
    tensors["cosine.rates"] = cosine(0.3, 0.03, 12)
    path = pathlib.Path(__file__).parent / "train" / "optimizers.safetensors"
    write_safetensors(path, tensors, metadata)
    print(f"{len(CASES)} cases, {path.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
