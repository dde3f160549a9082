#!/usr/bin/env python3
"""Makes small tokenizers of each kind that model folders have, and what they make of many texts.

  python3 tests/reference/tokenizers/make_tokenizers.py [folder]     (default: the folder of this script)

For each case a folder: tokenizer.json in the format of Hugging Face's tokenizers, or the older files
vocab.json and merges.txt or vocab.txt, and expected.json: texts and pairs of texts with their ids,
the pairs' segments, and the text that the ids decode to where it is another one. Everything is
computed by the definitions, on purpose with none of the tricks that make a tokenizer fast. Needs
nothing but Python.
"""

import json
import pathlib
import re
import sys
import unicodedata

from characters import (MARK, OF_BYTE, as_bytes, bert_normalized, bert_words, gpt2_words, is_white,
                        llama3_words, words_at_marks)
from models import (Bpe, Unigram, WordPiece, every_merge, joined, learned_merges, marked_words,
                    scored_pieces)
from texts import LAID_OUT, PAIRS, TRAINING, all_texts
from tokenizer import (Tokenizer, decode_bytes, decode_fallback, decode_marked,
                       decode_word_pieces)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- tokenizer.json

def added_token(id, **others):
    return {"id": id, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **others}


def document(tokenizer, model, **parts):
    tokens = [{"id": token["id"], "content": name, **token} for name, token in tokenizer.added.items()]
    order = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": sorted(tokens, key=lambda token: token["id"]),
            **{part: parts.get(part) for part in order}, "model": model}


def bpe_json(tokenizer, merges, **others):
    return {"type": "BPE", "dropout": None, "unk_token": tokenizer.model.unknown,
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
            "byte_fallback": tokenizer.model.byte_fallback, **others,
            "vocab": tokenizer.model.vocab, "merges": merges}


def byte_level(prefix=False, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def template(tokenizer):
    def items(row):
        return [{"Sequence" if name in "AB" else "SpecialToken": {"id": name, "type_id": segment}}
                for name, segment in row]
    special = {name: {"id": name, "ids": [tokenizer.vocab[name]], "tokens": [name]}
               for name, _ in tokenizer.pair if name not in "AB"}
    return {"type": "TemplateProcessing", "single": items(tokenizer.row),
            "pair": items(tokenizer.pair), "special_tokens": special}


def in_turn(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def replace(old, new, kind="String"):
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def metaspace(scheme, split=True):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split}


PLAIN_ROW, PLAIN_PAIR = [("A", 0)], [("A", 0), ("B", 1)]


def bracketed(first, last, *between, second=1):
    """The row and the pair of texts that a token begins and one ends."""
    row = [(first, 0), ("A", 0), (last, 0)]
    return row, row + [(name, 0) for name in between] + [("B", second), (last, second)]


# ---- Byte-level ones

def byte_vocab(count, before=(), behind=(), split=gpt2_words):
    words = [as_bytes(word) for word in split(TRAINING + LAID_OUT)]
    merges = learned_merges(words, count)
    pieces = [*before, *OF_BYTE.values(), *(joined(pair) for pair in merges), *behind]
    return {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}, merges


def byte_words(split, prefix=False):
    def words(text, _):
        text = " " + text if prefix and text[0] != " " else text
        return [as_bytes(word) for word in split(text)]
    return words


def gpt2():
    vocab, merges = byte_vocab(280, behind=["<|endoftext|>"])
    made = Tokenizer(Bpe(vocab, merges), {"<|endoftext|>": added_token(vocab["<|endoftext|>"])},
                     PLAIN_ROW, PLAIN_PAIR, decode_bytes, words=byte_words(gpt2_words))
    return made, vocab, [" ".join(pair) for pair in merges]


def gpt2_whole():
    made, _, merges = gpt2()
    return made, {"tokenizer.json": document(
        made, bpe_json(made, merges), pre_tokenizer=byte_level(), post_processor=byte_level(True),
        decoder=byte_level(True))}


def gpt2_older():
    made, vocab, merges = gpt2()
    return made, {"vocab.json": vocab, "merges.txt": "\n".join(["#version: 0.2", *merges, ""])}


def roberta():
    """A blank before the first word; the mask takes the blanks before it."""
    vocab, merges = byte_vocab(200, ["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"])
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    added = {name: added_token(vocab[name], lstrip=name == "<mask>") for name in names}
    row, pair = bracketed("<s>", "</s>", "</s>", second=0)
    made = Tokenizer(Bpe(vocab, merges), added, row, pair, decode_bytes,
                     words=byte_words(gpt2_words, True))
    post = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True,
            "add_prefix_space": True}
    model = bpe_json(made, [" ".join(pair) for pair in merges])
    return made, {"tokenizer.json": document(made, model, pre_tokenizer=byte_level(True),
                                             post_processor=post, decoder=byte_level(True))}


def llama3_like(digits, count, names, row, pair, normalizer=None, words_first=()):
    """`words_first`: pieces that no merge makes, for whole words alone."""
    split = llama3_words(digits)
    vocab, merges = byte_vocab(count, behind=[*map(as_bytes, words_first), *names], split=split)
    added = {name: added_token(vocab[name]) for name in names}
    normalize = normalizer and (lambda text: unicodedata.normalize(normalizer, text))
    made = Tokenizer(Bpe(vocab, merges, whole_first=bool(words_first)), added, row, pair,
                     decode_bytes, normalize, byte_words(split))
    cut = {"type": "Split", "pattern": {"Regex": LLAMA3 % ("{1,3}" if digits == 3 else "")},
           "behavior": "Isolated", "invert": False}
    whole = {"ignore_merges": True} if words_first else {}
    post = byte_level(regex=False)
    if row != PLAIN_ROW:
        post = {"type": "Sequence", "processors": [post, template(made)]}
    return made, {"tokenizer.json": document(
        made, bpe_json(made, [list(pair) for pair in merges], **whole),
        normalizer=normalizer and {"type": normalizer},
        pre_tokenizer=in_turn("pretokenizers", cut, byte_level(regex=False)),
        post_processor=post, decoder=byte_level())}


def llama3():
    begin = "<|begin_of_text|>"
    return llama3_like(3, 220, [begin, "<|end_of_text|>"], [(begin, 0), ("A", 0)],
                       [(begin, 0), ("A", 0), (begin, 1), ("B", 1)],
                       words_first=[" worried", "unbelievably", " ferry's", "123", "\u6c34\u5c71"])


def qwen2():
    return llama3_like(1, 220, ["<|endoftext|>", "<|im_start|>"], PLAIN_ROW, PLAIN_PAIR, "NFC")


# ---- BERT's

BERT_NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def bert(normalize, count):
    words = bert_words(normalize(TRAINING))
    merges = learned_merges(words, count, "##")
    letters = sorted({c for word in words for c in word} | set("0123456789qxzQXZ.,!?'\"-_()[]#$&;:"))
    goes_on = ["##" + c for c in letters if c.isalnum()]
    pieces = [*BERT_NAMES, *letters, *goes_on, *(joined(pair, "##") for pair in merges)]
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    row, pair = bracketed("[CLS]", "[SEP]")
    added = {name: added_token(vocab[name]) for name in BERT_NAMES}
    return Tokenizer(WordPiece(vocab), added, row, pair, decode_word_pieces, normalize,
                     lambda text, _: bert_words(text))


def bert_whole():
    made = bert(bert_normalized(lower=True, strip=True), 300)
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": made.model.vocab}
    return made, {"tokenizer.json": document(
        made, model,
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                    "strip_accents": None, "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=template(made),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})}


def bert_older():
    """Upper case stays, and so do accents."""
    made = bert(bert_normalized(lower=False, strip=False), 250)
    return made, {"vocab.txt": "\n".join([*made.model.vocab, ""]),
                  "tokenizer_config.json": {"do_lower_case": False}}


# ---- SentencePiece's

def marked(text, wanted):
    text = text.replace(" ", MARK)
    return MARK + text if wanted and text[0] != MARK else text


def unigram_json(scored, unknown, byte_fallback):
    return {"type": "Unigram", "unk_id": unknown, "vocab": [list(item) for item in scored],
            "byte_fallback": byte_fallback}


def t5():
    """Compatible characters are one, and so are blanks in a row; the sentence's end is marked."""
    names = ["<pad>", "</s>", "<unk>"]
    scored = [(name, 0.0) for name in names] + scored_pieces(marked_words(TRAINING), 350, 0)
    added = {name: added_token(id) for id, name in enumerate(names)}
    end = len(scored)
    added["<extra_id_1>"], added["<extra_id_0>"] = added_token(end), added_token(end + 1, rstrip=True)
    made = Tokenizer(
        Unigram(scored, "<unk>"), added, [("A", 0), ("</s>", 0)],
        [("A", 0), ("</s>", 0), ("B", 0), ("</s>", 0)], decode_marked,
        lambda text: re.sub(" {2,}", " ", unicodedata.normalize("NFKC", text)),
        lambda text, _: words_at_marks(marked(text, True)))
    return made, {"tokenizer.json": document(
        made, unigram_json(scored, 2, False),
        normalizer=in_turn("normalizers", {"type": "NFKC"}, replace(" {2,}", " ", "Regex")),
        pre_tokenizer=metaspace("always"), post_processor=template(made),
        decoder=metaspace("always"))}


def albert_normalized(text):
    text = unicodedata.normalize("NFKD", text.replace("``", '"').replace("''", '"'))
    text = "".join(c for c in text if unicodedata.category(c)[0] != "M")
    return "".join(c.lower() for c in text)


def albert_words(text, _):
    words = "".join(" " if is_white(c) else c for c in text).split(" ")
    return [part for word in words if word for part in words_at_marks(marked(word, True))]


def albert():
    """Lower case, cut at white space, bytes for what is not known, and a word that was added: it is
    looked for in lower case."""
    names = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    scored = [(name, 0.0) for name in names]
    scored += scored_pieces(marked_words(albert_normalized(TRAINING)), 200, 5)
    scored += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    added = {name: added_token(id, lstrip=name == "[MASK]") for id, name in enumerate(names)}
    added["ferryman"] = added_token(len(scored), special=False, single_word=True,
                                    normalized=True)
    row, pair = bracketed("[CLS]", "[SEP]")
    made = Tokenizer(Unigram(scored, "<unk>", True), added, row, pair, decode_fallback,
                     albert_normalized, albert_words)
    steps = ({"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"})
    return made, {"tokenizer.json": document(
        made, unigram_json(scored, 1, True),
        normalizer=in_turn("normalizers", replace("``", '"'), replace("''", '"'), *steps),
        pre_tokenizer=in_turn("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")),
        post_processor=template(made), decoder=fallback_decoder())}


def fallback_decoder():
    return in_turn("decoders", replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                   {"type": "Strip", "content": " ", "start": 1, "stop": 0})


def marked_bpe(names, count, byte_fallback, others):
    """A vocabulary as SentencePiece writes it: bytes, what was joined, characters."""
    words = marked_words(TRAINING)
    learned = [joined(pair) for pair in learned_merges(words, count)]
    pieces = list(dict.fromkeys([*learned, *others, *sorted({c for word in words for c in word})]))
    bytes_first = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    vocab = {piece: id for id, piece in enumerate([*names, *bytes_first, *pieces])}
    merges = every_merge(pieces)
    return Bpe(vocab, merges, "<unk>", byte_fallback), merges


def llama():
    """A mark before the text, bytes for what is not known."""
    names = ["<unk>", "<s>", "</s>"]
    model, merges = marked_bpe(names, 240, True, [MARK * 2, MARK * 4, MARK * 3])
    made = Tokenizer(model, {name: added_token(id) for id, name in enumerate(names)},
                     [("<s>", 0), ("A", 0)], [("<s>", 0), ("A", 0), ("<s>", 1), ("B", 1)],
                     decode_fallback, lambda text: MARK + text.replace(" ", MARK))
    return made, {"tokenizer.json": document(
        made, bpe_json(made, [" ".join(pair) for pair in merges], fuse_unk=True),
        normalizer=in_turn("normalizers", {"type": "Prepend", "prepend": MARK}, replace(" ", MARK)),
        post_processor=template(made), decoder=fallback_decoder())}


def marked_first():
    """A mark at the beginning alone, pieces with one in their middle, and no bytes."""
    names = ["<unk>", "<s>", "</s>"]
    others = [MARK * 2, "," + MARK, "," + MARK + "and", "e" + MARK + "t", "t" + MARK]
    model, merges = marked_bpe(names, 250, False, others)
    added = {name: added_token(id) for id, name in enumerate(names)}
    made = Tokenizer(model, added, *bracketed("<s>", "</s>", second=0), decode_marked,
                     words=lambda text, first: [marked(text, first)])
    return made, {"tokenizer.json": document(
        made, bpe_json(made, [list(pair) for pair in merges], fuse_unk=True),
        pre_tokenizer=metaspace("first", False), post_processor=template(made),
        decoder=metaspace("first", False))}


CASES = {"gpt2": gpt2_whole, "gpt2-older": gpt2_older, "roberta": roberta, "llama3": llama3,
         "qwen2": qwen2, "bert": bert_whole, "bert-older": bert_older, "t5": t5, "albert": albert,
         "llama": llama, "marked-first": marked_first}


def expected(tokenizer, seed):
    """One text a line."""
    def line(texts, row):
        ids, segments = tokenizer.filled(row, dict(zip("AB", texts)))
        said = {"text": texts[0], "ids": ids}
        if len(texts) > 1:
            said = {"text": texts[0], "second": texts[1], "ids": ids, "segments": segments}
        decoded = tokenizer.decode(ids)
        if decoded != texts[0] or len(texts) > 1:
            said["decoded"] = decoded
        return json.dumps(said, separators=(",", ":"))
    lines = [line([text], tokenizer.row) for text in all_texts(seed, list(tokenizer.added))]
    lines += [line(pair, tokenizer.pair) for pair in PAIRS]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main():
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for seed, (name, make) in enumerate(CASES.items()):
        tokenizer, files = make()
        folder = where / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            if not isinstance(content, str):
                content = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
            (folder / file).write_text(content, encoding="utf-8", newline="\n")
        text = expected(tokenizer, seed)
        (folder / "expected.json").write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(tokenizer.vocab)} pieces, {text.count(chr(10)) - 2} texts")


if __name__ == "__main__":
    main()
