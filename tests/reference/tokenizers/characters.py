"""What tokenizers ask of a character, and the words that they cut a text into before the model does.

Categories are Python's own (unicodedata); white space is Unicode's White_Space, which is not what
str.isspace() says.
"""

import unicodedata

WHITE = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000,
         *range(0x09, 0x0E), *range(0x2000, 0x200B)}
MARK = "\u2581"
CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def is_white(c):
    return ord(c) in WHITE


def is_letter(c):
    return unicodedata.category(c)[0] == "L"


def is_number(c):
    return unicodedata.category(c)[0] == "N"


def is_other(c):
    return not (is_white(c) or is_letter(c) or is_number(c))


def is_word(c):
    """\\w, as far as the texts here go; the two characters that join and part letters are of it."""
    others = ("Nd", "Nl", "Mn", "Mc", "Me", "Pc")
    return is_letter(c) or c in "\u200C\u200D" or unicodedata.category(c) in others


def run_end(text, at, fits, most=None):
    end = at
    while end < len(text) and fits(text[end]) and (most is None or end - at < most):
        end += 1
    return end


# ---- GPT-2's expression, and Llama 3's

def blanks_end(text, at):
    """\\s+(?!\\S)|\\s+ : the last blank before a word is left to that word, unless it is alone."""
    end = run_end(text, at, is_white)
    return end - 1 if end < len(text) and end - at > 1 else end


def gpt2_end(text, at):
    for ending in CONTRACTIONS:
        if text.startswith(ending, at):
            return at + len(ending)
    start = at + 1 if text[at] == " " else at
    for fits in (is_letter, is_number, is_other):
        end = run_end(text, start, fits)
        if end > start:
            return end
    return blanks_end(text, at)


def llama3_end(text, at, digits):
    for ending in CONTRACTIONS:
        found = text[at:at + len(ending)]
        if found[:1] == "'" and found[1:].casefold() == ending[1:]:
            return at + len(ending)
    c = text[at]
    start = at if c in "\r\n" or is_letter(c) or is_number(c) else at + 1
    end = run_end(text, start, is_letter)
    if end > start:
        return end
    if is_number(c):
        return run_end(text, at, is_number, digits)
    start = at + 1 if c == " " else at
    end = run_end(text, start, is_other)
    if end > start:
        return run_end(text, end, lambda c: c in "\r\n")
    blanks = text[at:run_end(text, at, is_white)]
    last_line_end = max(blanks.rfind("\r"), blanks.rfind("\n"))
    return at + last_line_end + 1 if last_line_end >= 0 else blanks_end(text, at)


def all_words(text, word_end):
    words, at = [], 0
    while at < len(text):
        end = word_end(text, at)
        words.append(text[at:end])
        at = end
    return words


def gpt2_words(text):
    return all_words(text, gpt2_end)


def llama3_words(digits):
    return lambda text: all_words(text, lambda text, at: llama3_end(text, at, digits))


# ---- BERT

def is_bert_punctuation(c):
    ascii_sign = ord(c) < 128 and not c.isalnum() and 0x20 < ord(c) < 0x7F
    return ascii_sign or unicodedata.category(c)[0] == "P"


def is_cjk(c):
    """As the published library has it: its fifth block begins 0x100 too late."""
    return any(first <= ord(c) <= last for first, last in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))


def bert_normalized(lower, strip):
    def normalize(text):
        kept = [c for c in text if c not in "\0\uFFFD" and
                (c in "\t\n\r" or unicodedata.category(c) not in ("Cc", "Cf", "Co"))]
        text = "".join(" " if is_white(c) else c for c in kept)
        text = "".join(f" {c} " if is_cjk(c) else c for c in text)
        if strip:
            text = unicodedata.normalize("NFD", text)
            text = "".join(c for c in text if unicodedata.category(c) != "Mn")
        return "".join(c.lower() for c in text) if lower else text
    return normalize


def bert_words(text):
    words = [""]
    for c in text:
        if is_white(c):
            words.append("")
        elif is_bert_punctuation(c):
            words += [c, ""]
        else:
            words[-1] += c
    return [word for word in words if word]


# ---- Bytes and marks as characters

def byte_characters():
    """The character that stands for each byte: itself where it can be seen, else one from 256 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in seen]
    return {**{byte: chr(byte) for byte in seen},
            **{byte: chr(256 + i) for i, byte in enumerate(others)}}


OF_BYTE = byte_characters()
BYTE_OF = {c: byte for byte, c in OF_BYTE.items()}


def as_bytes(text):
    return "".join(OF_BYTE[byte] for byte in text.encode())


def words_at_marks(text):
    """Cut before each mark."""
    words = []
    for c in text:
        if c == MARK or not words:
            words.append("")
        words[-1] += c
    return words
