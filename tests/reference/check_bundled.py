#!/usr/bin/env python3
"""Computes runs of the bundled language models a second time (check_trace.py): `stories` and `poems` on
sentences of their own and of each other's language, emoji, one character, and text as long as the
context. Prints how far the traces are from PyTorch's, and fails where check_trace.py would.

  python3 tests/reference/check_bundled.py [HEADLIGHT]
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "assets/models"
SENTENCES = {
    "stories": ["The little dog was sad because it lost its ball", '"I am lost," said Tom.', "a",
                "床前明月光，疑是地上霜。", "🙂 and 👩‍👩‍👧", "naïve café", "Once upon a time " * 25],
    "poems": ["我每天都看书，但没看过这本书", "床前看月光，疑是地上霜。举头望山月，低头思故乡。", "月",
              "The little dog was sad", "🙂明月👩‍👩‍👧", "naïve café", "明月照高楼，清风吹白云。" * 8],
}


def main():
    headlight = sys.argv[1:2]
    failed = False
    for model, sentences in SENTENCES.items():
        worst = 0.0
        for sentence in sentences:
            done = subprocess.run([sys.executable, HERE / "check_trace.py", MODELS / model, sentence,
                                   *headlight], stdout=subprocess.PIPE, text=True, check=False)
            last = done.stdout.strip().split("\n")[-1]
            print(f"{model}: {sentence[:32]!r}: {last}", flush=True)
            failed |= done.returncode != 0
            found = re.search(r"at most (\S+) off", last)
            worst = max(worst, float(found[1])) if found else float("nan")
        print(f"{model}: at most {worst:.1e} of a tensor's largest number off")
    sys.exit(failed)


if __name__ == "__main__":
    main()
