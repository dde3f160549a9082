"""The text that the vocabularies are learned from, and the texts that are read with them."""

import random

TRAINING = (
    "The ferry leaves the harbour before the light is on the water. The old woman at the rail is "
    "reading a letter from her brother, and the letter isn't long. He writes that the apple trees "
    "are in flower, that the roof still leaks, and that he'll mend it when the weather is better. "
    "They've had rain since the first week of March. \"I'm not worried,\" he writes, \"we're used to "
    "water here.\" She'd like to answer him, but there's nothing to tell: the town is the same town, "
    "the neighbours are the same neighbours, and the shop on the corner sells the same bread. In "
    "1987 they had bought the house together; in 2004 he had bought her half of it. Now there are "
    "12 trees, 3 hens and a dog that doesn't bark. The other travellers are playing cards. One of "
    "them is winning, another one is whistling, and the third has fallen asleep with the cards in "
    "his hand. Outside the water is darker than the sky. There was a time when the ferry was the "
    "only way to the island, and whoever wanted to go there had to wait for the tide. Later they "
    "built the bridge, and still later they closed it, because the bridge wasn't safe. So the ferry "
    "came back, and the waiting with it. Un caf\u00e9, une cr\u00eape, \u00e0 bient\u00f4t: the "
    "waiter had been to Orl\u00e9ans and told everybody. \u041f\u0430\u0440\u043e\u043c "
    "\u043f\u043b\u044b\u0432\u0451\u0442 \u043f\u043e \u0432\u043e\u0434\u0435, \u0430 "
    "\u0432\u043e\u0434\u0430 \u0442\u0451\u043c\u043d\u0430\u044f. \u8239\u5728\u6c34\u4e0a, "
    "\u6c34\u5728\u5c71\u4e0b, \u5c71\u5728\u4e91\u4e0b. The weather is better now, the rail is "
    "wet, and the letter is wet as well; she folds it and puts it into the pocket of her coat.")

# What byte-level vocabularies join besides: blanks, line ends, numbers, a long s. Where these are no
# pieces nobody sees how they were cut.
LAID_OUT = 3 * (
    "if tide < 3:\n    wait(12)\n    if rain:\n        wait(120)\n\nelse:\n    leave(\"ferry\", 1987);\n"
    "\n\nFerry:\r\n\r\n\t1. rail\r\n\t2. coat\r\n\t\t2.1 pocket!\r\n\r\n  two blanks,   three,    four."
    "\n \n \n12 120 1987 2004 198712 120120 0.5 0.25?\n\n!!\n\n...\n\n'' -- --- ----\n  \n  \n\t\n\t\n"
    "Wach\u017ftube \u017ft\u00fcck f\u00fcnf\u017ft!\n the\u0301 a\u0301s e\u0301t \u00b2\u00b2 5\u00bd")

WORDS = (
    "the", "The ferry leaves at 9.", "Hello, world!", "A letter from her brother", "waiting waiter",
    "the the the", "HARBOUR Harbour harbour", "unbelievably", "neighbourhoods", "x", "I", "!", "?!",
    "It isn't, they've, we're, I'm, he'll, she'd: there's", "IT ISN'T, WE'RE, HE'LL, SHE'D",
    "'s 't 're 've 'm 'll 'd", "''s'' 'tis 'twas rock'n'roll", "don't' won't'", "dogs' o'clock",
    "can't've y'all'd", "\u2018quoted\u2019 it\u2019s", "'S 'T 'Re 'vE 'M 'lL 'D", "wa'\u017ft it",
    "do not do n't do 'm", "well . then , what ? no !", "the ' dog ' s 've 're",
    "1", "12", "123", "1234567", "3.14159", "1,000,000", "2nd 3rd 4th", "in1987and2004", "7 8  9",
    "\u00bd \u00b2 \u2167 \u0663\u0664 \uff11\uff12", "$5.00 \u20ac7 \u00a33 100%", "a1b2c3",
    "C++ & C# (2 of them) [sic] {x} <y> ~z", "a_b-c.d/e\\f|g", "...---...", "!!!???", "=>", "#1 @you",
    "e-mail: someone@example.org", "https://example.org/a?b=c&d=e#f", "`code` ``quoted''", "^^ a^b",
    "<0x41> <0x0A>", "ferrymen ferrymans Ferryman",
    "ferryman\u200d \u200cferryman ferryman\u0301 ferryman_ ferryman\u2019s",
    "lowerUpperCamel snake_case kebab-case", "Mc'Donald's", "O\u2019Neill\u2014dash\u2013dash\u2026",
    "\u00abguillemets\u00bb \u201equotes\u201c \u00bfqu\u00e9? \u00a1s\u00ed!")
BLANKS = (
    "", " ", "  ", "   ", " the", "  the", "the ", "the  ", " the ferry ", "   the   ferry   ",
    "the  ferry", "the   ferry    leaves", "\t", "\n", "\n\n", "\t\t the", "the\tferry", "the\nferry",
    "the \n ferry", "the\n\n\nferry", "the\r\nferry\r\n", "\r\r\n the", "the\n", " \n \n ", "a \t b",
    "  \n\n  two lines\n\n  more  ", "if x:\n    y = 1\n\n\tz", "!\n\n!", " !\r\n?", "a!\n\nb",
    "1\n2",
    "the\u00a0ferry", "\u00a0\u00a0the", "the\u3000ferry", "a\u2003\u2003b", "a\u2028b\u2029c",
    "a\u0085b", "a\x0bb\x0cc", "a\x1cb\x1fc", "\ufeffthe", "a\u200bb", "\u2581the\u2581 ferry",
    "\u2581", "\u2581\u2581", " \u2581 ", "\u0120the", "\u010a", "##the ##s", "the##s")
OTHERS = (
    "caf\u00e9", "cafe\u0301", "CAF\u00c9 CAFE\u0301", "cr\u00eape \u00e0 Orl\u00e9ans", "na\u00efve",
    "A\u030angstro\u0308m \u00c5ngstr\u00f6m \u212b", "e\u0301\u0302\u0323", "\u0301", "\u0301 a",
    "\u1e69 s\u0323\u0307 s\u0307\u0323", "\u01c4 \u01c5 \u01c6", "stra\u00dfe STRASSE \u1e9e",
    "\u0130stanbul \u0131",
    "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c2 \u039f\u0394\u039f\u03a3",
    "\u043f\u0430\u0440\u043e\u043c \u041f\u0410\u0420\u041e\u041c",
    "\u0451\u0439 \u0435\u0308\u0438\u0306",
    "\u0432\u043e\u0434\u0430, \u0432\u043e\u0434\u0435!", "\u8239\u5728\u6c34\u4e0a",
    "\u5c71 \u6c34", "the\u5c71ferry", "\u3072\u3089\u304c\u306a\u30ab\u30bf\u30ab\u30ca",
    "\u304b\u3099 \uff76\uff9e \u30ac", "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\u4e00\u9fa5\u3400",
    "a\U00020000b a\U0002b820b a\U0002b920b", "\uf900\U0002f800", "\u3001\u3002\u300c\u300d",
    "\u0627\u0644\u0633\u0644\u0627\u0645 \u0639\u064e\u0644\u064a\u0643\u0645",
    "\u05e9\u05c1\u05dc\u05d5\u05dd", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0915\u094d\u200d\u0937",
    "\U0001f600", "good \U0001f44d\U0001f3fd day", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u2764\ufe0f \u2764", "\U0001f1eb\U0001f1f7", "1\ufe0f\u20e3", "\U0001d400\U0001d401 \U0001d7d9",
    "\ufb01n \ufb03 \ufb06", "\uff21\uff22\uff43", "\u2460 \u2122 \u00b5 \u2126", "\u1e9b\u0323",
    "soft\u00adhyphen", "zero\u200dwidth\u200c", "a\ufffdb", "a\0b", "\u0007bell\u007f", "\ue000",
    "\u2212\u00d7\u00f7\u221e \u2190\u2192", "\u00a7\u00b6\u2020", "x\u0305y", "\u20dd\u0489a\u0489")
LONG = (
    "thewaterthewaterthewaterthewaterthewaterthewaterthewaterthewater",
    "a" * 49, "ab" * 60, "!" * 70, " " * 60, "9" * 50, "the" * 33, "the" * 33 + "a",
    "the" * 33 + "ab",
    "\u0432\u043e\u0434\u0430" * 25, "\u0432\u043e\u0434\u0430" * 26, "\u6c34" * 40, "\u00e9" * 60,
    "qjxz" * 15, TRAINING[:700], TRAINING[300:900].replace(" ", ""), TRAINING[900:1300].upper())
PAIRS = (
    ("the ferry", "the water"), ("Where is the letter?", "It isn't here."), ("", ""), ("the", ""),
    ("", "the"), (" a ", " b "), ("caf\u00e9", "cafe\u0301"), ("\u5c71\u6c34", "\u8239"),
    ("one\ntwo", "three\n"), ("  ", "!"), ("\U0001f600", "\u0432\u043e\u0434\u0430"), ("1987", "2004"))

ALPHABET = (
    *"aaeeiinnoorrsstthhlwd", *"ATHEz", "the", "er", "ing", "wat", *("    "), "  ", "\n", "\t",
    "\r\n",
    *"0123456789", *"'.,!?-_#\"()", "'s", "'t", "n't", "'re", "'LL", "\u00e9", "e\u0301", "\u00f1",
    "\u0301", "\u00df", "\u0432", "\u043e", "\u0434\u0430", "\u0401", "\u6c34", "\u5c71", "\u30ab",
    "\U0001f600", "\u200d", "\ufe0f", "\U0001f469", "\u00a0", "\u3000", "\u2581", "\u0120", "\u00bd",
    "\ufb01", "\uff21", "\u0130", "\u20ac")


def with_tokens(token):
    """A special token, typed."""
    return (token, f"the {token} ferry", f"the{token}ferry", f"{token}{token}", f" {token} ",
            f"a  {token}\t b", token[:-1], token[1:], f"{token[:2]}{token}", token.lower(),
            token.upper(), f"{token}\n\nthe ferry's")


def random_texts(seed, count, tokens):
    draw = random.Random(seed)
    alphabet = ALPHABET + tuple(tokens)
    return ["".join(alphabet[draw.randrange(len(alphabet))] for _ in range(draw.randrange(1, 30)))
            for _ in range(count)]


def all_texts(seed, tokens):
    texts = [*WORDS, *BLANKS, *OTHERS, *LONG]
    for token in tokens[-2:]:
        texts += with_tokens(token)
    texts += ["".join(tokens), " ".join(tokens)]
    return list(dict.fromkeys(texts + random_texts(seed, 50, tokens)))
