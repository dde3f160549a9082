#!/usr/bin/env python3
"""Makes a small model folder of each type that Headlight opens, and what it computes.

  python3 tests/reference/folders/make_folders.py [folder]     (default: the folder of this script)

For each case a folder: config.json and model.safetensors as others publish them, with random
weights, and expected.safetensors: the ids of a row, every tensor of its run under the names of
docs/names.md, and the ids that follow it when each next one is the likeliest. Needs torch and numpy.
"""

import json
import pathlib
import sys

import torch

import bart
import bert
import distilbert
import gpt2
import gpt_neo
import gpt_neox
import llama
import m2m_100
import marian
import roberta
from draw import Weights, bytes_of, kind_of, rounded, write_safetensors
from parts import greedy_continuation, greedy_translation

IDS = [5, 17, 9, 31, 5, 22, 38]
PAIR, SEGMENTS = [3, 17, 9, 4, 31, 22, 4], [0, 0, 0, 0, 1, 1, 1]
SOURCE, TARGET = [11, 24, 7, 30, 19, 2], [2, 36, 14, 8, 27]
LABELS = {"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
          "label2id": {"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}}


def continued(module_run):
    def compute(c, w):
        ids, extra = IDS, greedy_continuation(module_run, c, w, IDS, 8)
        return module_run(c, w, ids), {"token_ids": ids, "greedy": extra}
    return compute


def read_once(module_run, ids, segments=None):
    def compute(c, w):
        inputs = (ids,) if segments is None else (ids, segments)
        return module_run(c, w, *inputs), {"token_ids": ids}
    return compute


def translated(module_run, source, target):
    def compute(c, w):
        made = greedy_translation(module_run, c, w, source, 8)
        return module_run(c, w, source, target), {"token_ids": target, "source_ids": source,
                                                  "greedy": made}
    return compute


def gpt2_case(config, prefix, conv1d, **options):
    return (config, lambda draw, c: gpt2.make_weights(draw, c, prefix, conv1d, **options),
            continued(gpt2.runner(prefix, conv1d)))


def llama_case(config):
    return config, llama.make_weights, continued(llama.run)


def neox_case(config, buffers):
    return (config, lambda draw, c: gpt_neox.make_weights(draw, c, buffers),
            continued(gpt_neox.run))


LLAMA3 = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
          "original_max_position_embeddings": 128, "rope_type": "llama3"}
MARIAN_SOURCE, MARIAN_TARGET = SOURCE[:-1] + [0], [39, 36, 14, 8, 27]

# Name: configuration, what draws the weights, what computes.
CASES = {
    "gpt2": gpt2_case(gpt2.config(), "", True, buffers=("bias", "masked_bias")),
    "gpt2-prefixed": gpt2_case(gpt2.config(n_head=4, layer_norm_epsilon=1e-3), "transformer.",
                               True),
    "gpt2-own-head": gpt2_case(gpt2.config(tie_word_embeddings=False), "transformer.", True,
                               own_head=True),
    "gpt2-nanogpt": gpt2_case(gpt2.config(n_inner=None, activation_function="gelu"),
                              "_orig_mod.transformer.", False, bias=False, own_head="tied"),
    "gpt2-mingpt": gpt2_case(gpt2.config(tie_word_embeddings=False), "transformer.", False,
                             own_head=True, buffers=("bias",)),
    "gpt_neo": (gpt_neo.config(), gpt_neo.make_weights, continued(gpt_neo.run)),
    "gpt_neox": neox_case(gpt_neox.config(), True),
    "gpt_neox-sequential": neox_case(gpt_neox.config(use_parallel_residual=False, rotary_pct=0.5),
                                     False),
    "llama": llama_case(llama.config()),
    "llama-linear": llama_case(llama.config(rope_scaling={"factor": 2.5, "type": "linear"},
                                            rope_theta=5000.0)),
    "llama-llama3": llama_case(llama.config(head_dim=8, rope_scaling=LLAMA3)),
    "llama-bias": llama_case(llama.config(attention_bias=True, mlp_bias=True)),
    "mistral": llama_case(llama.mistral_config()),
    "qwen2": llama_case(llama.qwen2_config()),
    "bert": (bert.config(), bert.make_masked, read_once(bert.run_masked, PAIR, SEGMENTS)),
    "bert-bare": (bert.config(architectures=["BertModel"]), bert.make_bare,
                  read_once(bert.run_bare, PAIR, SEGMENTS)),
    "bert-classifier": (bert.config(architectures=["BertForSequenceClassification"], **LABELS),
                        bert.make_classifier, read_once(bert.run_classifier, PAIR, SEGMENTS)),
    "distilbert": (distilbert.config(), distilbert.make_masked,
                   read_once(distilbert.run_masked, IDS)),
    "distilbert-classifier": (
        distilbert.config(architectures=["DistilBertForSequenceClassification"], **LABELS),
        distilbert.make_classifier, read_once(distilbert.run_classifier, IDS)),
    "roberta": (roberta.config(), roberta.make_masked, read_once(roberta.run_masked, IDS)),
    "roberta-classifier": (
        roberta.config(architectures=["RobertaForSequenceClassification"], **LABELS),
        roberta.make_classifier, read_once(roberta.run_classifier, IDS)),
    "marian": (marian.config(), marian.make_weights,
               translated(marian.run, MARIAN_SOURCE, MARIAN_TARGET)),
    "marian-apart": (
        marian.config(share_encoder_decoder_embeddings=False, decoder_vocab_size=34,
                      decoder_start_token_id=33, pad_token_id=33, bad_words_ids=[[33]],
                      encoder_layers=2, decoder_layers=1),
        lambda draw, c: marian.make_weights(draw, c, positions=True),
        translated(marian.run, MARIAN_SOURCE, [33, 32, 14, 8, 27])),
    "bart": (bart.config(), bart.make_weights, translated(bart.run, SOURCE, TARGET)),
    "m2m_100": (m2m_100.config(), m2m_100.make_weights, translated(m2m_100.run, SOURCE, TARGET)),
}

# Written in two files, each with its own kind of numbers.
SHARDED = {"llama-bias": ("F16", "BF16")}


def write_weights(folder, tensors):
    """One file, or two and an index of them."""
    kinds = SHARDED.get(folder.name)
    if kinds is None:
        write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
        return
    places, total = {}, 0
    names = sorted(tensors)
    for number, kind in enumerate(kinds):
        file = f"model-{number + 1:05}-of-{len(kinds):05}.safetensors"
        own = names[number * len(names) // len(kinds):(number + 1) * len(names) // len(kinds)]
        half = {"F16": torch.float16, "BF16": torch.bfloat16}[kind]
        part = {name: tensors[name].to(half) for name in own}
        write_safetensors(folder / file, part, {"format": "pt"})
        places |= {name: file for name in own}
        total += sum(len(bytes_of(tensor, kind_of(tensor))) for tensor in part.values())
        for name in own:
            tensors[name] = rounded(tensors[name], kind)
    write_json(folder / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": places})


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")


def make(name, folder):
    config, draw_weights, compute = CASES[name]
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    draw = Weights(name)
    draw_weights(draw, config)
    write_json(folder / "config.json", config)
    write_weights(folder, draw.made)
    kept, ids = compute(config, draw.to_float64())
    tensors = {key: tensor.float() for key, tensor in kept.items()}
    tensors |= {key: torch.tensor(value).float() for key, value in ids.items()}
    write_safetensors(folder / "expected.safetensors", tensors)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{name}: {len(tensors)} tensors, {size} bytes; continues "
          f"{ids.get('greedy', 'nothing')}")
    return size


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    total = sum(make(name, folder) for name in CASES)
    print(f"{len(CASES)} cases, {total} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
