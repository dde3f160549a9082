"""Folders that `headlight convert` writes, run by the independent PyTorch implementations of
tests/reference/folders: their logits must be those of `headlight trace`.

usage: run_convert.py HEADLIGHT

Tolerance: |a - b| <= 1e-5 + 1e-4 |b|: they compute in float64, the program in float32. The largest
difference seen is printed.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

try:
    import torch
except ImportError:
    print("skipped: no python3 here has PyTorch (Debian: python3-torch)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "reference" / "folders"))
import bert  # noqa: E402
import gpt2  # noqa: E402
import llama  # noqa: E402


def changed(options, **changes):
    """The options with other values: tied_head="off" is --tied-head off."""
    return options | {"--" + name.replace("_", "-"): value for name, value in changes.items()}


# Learned fast, so that biases and norms are far from what they began with.
SMALL = {"--layers": "2", "--heads": "4", "--d-model": "16", "--d-hidden": "24", "--steps": "60", "--lr": "0.02",
         "--threads": "1"}
TEXT_OF = SMALL | {"--text": "text.txt", "--cut": "bpe", "--vocabulary": "300", "--context": "32"}
GPT2 = changed(TEXT_OF, positions="learned", activation="gelu-tanh", tied_head="on")
LLAMA = changed(TEXT_OF, norm="rms", positions="rotary", activation="swiglu", bias="off", kv_heads="2")
BERT = {"--block": "post-norm", "--positions": "learned", "--embed-norm": "on", "--segments": "on"}
MASKED = changed(TEXT_OF | BERT, mask_tokens="15%", tied_head="on", head_transform="on", head_bias="on",
                 norm_epsilon="1e-12")
JUDGE = changed(SMALL | BERT, labels="labels.tsv", cut="characters", pool="cls", pooler="tanh")
TEXT = "one day a little bird sat on a tree . it saw the sun and was happy .\n" * 40
LABELS = "".join(f"{a} {b}\t{'good' if a == 'nice' else 'bad'}\n" for a in ("nice", "poor") for b in "abcdefgh") * 4

# Name: what is trained, what it is written as, and what computes it.
RUN_GPT2 = gpt2.runner("transformer.", True)
CASES = {
    "gpt2": (GPT2, "gpt2", RUN_GPT2),
    "gpt2, no biases": (changed(GPT2, bias="off"), "gpt2", RUN_GPT2),
    "gpt2, own head": (changed(GPT2, tied_head="off", head_bias="off"), "gpt2", RUN_GPT2),
    "stories": (None, "gpt2", RUN_GPT2),
    "llama": (LLAMA, "llama", llama.run),
    "llama, wider heads": (changed(LLAMA, d_head="6", tied_head="on", rotary_base="500"), "llama", llama.run),
    "mistral": (changed(LLAMA, local_layers="0,1", local_window="3"), "mistral", llama.run),
    "qwen2": (changed(LLAMA, qkv_bias="on"), "qwen2", llama.run),
    "bert, hidden tokens": (MASKED, "bert", bert.run_masked),
    "bert, classifier": (JUDGE, "bert", bert.run_classifier),
}


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}\n{done.stderr}")
    return done.stdout


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, start = json.loads(data[8:8 + length]), 8 + length
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(data[start + begin:start + end], {"F32": "<f4", "F16": "<f2"}[entry["dtype"]])
        tensors[name] = torch.tensor(numbers.astype(np.float64)).reshape(entry["shape"])
    return tensors


def ids_of(headlight, model, text):
    return json.loads(run(headlight, "tokenize", "--model", model, "--text", text, "--json"))["ids"]


def check(headlight, name, options, kind, compute):
    model = "bundled:stories"
    if options is not None:
        model = name.replace(" ", "-").replace(",", "")
        run(headlight, "train", "--out", model, *(word for option in options.items() for word in option))
    out = pathlib.Path(model.replace("bundled:", "") + "-out")
    run(headlight, "convert", model, "--out", str(out))  # the type is found
    config = json.loads((out / "config.json").read_text())
    if config["model_type"] != kind:
        sys.exit(f"{name}: written as {config['model_type']}, not as {kind}")
    ids = ids_of(headlight, str(out), "a tree . it saw the sun and was" if name != "bert, classifier" else "nice a")
    run(headlight, "trace", "--model", model, "--ids", ",".join(map(str, ids)), "--out", "run.npz")
    ours = np.load("run.npz")["logits"]
    inputs = (ids, [0] * len(ids)) if kind == "bert" else (ids,)
    theirs = compute(config, read_safetensors(out / "model.safetensors"), *inputs)["logits"].numpy()
    theirs = theirs.reshape(ours.shape)
    difference = np.abs(ours - theirs)
    if not (difference <= 1e-5 + 1e-4 * np.abs(theirs)).all():
        sys.exit(f"{name}: the logits are off by up to {difference.max():.3g}")
    print(f"{name}: {len(ids)} ids, {ours.size} logits of up to {np.abs(theirs).max():.3g}, "
          f"off by at most {difference.max():.2g}")


def main():
    headlight = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("text.txt").write_text(TEXT)
        pathlib.Path("labels.tsv").write_text(LABELS)
        for name, (options, kind, compute) in CASES.items():
            check(headlight, name, options, kind, compute)
        os.chdir("/")
    print(f"{len(CASES)} folders agree")


if __name__ == "__main__":
    main()
