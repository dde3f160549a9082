"""model.py of the PyTorch export against the reference runs of tests/reference, each with all of
its options: its logits are theirs, or it has a part that the export refuses by name.

usage: pytorch_reference.py [NAME...]

Tolerance: |a - b| <= 1e-4 + 1e-4 |b|; the largest difference seen is printed.
"""
import json
import pathlib
import sys

try:
    import torch
except ImportError:
    print("skipped: no python3 here has PyTorch (Debian: python3-torch)")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "assets" / "export"))
import model as exported  # noqa: E402

# What the export refuses: kLacks of core/train/pytorch/pytorch_lacks.cpp.
REFUSED = {"memory", "numbers", "components", "kernel", "dilation", "masked_heads"}
REFUSED_MIXERS = {"recurrent", "gru", "convolution"}
SIZES = ("tokens", "batch", "padded", "first", "window", "stride", "causal", "padding", "forbidden",
         "added", "by_head")


def value_of(text, like):
    if isinstance(like, bool) or like is None:
        return text == "on"
    if isinstance(like, list):
        return [int(part) for part in text.split(",") if part]
    return type(like)(text)


def config_of(words):
    """Config of a file's words, or what of them the export refuses."""
    fields = {f.name: f for f in exported.dataclasses.fields(exported.Config)}
    usual = exported.Config(vocab=1, context=1)
    made, refused = {}, []
    for key, text in words.items():
        if key in SIZES or key == "mask":
            continue
        if key not in fields:
            assert key in REFUSED, f"neither in model.py nor refused: {key}"
            refused.append(key)
            continue
        if text != "" or key == "local_layers":
            made[key] = value_of(text, getattr(usual, key))
    if words.get("mixer") in REFUSED_MIXERS:
        refused.append("mixer " + words["mixer"])
    refused += [key for key in ("added", "by_head") if words.get(key)]
    if words.get("mask", "causal") in ("padding", "free"):
        refused.append("mask " + words.get("mask", "causal"))
    if refused:
        return None, refused
    mask = {"kind": words.get("mask", "causal"), "window": int(words.get("window", 2)),
            "stride": int(words.get("stride", 3))}
    if words.get("causal", "auto") != "auto":
        mask["causal"] = words["causal"] == "on"
    source = int(words.get("source", 0))
    classes = int(words.get("classes", 0))
    return exported.Config(**{**made, "context": int(words["tokens"]), "source": source,
                              "classes": classes, "mask": mask, "separator": 3}), []


def lengths_of(tensors, name, extra):
    """Of rows that end in padding, by what their masks allow."""
    if name not in tensors:
        return None
    mask = tensors[name]
    return (mask[:, -1] == 0).sum(-1) - extra


def check(path):
    header = path.read_bytes()
    words = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])["__metadata__"]
    tensors = exported.read_safetensors(path)
    config, refused = config_of(words)
    if refused:
        return None, refused
    weights = {name[6:]: tensor for name, tensor in tensors.items() if name.startswith("param:")}
    tensors = {name: tensor if int(words["batch"]) > 1 else tensor[None]
               for name, tensor in tensors.items() if not name.startswith("param:")}
    model = exported.Model(config)
    exported.load_weights(model, weights)
    ids = tensors["token_ids"].long()
    lengths = None
    if config.form == "classes":
        if "present" in tensors:
            lengths = tensors["present"].sum(1).long()
        elif config.mask["kind"] == "none":
            lengths = lengths_of(tensors, "mask", config.extra_keys)
        elif "picked" in tensors and config.pool == "last":
            lengths = tensors["picked"].argmax(1) + 1
    source = tensors["source_ids"].long() if "source_ids" in tensors else None
    with torch.no_grad():
        made = model(ids, lengths, source, lengths_of(tensors, "source_mask", config.extra_keys))
    worst = 0.0
    for name in ("logits", "token_logits"):
        if name not in tensors:
            continue
        apart = (made[name] - tensors[name]).abs()
        allowed = 1e-4 + 1e-4 * tensors[name].abs()
        assert (apart <= allowed).all(), (path.stem, name, apart.max().item())
        worst = max(worst, apart.max().item())
    return worst, []


def main():
    torch.set_num_threads(1)
    paths = sorted((HERE.parent / "reference").glob("*.safetensors"))
    worst, agree, refusals = 0.0, 0, {}
    for path in paths:
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        found, refused = check(path)
        if refused:
            refusals[path.stem] = refused
            continue
        agree, worst = agree + 1, max(worst, found)
    print(f"{agree} models agree, largest difference {worst:.1e}; {len(refusals)} refused: "
          + ", ".join(sorted({name for names in refusals.values() for name in names})))
    assert agree > 100 or sys.argv[1:]


if __name__ == "__main__":
    main()
