"""The code that the inspector shows, run as it is: for every step of several models, each variable
that a snippet makes must be the tensor that the trace has.

usage: run_code.py HEADLIGHT

Tolerance: |a - b| <= 1e-4 + 1e-4 |b|. NumPy and Eigen sum float32 in different orders; the largest
difference seen is printed.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

SENTENCE = "the cat sat on the mat 猫 the cat"
SMALL = ["--layers", "2", "--heads", "2", "--d-model", "8"]
MODELS = {
    "usual": SMALL,
    "large": ["--layers", "1", "--heads", "4", "--d-model", "64"],
    "basic": SMALL + ["--attention", "basic", "--positions", "none"],
    "basic, scaled": SMALL + ["--attention", "basic", "--attention-scale", "on"],
    "single": SMALL + ["--attention", "single"],
    "wide": SMALL + ["--attention", "wide"],
    "additive": SMALL + ["--scores", "additive"],
    "additive, scaled": SMALL + ["--scores", "additive", "--attention-scale", "on"],
    "dot": SMALL + ["--scores", "dot"],
    "odd widths": ["--layers", "1", "--heads", "3", "--d-model", "9", "--d-head", "5", "--d-hidden", "7"],
    "attention only": SMALL + ["--block", "attention"],
    "post-norm": SMALL + ["--block", "post-norm"],
    "post-norm, no bias": SMALL + ["--block", "post-norm", "--bias", "off"],
    "no bias": SMALL + ["--bias", "off"],
    "no residual": SMALL + ["--residual", "off"],
    "no output projection": SMALL + ["--output-projection", "off"],
    "further keys": SMALL + ["--bias-kv", "on", "--zero-attention", "on", "--average-weights", "on"],
    "masks of heads": SMALL + ["--head-mask", "0.1,1.0", "--forbid-head", "1:2,0;3,1"],
    "wider values": SMALL + ["--d-value", "6", "--kv-heads", "1", "--zero-attention", "on"],
    "fused": SMALL + ["--fused-attention", "on"],
    "fused, many tokens": ["--layers", "1", "--heads", "4", "--kv-heads", "2", "--d-model", "16", "--fused-attention",
                           "on", "--attention-scale", "off", "--temperature", "0.6", "--positions", "rotary",
                           "--sentence", "a cat or a dog " * 9],
    "fused, masked": SMALL + ["--fused-attention", "on", "--mask", "free", "--forbid", "0,0;3,1", "--mask-causal",
                              "on", "--zero-attention", "on", "--d-value", "3"],
    "relu": SMALL + ["--activation", "relu"],
    "gelu-tanh": SMALL + ["--activation", "gelu-tanh"],
    "learned": SMALL + ["--positions", "learned"],
    "no positions": SMALL + ["--positions", "none"],
    "no mask": SMALL + ["--mask", "none"],
    "padding": SMALL + ["--mask", "padding", "--pad", "0,5", "--mask-causal", "on"],
    "local": SMALL + ["--mask", "local", "--window", "1"],
    "strided": SMALL + ["--mask", "strided"],
    "free": SMALL + ["--mask", "free", "--forbid", "0,0;0,1;2,2", "--mask-causal", "on"],
    "reference": SMALL + ["--backend", "reference"],
    "parallel": SMALL + ["--block", "parallel", "--score-scale", "0.3", "--softcap", "1.5"],
    "slower turning": SMALL + ["--positions", "rotary", "--rotary-scaling", "llama3", "--rotary-factor", "8",
                               "--rotary-context", "30", "--local-layers", "1", "--local-window", "2"],
    "slower turning of all": SMALL + ["--positions", "rotary", "--rotary", "interleaved", "--rotary-scaling", "linear",
                                      "--rotary-factor", "2.5", "--fused-attention", "on", "--score-scale", "0.7"],
    "one token": SMALL + ["--sentence", "cat"],
    "characters": SMALL + ["--tokenizer", "characters"],
    "segments": SMALL + ["--segments", "on", "--sentence", "the cat sat [SEP] it slept"],
    "token head": SMALL + ["--form", "classes", "--token-head", "on"],
    "dates": ["--model", "dates", "--sentence", "march 5 2021"],
    "sentiment": ["--model", "sentiment", "--sentence", "mary does not think that the book is not good ."],
}


def run(*arguments):
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def check_model(headlight, name, options, library):
    """Runs every step's code; returns how many ran, and the largest difference."""
    model = options if "--sentence" in options else options + ["--sentence", SENTENCE]
    run(headlight, "trace", "--out", "run.npz", "--weights-out", "weights.npz", *model)
    steps = json.loads(run(headlight, "code", "--library", library, "--json", *model))
    trace = np.load("run.npz")
    worst = 0.0
    for step in steps:
        variables = {}
        try:
            exec(compile(step["code"], f"{name}, {library}", "exec"), variables)
        except Exception as error:
            sys.exit(f"{name}, {library}: {error!r} in\n{step['code']}")
        if not step["results"]:
            sys.exit(f"{name}, {library}: no result in\n{step['code']}")
        for variable, tensor in step["results"].items():
            got, expected = np.asarray(variables[variable]), trace[tensor]
            if got.shape != expected.shape:
                sys.exit(f"{name}, {library}: {tensor} is {expected.shape}, the code makes {got.shape}\n{step['code']}")
            if not np.allclose(got, expected, rtol=1e-4, atol=1e-4):
                sys.exit(f"{name}, {library}: {tensor} differs\n{step['code']}")
            finite = np.isfinite(expected)
            if finite.any():
                worst = max(worst, np.abs(got[finite] - expected[finite]).max())
    return len(steps), worst


def main():
    headlight = os.path.abspath(sys.argv[1])
    libraries = ["numpy"]
    try:
        import torch  # noqa: F401

        libraries.append("torch")
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):  # its name in torch 1.13
            private = torch.nn.functional._scaled_dot_product_attention
            torch.nn.functional.scaled_dot_product_attention = (
                lambda q, k, v, attn_mask=None: private(q, k, v, attn_mask)[0])
    except ImportError as error:
        print(f"skipped: the PyTorch code, because {sys.executable} has no torch ({error})")
    os.chdir(tempfile.mkdtemp())
    for library in libraries:
        results = [check_model(headlight, name, options, library) for name, options in MODELS.items()]
        steps, worst = sum(r[0] for r in results), max(r[1] for r in results)
        print(f"{library}: {steps} steps of {len(results)} models ran; largest difference {worst:.2g}")


main()
