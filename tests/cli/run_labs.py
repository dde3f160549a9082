"""What the labs say, computed a second time with NumPy from the tensors that they export.

usage: run_labs.py HEADLIGHT

Tolerance: |a - b| <= 1e-4 + 1e-4 |b|; the largest difference seen is printed.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

SENTENCE = "the little dog was sad because it lost the ball"
worst = 0.0


def read_tensors(path):
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        cells = np.frombuffer(data[8 + length + begin:8 + length + end], dtype="<f4")
        tensors[name] = cells.reshape(entry["shape"]).astype(np.float64)
    return tensors


def run(lab, settings, options, folder):
    found, inputs = os.path.join(folder, "lab.json"), os.path.join(folder, "lab.safetensors")
    sentence = [] if "--sentence" in options else ["--sentence", SENTENCE]
    command = [sys.argv[1], "lab", lab, *sentence, *options, "--json", found, "--tensors", inputs,
               "--code", os.path.join(folder, "lab.py")]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    subprocess.run(command, check=True)
    result = json.load(open(found))
    assert result["id"] == lab
    for name, value in settings.items():
        assert result["controls"][name] == str(value), (name, result["controls"])
    return result, read_tensors(inputs)


def same(what, got, expected):
    global worst
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    assert got.shape == expected.shape, (what, got.shape, expected.shape)
    difference = np.abs(got - expected)
    worst = max(worst, difference.max(initial=0))
    assert (difference <= 1e-4 + 1e-4 * np.abs(expected)).all(), (what, got, expected)


def check_by_code(result, folder):
    """The program that the lab shows computes every number, every curve and every right answer."""
    path = os.path.join(folder, "lab.py")
    program = {"__name__": "lab"}
    before, sys.argv = sys.argv, [path, os.path.join(folder, "lab.safetensors")]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(open(path).read(), path, "exec"), program)
    finally:
        sys.argv = before
    assert set(program["values"]) == set(result["values"]), (result["id"], set(program["values"]) ^ set(result["values"]))
    assert set(program["series"]) == set(result["series"]), (result["id"], set(program["series"]) ^ set(result["series"]))
    for name, value in result["values"].items():
        same(f"{result['id']} {name}", value, program["values"][name])
    for name, line in result["series"].items():
        same(f"{result['id']} {name}", line["y"], program["series"][name])
        assert all(low <= high for low, high in zip(line.get("low", []), line.get("high", [])))
    # The places of points along x, and the first tokens of a tree, where the program computes them.
    for name, x in program.get("across", {}).items():
        same(f"{result['id']} {name}, x", result["series"][name]["x"], x)
    if "branches" in program:
        first = [branch["probability"] for branch in result["tree"] if branch["parent"] < 0]
        same("tree", first, program["branches"][:len(first)])
    asked = {question["id"]: question["right"] for question in result["questions"]}
    assert asked == program["right"], (result["id"], asked, program["right"])


STORIES, SMALL = ["--model", "stories"], ["--layers", "1", "--heads", "2", "--d-model", "16"]
CASES = [
    ("dot-product", None, {}, SMALL),
    ("dot-product", None, {"edit": "ben", "romance": 1, "action": -0.25}, STORIES),
    ("dot-product", None, {"edit": "farce", "comedy": -1}, STORIES),
    ("scale", None, {}, SMALL),
    ("scale", None, {"mask": "none", "d_k": 1024, "draw": 7}, SMALL),
    ("scale", None, {"d_k": 4, "draw": 1000000}, STORIES),
    ("scale", None, {"vectors": "model", "layer": 1, "head": 2}, STORIES),
    ("without-parameters", None, {}, SMALL),
    ("without-parameters", None, {"scale": "on", "temperature": 0.5}, STORIES),
    ("without-parameters", None, {"vectors": "random", "d": 2, "draw": 3}, SMALL),
    ("dictionary", None, {}, STORIES),
    ("dictionary", None, {"temperature": 0.25, "layer": 2, "head": 3, "key": 2, "feature": 7, "number": -3.5}, STORIES),
    ("dictionary", None, {"temperature": "infinity", "key": 3}, [*SMALL, "--scores", "additive"]),
    ("dictionary", None, {"temperature": 0, "key": 10, "number": 10}, SMALL),
    ("building-up", None, {}, SMALL),
    ("building-up", None, {"rung": "scale"}, ["--d-model", "24", "--seed", "3"]),
    ("experts", None, {}, SMALL),
    ("experts", None, {"experts": 4, "loss": "blend", "draw": 5}, STORIES),
    ("experts", None, {"experts": 1}, SMALL),
    ("pooling", None, {}, SMALL),
    ("pooling", None, {"sentences": "negated", "layers": 1}, STORIES),
    ("pooling", None, {"sentences": "negated", "example": 7}, SMALL),
    ("depth", None, {}, SMALL),
    ("depth", None, {"build": "no-residual", "layers": 32}, SMALL),
    ("depth", None, {"build": "post-norm", "layers": 1}, SMALL),
    ("shuffle", None, {}, SMALL),
    ("shuffle", None, {"positions": "transformer-xl", "draw": 2}, SMALL),
    ("shuffle", None, {"what": "swap", "positions": "rotary", "mask": "causal", "draw": 5}, SMALL),
    ("sampling", None, {}, STORIES),
    ("sampling", None, {"temperature": 0.7, "top_k": 5, "top_p": 0.8}, STORIES),
    ("sampling", None, {"temperature": 0}, SMALL),
    ("gradients", None, {}, SMALL),
    ("gradients", None, {"weight": 3}, STORIES),
    ("masks", None, {}, SMALL),
    ("masks", None, {"mask": "causal", "padding": 16}, STORIES),
    ("masks", None, {"padding": 0}, SMALL),
    ("positions", None, {}, SMALL),
    ("positions", None, {"position": 63, "shift": 44, "back": 3}, STORIES),
    ("positions", None, {"shift": 0}, SMALL),
    ("reach", None, {}, SMALL),
    ("reach", None, {"layers": 8}, ["--sentence", "a b c d e f g h i j k l m n o p q r s"]),
    ("reach", None, {"layers": 1}, ["--sentence", "two words"]),
    ("segments", None, {}, SMALL),
    ("segments", None, {"memory": 16}, STORIES),
    ("segments", None, {"memory": 0}, SMALL),
    ("pieces", None, {}, SMALL),
    ("pieces", None, {"merges": 200, "learned": "both"}, STORIES),
    ("pieces", None, {"merges": 0, "learned": "chinese"}, ["--sentence", "aaaaaaa 中文的句子没有空格。👨‍👩‍👧 ### 12 don't"]),
    ("cost", None, {"tokens": 128}, SMALL),
    ("cost", None, {"tokens": 64, "storage": "float16", "accumulate": 8, "checkpointing": "on"}, STORIES),
    ("induction", None, {}, SMALL),
    ("induction", None, {"step": 210, "off": "previous"}, STORIES),
    ("induction", None, {"step": 0, "off": "induction"}, SMALL),
    ("heads", None, {}, SMALL),
    ("heads", None, {"heads": 8, "asked": "who"}, STORIES),
    ("heads", None, {"heads": 1, "asked": "what"}, ["--layers", "1", "--heads", "1"]),
    ("forms", None, {}, SMALL),
    ("forms", None, {"gap": 22, "step": 400}, STORIES),
    ("forms", None, {"gap": 1, "step": 0}, SMALL),
]
with tempfile.TemporaryDirectory() as scratch:
    for lab, check, settings, options in CASES:
        print(lab, settings, options, flush=True)  # which one it is, where one fails
        result, tensors = run(lab, settings, options, scratch)
        if check:  # not yet written as the lab's own code
            check(result, tensors, settings)
        else:
            check_by_code(result, scratch)
    listed = subprocess.run([sys.argv[1], "lab", "--list"], capture_output=True, text=True, check=True).stdout
    labs = {line.split()[0] for line in listed.splitlines() if not line.startswith(" ")}
    assert labs == {case[0] for case in CASES}, f"labs without a check: {labs}"
print(f"{len(CASES)} cases, largest difference {worst:.1e}")
