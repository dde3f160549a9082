#!/usr/bin/env python3
"""Trains small SentencePiece models and writes what that library makes of many texts.

  python3 tests/reference/tokenizers/make_sentencepiece.py [folder]  (default: the folder of this script)

For each case a folder: the files as Marian's, M2M-100's and Llama's are saved, and expected.json as
make_tokenizers.py writes it. The pieces are the library's own; what the models' tokenizers do around
it (ids by vocab.json, special tokens written out in a text, what stands around it) is done here by
the definitions. Needs Debian's python3-sentencepiece.
"""

import io
import json
import os
import pathlib
import re
import sys

import sentencepiece

from texts import LAID_OUT, PAIRS, TRAINING, all_texts

# A table of replacements as NFKC's, but small: line ends and wide blanks are blanks, what has two
# forms has one, something goes away, and of two that fit the longer one counts.
RULES = """
9 20
A 20
A0 20
3000 20
2003 20
200B
FB01 66 69
FF21 41
2026 2E 2E 2E
BD 31 2044 32
65 301 E9
45 301 C9
304B 3099 304C
1112 1161 11AB D55C
3C 3D 2264
3C 3D 3E 21D4
"""
COMPOSED = {"65 301": 2, "45 301": 2, "304B 3099": 2, "1112 1161 11AB": 3, "3C 3D": 2, "3C 3D 3E": 3}
FRENCH = (
    "Le bac quitte le port avant que la lumi\u00e8re ne soit sur l'eau. La vieille dame lit une lettre "
    "de son fr\u00e8re, et la lettre n'est pas longue. Il \u00e9crit que les pommiers sont en fleur, "
    "que le toit fuit encore, et qu'il le r\u00e9parera quand le temps sera meilleur. Il pleut depuis "
    "la premi\u00e8re semaine de mars, et le chien n'aboie pas. ")


def rule_table(path):
    lines = []
    for line in RULES.split("\n"):
        words = line.split()
        if not words:
            continue
        count = next((size for source, size in COMPOSED.items()
                      if words[:size] == source.split() and len(words) == size + 1), 1)
        lines.append(" ".join(words[:count]) + "\t" + " ".join(words[count:]))
    path.write_text("\n".join(lines) + "\n")


def trained(text, **options):
    table = pathlib.Path("rules.tsv")  # the model tells this path
    rule_table(table)
    sentences = [line for line in re.split(r"(?<=[.!?;]) |\n", text) if line.strip()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, minloglevel=2, num_threads=1,
        hard_vocab_limit=False, normalization_rule_tsv=str(table), **options)
    table.unlink()
    return model.getvalue()


class Marked:
    """Special tokens that are written out in a text, and SentencePiece between them. `codes`: a part
    between them may begin with a language's code, >>...<<, which is one token."""

    def __init__(self, model, special, ids=None, codes=False):
        self.pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.special = special
        self.ids = ids
        self.codes = codes
        names = sorted(special, key=len, reverse=True)
        self.pattern = re.compile("(" + "|".join(map(re.escape, names)) + ")")

    def encode(self, text):
        row = []
        for part in self.pattern.split(text):
            end = part.find("<<", 2) + 2 if self.codes and part.startswith(">>") else 1
            if end > 1:
                row.append(self.ids.get(part[:end], self.ids["<unk>"]))
                part = part[end:]
            if part in self.special:
                row.append(self.special[part])
            elif self.ids is None:
                row += self.pieces.encode(part)
            else:
                unknown = self.ids["<unk>"]
                row += [self.ids.get(piece, unknown) for piece in self.pieces.encode(part, out_type=str)]
        return row


def written(ids, names, adds_blank):
    """The text of ids, as the decoders in tokenizer.json files have it."""
    parts, held = [], []
    for name in [*(names[id] for id in ids), None]:
        byte = re.fullmatch("<0x([0-9A-F]{2})>", name) if name is not None else None
        if byte:
            held.append(int(byte[1], 16))
            continue
        if held:
            raw = bytes(held)
            try:
                parts.append(raw.decode("utf-8"))
            except UnicodeDecodeError:
                parts.append("\ufffd" * len(raw))
            held = []
        if name is not None:
            parts.append(name.replace("\u2581", " "))
    text = "".join(parts)
    return text[1:] if adds_blank and text.startswith(" ") else text


def expected(encode, seed, special, decode, each=False):
    """`each`: both texts of a pair have what stands around them, and the second is another segment."""
    lines = []
    for texts in [[text] for text in all_texts(seed, special)] + [list(pair) for pair in PAIRS]:
        ids = encode(texts)
        said = {"text": texts[0], "ids": ids}
        if len(texts) > 1:
            first = len(encode(texts[:1])) if each else len(ids)
            segments = [0] * first + [1] * (len(ids) - first)
            said = {"text": texts[0], "second": texts[1], "ids": ids, "segments": segments}
        decoded = decode(ids)
        if decoded != texts[0] or len(texts) > 1:
            said["decoded"] = decoded
        lines.append(json.dumps(said, separators=(",", ":")))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def names_of(ids):
    return {id: name for name, id in ids.items()}


def save(folder, files):
    for name, content in files.items():
        if isinstance(content, (dict, list)):
            content = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
        if isinstance(content, str):
            content = content.encode("utf-8")
        (folder / name).write_bytes(content)
    print(f"{folder.name}: {', '.join(files)}")


def marian(folder):
    """Two Unigram models of one vocabulary, whose ids are vocab.json's; a language's code may begin a
    text, and is text elsewhere."""
    source = trained(TRAINING, model_type="unigram", vocab_size=220, bos_id=-1)
    target = trained(FRENCH, model_type="unigram", vocab_size=160, bos_id=-1)
    pieces = ["</s>", "<unk>"]
    for model in (target, source):
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces += [processor.id_to_piece(id) for id in range(len(processor))]
    pieces += [">>fra<<", ">>deu<<", "\u20ac", "\U0001f600\U0001f600", "<pad>"]
    ids = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    special = {name: ids[name] for name in ("</s>", "<unk>", "<pad>")}
    written_out = [*special, ">>fra<<", ">>deu<<", ">>xyz<<"]
    files = {"source.spm": source, "target.spm": target, "vocab.json": ids}
    for name, model, seed in (("expected.json", source, 1), ("expected_target.json", target, 2)):
        side = Marked(model, special, ids, codes=True)
        files[name] = expected(
            lambda texts: [id for text in texts for id in side.encode(text)] + [ids["</s>"]], seed,
            written_out, lambda row: written(row, names_of(ids), True))
    save(folder, files)


def m2m(folder):
    """BPE; the languages' ids stand behind those of vocab.json."""
    model = trained(TRAINING + FRENCH, model_type="bpe", vocab_size=300)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces += sorted((processor.id_to_piece(id) for id in range(3, len(processor))), key=hash_of)
    ids = {piece: id for id, piece in enumerate(pieces)}
    languages = ["__de__", "__en__", "__fr__"]
    special = {name: ids[name] for name in pieces[:4]}
    special |= {name: len(ids) + i for i, name in enumerate(languages)}
    side = Marked(model, special, ids)
    names = names_of(ids | special)
    save(folder, {
        "sentencepiece.bpe.model": model, "vocab.json": ids,
        "special_tokens_map.json": {"additional_special_tokens": languages},
        "tokenizer_config.json": {"src_lang": "fr"},
        "expected.json": expected(
            lambda texts: [special["__fr__"]] + [id for text in texts for id in side.encode(text)]
            + [ids["</s>"]], 3, list(special), lambda row: written(row, names, True))})


def hash_of(piece):
    """An order that is none of the model's."""
    return sum(ord(c) * 31 ** i for i, c in enumerate(piece)) % 997, piece


def own_ids(folder, model, seed, adds_blank, begins=True):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    names = {id: processor.id_to_piece(id) for id in range(len(processor))}
    special = {name: processor.piece_to_id(name) for name in ("<unk>", "<s>", "</s>")}
    side = Marked(model, special)
    before = [special["<s>"]] if begins else []
    settings = {} if begins else {"add_bos_token": False}
    save(folder, {"tokenizer.model": model, "tokenizer_config.json": settings, "expected.json": expected(
        lambda texts: [id for text in texts for id in before + side.encode(text)], seed,
        list(special), lambda row: written(row, names, adds_blank), True)})


def llama_model(folder):
    """BPE as Llama's: bytes for what is unknown, every blank is kept."""
    model = trained(TRAINING + LAID_OUT, model_type="bpe", vocab_size=560, byte_fallback=True,
                    remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
                    split_digits=True)
    own_ids(folder, model, 4, True)


def unigram_model(folder):
    """Pieces over blanks, found whole ones, no blank in front."""
    model = trained(TRAINING, model_type="unigram", vocab_size=260, split_by_whitespace=False,
                    add_dummy_prefix=False, user_defined_symbols=["<sep>", "=>"])
    own_ids(folder, model, 5, False, False)


CASES = {"marian": marian, "m2m": m2m, "llama-model": llama_model, "unigram-model": unigram_model}


def main():
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for name, make in CASES.items():
        folder = where.resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
        os.chdir(folder)
        make(folder)


if __name__ == "__main__":
    main()
