"""A tokenizer: what is found as it is typed, the words of the rest, and how ids become a text again."""

import re

from characters import BYTE_OF, MARK, is_white, is_word


class Tokenizer:
    """`added`: tokens that are found as they are typed, each with what else is said of it. `row` and
    `pair`: ids of special tokens by name, "A" and "B" for the texts, each with its segment."""

    def __init__(self, model, added, row, pair, decode, normalize=None, words=None):
        self.model, self.added, self.row, self.pair = model, added, row, pair
        self.decode_pieces = decode
        self.normalize = normalize or (lambda text: text)
        self.words = words or (lambda text, first: [text])
        self.vocab = {**model.vocab, **{name: token["id"] for name, token in added.items()}}

    def parts(self, text, normalized):
        """(text between tokens, None) and (token's text, id), from the left, the longest first."""
        added = {self.normalize(name) if normalized else name: token
                 for name, token in self.added.items() if token["normalized"] == normalized}
        parts, done, at = [], 0, 0
        while at < len(text):
            name = max((name for name in added if text.startswith(name, at)), key=len, default="")
            if not name:
                at += 1
                continue
            begin, end = at, at + len(name)
            at = end
            token = added[name]
            alone = not any(c and is_word(c) for c in (text[begin - 1:begin], text[end:end + 1]))
            if token["single_word"] and not alone:
                continue
            while token["lstrip"] and begin > done and is_white(text[begin - 1]):
                begin -= 1
            while token["rstrip"] and end < len(text) and is_white(text[end]):
                end += 1
            parts += [(text[done:begin], None), (text[begin:end], token["id"])]
            done = at = end
        return [part for part in [*parts, (text[done:], None)] if part[0]]

    def all_parts(self, text):
        """The same, first in the text as it is typed, then in what normalizing makes of the rest."""
        for part, token in self.parts(text, False):
            if token is None:
                yield from self.parts(self.normalize(part), True)
            else:
                yield part, token

    def text_ids(self, text):
        ids = []
        for i, (part, token) in enumerate(self.all_parts(text)):
            if token is None:
                for word in self.words(part, i == 0):
                    ids += self.model.ids(word)
            else:
                ids.append(token)
        return ids

    def filled(self, row, texts):
        ids, segments = [], []
        for name, segment in row:
            more = self.text_ids(texts[name]) if name in texts else [self.vocab[name]]
            ids += more
            segments += [segment] * len(more)
        return ids, segments

    def decode(self, ids):
        names = {id: name for name, id in self.vocab.items()}
        return self.decode_pieces([names[id] for id in ids])


# ---- Decoding

def decode_bytes(pieces):
    all_bytes = b""
    for piece in pieces:
        known = all(c in BYTE_OF for c in piece)
        all_bytes += bytes(BYTE_OF[c] for c in piece) if known else piece.encode()
    return all_bytes.decode()


def decode_word_pieces(pieces):
    text = ""
    for i, piece in enumerate(pieces):
        if i > 0:
            piece = piece[2:] if piece.startswith("##") else " " + piece
        for old, new in ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"),
                         (" n't", "n't"), (" 'm", "'m"), (" do not", " don't"), (" 's", "'s"),
                         (" 've", "'ve"), (" 're", "'re")):
            piece = piece.replace(old, new)
        text += piece
    return text


def decode_marked(pieces):
    return "".join(piece.replace(MARK, " " if i > 0 else "") for i, piece in enumerate(pieces))


def decode_fallback(pieces):
    text = b""
    for piece in pieces:
        byte = re.fullmatch("<0x([0-9A-F]{2})>", piece)
        text += bytes([int(byte[1], 16)]) if byte else piece.replace(MARK, " ").encode()
    return text.decode().removeprefix(" ")
