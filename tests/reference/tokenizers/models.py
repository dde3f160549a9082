"""The models, by their definitions and as slowly as these read."""

import math

from characters import MARK


class Bpe:
    def __init__(self, vocab, merges, unknown=None, byte_fallback=False, whole_first=False):
        self.vocab, self.unknown, self.byte_fallback = vocab, unknown, byte_fallback
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.whole_first = whole_first

    def first_symbols(self, word):
        symbols = []
        for c in word:
            if c in self.vocab:
                symbols.append(c)
            elif self.byte_fallback:
                symbols += [f"<0x{byte:02X}>" for byte in c.encode()]
            elif not symbols or symbols[-1] != self.unknown:  # unknown ones in a row are one
                symbols.append(self.unknown)
        return symbols

    def ids(self, word):
        if self.whole_first and word in self.vocab:
            return [self.vocab[word]]
        symbols = self.first_symbols(word)
        while True:
            pairs = list(zip(symbols, symbols[1:]))
            known = [(self.ranks[pair], at) for at, pair in enumerate(pairs) if pair in self.ranks]
            if not known:
                return [self.vocab[symbol] for symbol in symbols]
            _, at = min(known)
            symbols[at:at + 2] = [symbols[at] + symbols[at + 1]]


class WordPiece:
    def __init__(self, vocab, unknown="[UNK]", longest=100):
        self.vocab, self.unknown, self.longest = vocab, unknown, longest

    def ids(self, word):
        ids, at = [], 0
        while at < len(word) <= self.longest:
            ends = [end for end in range(at + 1, len(word) + 1) if self.piece(word, at, end)]
            if not ends:
                return [self.vocab[self.unknown]]
            ids.append(self.vocab[self.piece(word, at, ends[-1])])
            at = ends[-1]
        return ids or [self.vocab[self.unknown]]

    def piece(self, word, at, end):
        piece = ("##" if at else "") + word[at:end]
        return piece if piece in self.vocab else None


class Unigram:
    """What no piece stands for counts as the worst score less ten, and goes together as unknown."""

    def __init__(self, scored, unknown, byte_fallback=False):
        self.scores, self.unknown, self.byte_fallback = dict(scored), unknown, byte_fallback
        self.vocab = {piece: id for id, (piece, _) in enumerate(scored)}
        self.worst = min(self.scores.values()) - 10

    def ids(self, word):
        best = [(0.0, 0)] + [None] * len(word)  # the score up to here, and where its last piece begins
        for end in range(1, len(word) + 1):
            for begin in range(end):
                piece = word[begin:end]
                if piece not in self.scores and len(piece) > 1:
                    continue
                score = best[begin][0] + self.scores.get(piece, self.worst)
                if best[end] is None or score > best[end][0]:
                    best[end] = score, begin
        pieces, end = [], len(word)
        while end > 0:
            begin = best[end][1]
            pieces.insert(0, word[begin:end])
            end = begin
        return self.ids_of(pieces)

    def ids_of(self, pieces):
        ids = []
        for piece in pieces:
            if piece in self.vocab:
                ids.append(self.vocab[piece])
            elif self.byte_fallback:
                ids += [self.vocab[f"<0x{byte:02X}>"] for byte in piece.encode()]
            elif not ids or ids[-1] != self.vocab[self.unknown]:
                ids.append(self.vocab[self.unknown])
        return ids


# ---- Vocabularies, learned from a text

def learned_merges(words, count, prefix=""):
    """Merges of the pair that is the most frequent one in these words, again and again."""
    cut = [[c if i == 0 else prefix + c for i, c in enumerate(word)] for word in words]
    merges = []
    while len(merges) < count:
        seen = {}
        for symbols in cut:
            for pair in zip(symbols, symbols[1:]):
                seen[pair] = seen.get(pair, 0) + 1
        if not seen:
            break
        pair = min(seen, key=lambda pair: (-seen[pair], pair))
        merges.append(pair)
        for symbols in cut:
            join_pair(symbols, pair, prefix)
    return merges


def joined(pair, prefix=""):
    return pair[0] + pair[1][len(prefix):]


def join_pair(symbols, pair, prefix):
    at = 0
    while at + 1 < len(symbols):
        if (symbols[at], symbols[at + 1]) == pair:
            symbols[at:at + 2] = [joined(pair, prefix)]
        at += 1


def every_merge(pieces):
    """Every way to make one of these pieces of two, the pieces in the order of the list: so are
    SentencePiece's vocabularies written as merges."""
    place = {piece: i for i, piece in enumerate(pieces)}
    merges = []
    for piece in pieces:
        ways = [(piece[:at], piece[at:]) for at in range(1, len(piece))]
        merges += sorted((way for way in ways if way[0] in place and way[1] in place),
                         key=lambda way: (place[way[0]], place[way[1]]))
    return merges


def scored_pieces(words, count, digits):
    """Characters and the parts of words that make up the most of the text, with logarithms of their
    frequencies. With few digits many ways to cut a word are equally good: the first one found, whose
    last piece is the longest, stays."""
    seen = {}
    for word in words:
        for begin in range(len(word)):
            for end in range(begin + 1, min(len(word), begin + 9) + 1):
                seen[word[begin:end]] = seen.get(word[begin:end], 0) + 1
    characters = sorted({c for word in words for c in word})
    parts = sorted((piece for piece in seen if len(piece) > 1 and seen[piece] > 2),
                   key=lambda piece: (-seen[piece] * len(piece), piece))[:count]
    total = sum(seen[piece] for piece in characters + parts)
    scored = [(piece, round(math.log(seen[piece] / total), digits)) for piece in characters + parts]
    return sorted(scored, key=lambda item: (-item[1], item[0]))


def marked_words(text):
    return words_of(MARK + text.replace(" ", MARK))


def words_of(marked):
    return [MARK + word for word in marked.split(MARK) if word]
