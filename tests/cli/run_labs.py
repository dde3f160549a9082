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
    command = [sys.argv[1], "lab", lab, "--sentence", SENTENCE, *options, "--json", found, "--tensors", inputs,
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
    asked = {question["id"]: question["right"] for question in result["questions"]}
    assert asked == program["right"], (result["id"], asked, program["right"])


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def bits(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(-1)


def check_without_parameters(result, t, settings):
    x = t["x"]
    scaled, temperature = settings.get("scale") == "on", float(settings.get("temperature", 1))
    products = x @ x.T
    factor = 1 / np.sqrt(x.shape[1]) if scaled else 1

    def itself(heat):
        return np.diag(softmax(products * factor / heat)).mean()

    p = softmax(products * factor / temperature)
    y = p @ x
    cosines = (x * y).sum(-1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    same("itself", result["values"]["itself"], itself(temperature))
    same("length", result["values"]["length"], np.linalg.norm(x, axis=1).mean())
    same("cosine", result["values"]["cosine_of_y_and_x"], cosines.mean())
    series = result["series"]["itself_by_temperature"]
    same("by temperature", series["y"], [itself(heat) for heat in series["x"]])
    others = p[-1].copy()
    others[-1] = -1
    right = 0 if p[-1, -1] > others.max() else 1 if p[-1, -1] < others.max() else 2
    assert result["questions"][0]["right"] == right


def check_dictionary(result, t, settings):
    scores, values = t["scores"][0], t["values"]
    hard, mean = values[scores.argmax()], values.mean(0)

    def found(heat):
        p = softmax(scores / heat)
        out = p @ values
        return p.max(), bits(p), np.linalg.norm(out - hard), np.linalg.norm(out - mean)

    names = ["largest", "entropy", "to_best", "to_mean"]
    for name, expected in zip(names, found(float(settings.get("temperature", 1)))):
        same(name, result["values"][name], expected)
    for at, heat in enumerate(result["series"]["largest"]["x"]):
        for name, expected in zip(names, found(heat)):
            same(f"{name} at {heat}", result["series"][name]["y"][at], expected)
    out = softmax(scores * 64) @ values
    distances = [np.linalg.norm(out - end) for end in (hard, mean, 0 * mean)]
    assert result["questions"][0]["right"] == int(np.argmin(distances))


def check_shuffle(result, t, settings):
    order = t["order"].astype(int)
    assert sorted(order) == list(range(len(order)))
    moved = (order != np.arange(len(order))).sum()
    assert moved == 2 or settings.get("what") != "swap"
    difference = np.abs(t["before"][order] - t["after"]).max()
    name = f"{settings.get('positions', 'none')}.{settings.get('mask', 'open')}"
    same(name, result["values"][f"difference.{name}"], difference)
    size = np.sqrt((t["before"] ** 2).mean())
    assert result["questions"][0]["right"] == int(difference > 1e-4 * size)


def check_sampling(result, t, settings):
    logits = t["logits"]

    def chances(heat, top_k=0, top_p=1.0):
        p = np.zeros_like(logits)
        if heat == 0:
            p[logits.argmax()] = 1
            return p
        p = softmax(logits / heat)
        order = np.argsort(-p, kind="stable")
        by_k = set(order[:top_k] if top_k else order)
        by_p = set(order[:np.searchsorted(np.cumsum(p[order]), top_p) + 1] if top_p < 1 else order)
        p = np.where([i in by_k & by_p for i in range(len(p))], p, 0)
        return p / p.sum()

    heat, k, p = float(settings.get("temperature", 1)), int(settings.get("top_k", 0)), float(settings.get("top_p", 1))
    kept = chances(heat, k, p)
    same("entropy", result["values"]["entropy"], bits(kept))
    same("largest", result["values"]["largest"], kept.max())
    same("kept", result["values"]["kept"], (kept > 0).sum())
    for name, of in (("largest", lambda h: chances(h).max()), ("entropy", lambda h: bits(chances(h))),
                     ("kept_by_top_p", lambda q: (chances(1, 0, q) > 0).sum())):
        series = result["series"][name]
        same(name, series["y"], [of(x) for x in series["x"]])
    first = [b["probability"] for b in result["tree"] if b["parent"] < 0]
    same("tree", first, np.sort(kept)[::-1][:len(first)])
    for at, branch in enumerate(result["tree"]):
        assert branch["parent"] < at
    cold, plain = chances(0.5).max(), chances(1).max()
    assert result["questions"][0]["right"] == (0 if cold > plain else 1 if cold < plain else 2)


def check_gradients(result, t, settings):
    h, up, down = t["losses"].T
    loss, gradient = t["loss"][0], result["values"]["gradient"]
    series = result["series"]
    assert np.allclose(series["forward"]["x"], h, rtol=1e-6)
    # Losses are exported as float32: what that rounds is divided by h.
    slack = 3e-7 * abs(loss) / h
    for name, expected in (("forward", (up - loss) / h), ("central", (up - down) / (2 * h))):
        assert (np.abs(np.array(series[name]["y"]) - expected) <= slack + 1e-6).all(), name
        same("error." + name, series["error." + name]["y"], np.abs(np.array(series[name]["y"]) - gradient))
    error = series["error.central"]["y"]
    assert min(error) <= 1e-3 * abs(gradient) + 1e-4, (min(error), gradient)
    assert result["questions"][0]["right"] == int(error[-1] > min(error))


def check_building_up(result, t, settings):
    x, values = t.pop("x"), result["values"]
    same("basic", t["basic"][0], softmax(x @ x.T))
    order = ["basic", "queries", "scale", "mask", "heads", "output", "residual", "feed-forward", "norm", "layers"]
    assert set(t) == set(order)
    for at, rung in enumerate(order):
        p = t[rung][0]
        same(rung + " rows", p.sum(-1), np.ones(len(p)))
        same("later." + rung, values["later." + rung], np.triu(p, 1).sum(-1).mean())
        same("largest." + rung, result["series"]["largest"]["y"][at], p.max(-1).mean())
    two = t["heads"]
    same("apart", values["heads_apart"], np.abs(two[0] - two[1]).sum(-1).mean() / 2)
    d = x.shape[1]
    counts = result["series"]["parameters"]["y"]
    assert counts[1] - counts[0] == 3 * (d * d + d), counts  # W_Q, W_K, W_V with biases
    assert counts[5] - counts[4] == d * d + d and counts[2] == counts[3] == counts[4], counts
    assert counts[7] - counts[6] == 8 * d * d + 5 * d, counts


def check_dot_product(result, t, settings):
    for film, features in enumerate(t["features"]):
        same("film", result["values"][f"film.{film}"], features @ t["wish"])
    people, films = t["people"], t["films"]
    for step, error in enumerate(result["series"]["error"]["y"]):
        miss = people @ films.T - t["ratings"]
        same(f"error at {step}", error, (miss ** 2).mean())
        if step < 200:
            people, films = people - 0.05 * miss @ films, films - 0.05 * miss.T @ people
    same("map", result["series"]["films_on_a_map"]["x"], films[:, 0])
    if "query" in t:
        same("terms", result["series"]["query_times_key"]["y"], t["query"] * t["key"])
        same("sum", result["values"]["query_times_key"], t["query"] @ t["key"])
    if result["questions"]:
        products = t["features"] @ t["wish"]
        assert result["questions"][0]["right"] == 1 and (-products).argmin() == products.argmax()


STORIES, SMALL = ["--model", "stories"], ["--layers", "1", "--heads", "2", "--d-model", "16"]
CASES = [
    ("dot-product", check_dot_product, {}, SMALL),
    ("dot-product", check_dot_product, {"romance": 1, "action": -0.25, "draw": 9}, STORIES),
    ("scale", None, {}, SMALL),
    ("scale", None, {"mask": "none", "d_k": 1024, "draw": 7}, SMALL),
    ("scale", None, {"d_k": 4, "draw": 1000000}, STORIES),
    ("without-parameters", check_without_parameters, {}, SMALL),
    ("without-parameters", check_without_parameters, {"scale": "on", "temperature": 0.5}, STORIES),
    ("without-parameters", check_without_parameters, {"vectors": "random", "d": 2, "draw": 3}, SMALL),
    ("dictionary", check_dictionary, {}, STORIES),
    ("dictionary", check_dictionary, {"temperature": 0.25, "layer": 2, "head": 3, "back": 2}, STORIES),
    ("dictionary", check_dictionary, {"edit": 3, "by": -2}, SMALL),
    ("building-up", check_building_up, {}, SMALL),
    ("pooling", None, {}, SMALL),
    ("pooling", None, {"sentences": "negated", "layers": 1}, STORIES),
    ("pooling", None, {"sentences": "negated", "example": 7}, SMALL),
    ("experts", None, {}, SMALL),
    ("experts", None, {"experts": 4, "loss": "blend", "draw": 5}, STORIES),
    ("experts", None, {"experts": 1}, SMALL),
    ("depth", None, {}, SMALL),
    ("depth", None, {"build": "no-residual", "layers": 32}, SMALL),
    ("depth", None, {"build": "post-norm", "layers": 1}, SMALL),
    ("cost", None, {"tokens": 128}, SMALL),
    ("cost", None, {"tokens": 64, "storage": "float16", "accumulate": 8, "checkpointing": "on"}, STORIES),
    ("shuffle", check_shuffle, {}, SMALL),
    ("shuffle", check_shuffle, {"what": "swap", "positions": "rotary", "mask": "causal", "draw": 5}, SMALL),
    ("sampling", check_sampling, {}, STORIES),
    ("sampling", check_sampling, {"temperature": 0.7, "top_k": 5, "top_p": 0.8}, STORIES),
    ("sampling", check_sampling, {"temperature": 0}, SMALL),
    ("gradients", check_gradients, {}, SMALL),
    ("gradients", check_gradients, {"weight": 3}, STORIES),
]
with tempfile.TemporaryDirectory() as scratch:
    for lab, check, settings, options in CASES:
        result, tensors = run(lab, settings, options, scratch)
        if check:  # not yet written as the lab's own code
            check(result, tensors, settings)
        else:
            check_by_code(result, scratch)
    listed = subprocess.run([sys.argv[1], "lab", "--list"], capture_output=True, text=True, check=True).stdout
    labs = {line.split()[0] for line in listed.splitlines() if not line.startswith(" ")}
    assert labs == {case[0] for case in CASES}, f"labs without a check: {labs}"
print(f"{len(CASES)} cases, largest difference {worst:.1e}")
