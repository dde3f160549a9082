# Byte pairs and pieces of words, learned again from the bytes of the text and applied to the
# sentence. X.ends: where the runs of letters, digits, spaces … of X end, over which no token
# reaches; X.words: where its words begin and end.
from collections import Counter
from math import log


def raw(name):
    return bytes(t[name].astype(int).tolist())


def runs(name):
    ends = t[name + ".ends"].astype(int).tolist()
    return [raw(name)[a:b] for a, b in zip([0] + ends, ends)]


def words(name):
    return [raw(name)[a:b].decode() for a, b in t[name + ".words"].astype(int).reshape(-1, 2)]


def join(tokens, pair, made):
    out = []
    for token in tokens:
        if out and (out[-1], token) == pair:
            out[-1] = made
        else:
            out.append(token)
    return out


def pairs(cut, counts):
    found = Counter()
    for word, n in counts.items():
        for pair in zip(cut[word], cut[word][1:]):
            found[pair] += n
    return {pair: n for pair, n in found.items() if n >= 2}


# Byte pairs: the pair that comes most often becomes a token; of equal ones the one with the smaller ids.
most = 200
counts = Counter(runs("text"))
cut = {run: list(run) for run in counts}
merges = []
while len(merges) < most and (found := pairs(cut, counts)):
    best = min(found, key=lambda pair: (-found[pair], pair))
    cut = {run: join(tokens, best, 256 + len(merges)) for run, tokens in cut.items()}
    merges.append(best)


def lengths(name, merges):
    """How many tokens the text has after no merge, one merge …"""
    cut = [list(run) for run in runs(name)]
    result = [sum(map(len, cut))]
    for i, pair in enumerate(merges):
        cut = [join(tokens, tuple(pair), 256 + i) for tokens in cut]
        result.append(sum(map(len, cut)))
    return result


# Pieces of words: "##" goes on with a word. The pair that raises the text's likelihood most.
def characters(word):
    return [c if i == 0 else "##" + c for i, c in enumerate(word)]


counts = Counter(words("text"))
short = {word: n for word, n in counts.items() if len(word) <= 100}
single = {c for word in short for c in characters(word)}
pieces = sorted(single, key=lambda c: (c.startswith("##"), c))
cut = {word: [pieces.index(c) for c in characters(word)] for word in short}
while len(pieces) < len(single) + most:
    f = Counter()
    for word, n in short.items():
        for piece in cut[word]:
            f[piece] += n
    total = sum(f.values())
    gain = {(a, b): n * log(n * total / (f[a] * f[b])) for (a, b), n in pairs(cut, short).items()}
    gain = {pair: g for pair, g in gain.items() if g > 0}
    if not gain:
        break
    best = min(gain, key=lambda pair: (-gain[pair], pair))
    made = pieces[best[0]] + pieces[best[1]][2:]
    if made not in pieces:
        pieces.append(made)
    cut = {word: join(tokens, best, pieces.index(made)) for word, tokens in cut.items()}


def cut_word(word, known):
    """Always the longest piece that fits; nothing where none does."""
    out, at = [], 0
    while at < len(word):
        end = next((e for e in range(len(word), at, -1) if ("##" if at else "") + word[at:e] in known), at)
        if end == at or len(word) > 100:
            return ["[UNK]"]
        out.append(word[at:end])
        at = end
    return out


def cut_words(name, count):
    known = set(pieces[:len(single) + count])
    return [piece for word in words(name) for piece in cut_word(word, known)]


points = {name: len(raw(name).decode()) for name in ("sentence", "other")}
sentence, other = lengths("sentence", merges), lengths("other", merges)
by_pieces = [len(cut_words("sentence", m)) for m in range(len(merges) + 1)]
han = sum(ord(c) >= 0x2E80 for c in raw("sentence").decode())
language = "english" if 2 * han > points["sentence"] else "chinese"
series["length.sentence"] = np.array(sentence) / points["sentence"]
series["length.word_pieces"] = np.array(by_pieces) / points["sentence"]
series["length." + language] = np.array(other) / points["other"]

# Vocabulary against length.
steps = [0] + [2 ** i for i in range(9) if 2 ** i <= len(merges)]
series["vocabulary.bpe"] = [sentence[m] / points["sentence"] for m in steps]
series["vocabulary.word_pieces"] = [by_pieces[m] / points["sentence"] for m in steps]
series["vocabulary.characters"] = [1]
series["vocabulary.words"] = [len(words("sentence")) / points["sentence"]]
for name in ("stories", "poems"):
    own = t[name + ".merges"].astype(int).tolist()
    series["vocabulary." + name] = [lengths("sentence", own)[-1] / points["sentence"]]

chosen = min(int(controls["merges"]), len(merges))
samples = [f"sample{i}" for i in range(5)]
series["samples.characters"] = [len(raw(name).decode()) for name in samples]
series["samples.bytes"] = [len(raw(name)) for name in samples]
series["samples.tokens"] = [lengths(name, merges)[chosen] for name in samples]

values["vocabulary"] = 256 + chosen
values["tokens.sentence"] = sentence[chosen]
values["tokens.word_pieces"] = by_pieces[chosen]
values["tokens.other"] = other[chosen]
values["unknown.other"] = cut_words("other", chosen).count("[UNK]")


def compare(a, b):
    return 0 if a < b else 1 if a == b else 2


half = min(chosen, len(merges) // 2)
if half:
    right["more"] = compare(sentence[0] - sentence[half], sentence[half] - sentence[2 * half])
right["other"] = compare(other[chosen], points["other"])
