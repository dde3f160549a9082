"""Runs that go on in PyTorch, and come back: headlight convert --to pytorch.

usage: run_pytorch.py HEADLIGHT

Of each recipe: twenty steps by Headlight, then ten more of the same run by Headlight, by train.py
in one process and by train.py in two (gloo): their losses and norms are the same to 1e-4, absolute
and relative. What came out goes on in Headlight for two more steps, as the run itself does, and is
converted once more. Needs PyTorch; HEADLIGHT_CONVERT is another program to convert with.
"""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HEADLIGHT = os.path.abspath(sys.argv[1])
CONVERT = os.environ.get("HEADLIGHT_CONVERT", HEADLIGHT)
HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-4
FEW, MORE, LAST = 20, 30, 32
os.environ["OMP_NUM_THREADS"] = "1"

TEXT = "".join(f"the {a} {b} saw the {c} and the {b} ran {d} .\n"
               for a in ("little", "old", "red", "happy", "slow")
               for b in ("dog", "cat", "bird", "boy")
               for c in ("ball", "house", "tree") for d in ("home", "away", "fast", "to the house"))
LABELS = "text\tlabel\n" + "".join(
    f"the {a} {b} is {c}{' today' * n}\t{'good' if c in ('nice', 'fine') else 'bad'}\n"
    for a in ("little", "old", "red") for b in ("dog", "cat", "bird")
    for c in ("nice", "fine", "bad", "sad") for n in range(3))
PAIRS = "source\ttarget\n" + "".join(
    f"the {a} {b}{' here' * n}\tle {b} {a}{' ici' * n}\n"
    for a in ("little", "old", "red", "slow") for b in ("dog", "cat", "bird", "boy", "cow")
    for n in range(3))
SMALL = ["--layers", "2", "--heads", "2", "--d-model", "16", "--batch", "7"]
COSINE = ["--schedule", "cosine", "--warmup", "5", "--lr", "0.01", "--clip", "0.5"]

# What each learns from, and how.
RECIPES = {
    "decoder of a text": (["--text", "text.txt", "--context", "12"], [*SMALL, *COSINE]),
    "llama": (["--text", "text.txt", "--context", "10"],
              [*SMALL, "--norm", "rms", "--positions", "rotary", "--activation", "swiglu",
               "--kv-heads", "1", "--bias", "off", "--tied-head", "on", "--dropout", "0.2",
               "--accumulate", "2", "--optimizer", "adam", "--weight-decay", "0.1"]),
    "hidden tokens": (["--text", "text.txt", "--context", "12", "--mask-tokens", "15%"],
                      [*SMALL, "--optimizer", "sgd", "--momentum", "0.9", "--weight-decay", "0.01",
                       "--lr", "0.05", "--segments", "off"]),
    "both, as BERT": (["--text", "text.txt", "--context", "20", "--next-sentence", "--mask-tokens",
                       "15%"], [*SMALL, *COSINE]),
    "task": (["--task", "reverse"],
             [*SMALL, *COSINE, "--block", "post-norm", "--positions", "alibi"]),
    "classes of a task": (["--task", "sentiment"],
                          [*SMALL, "--pool", "foci", "--foci-penalty", "0.2", "--experts", "3",
                           "--top-experts", "2", "--balance", "0.1", "--dropout", "0.1", "--init",
                           "glorot"]),
    "classes of a table": (["--labels", "labels.tsv"], [*SMALL, "--pool", "cls", "--lr", "0.005"]),
    "pairs": (["--pairs", "pairs.tsv"],
              [*SMALL, *COSINE, "--scores", "additive", "--dropout", "0.1"]),
    "dates": (["--task", "dates"], [*SMALL, "--optimizer", "adam", "--positions", "learned"]),
    "rows of ids": (["--data-ids", "rows.npy"],
                    [*SMALL, "--positions", "t5", "--attention", "wide"]),
    "best weights kept": (["--text", "text.txt", "--validation", "10%"],
                          [*SMALL, "--lr", "0.01", "--patience", "50", "--validate-every", "4",
                           "--context", "8"]),
    "layers that stay": (["--text", "text.txt"],
                         ["--from", "stories", "--freeze", "3", "--batch", "3", "--context", "8"]),
}


def run(command, **more):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=200, **more)
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


def losses(path):
    """step -> loss, norm. The log of a run that goes on has no line of titles."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        step, loss, norm = line.split(",")[:3]
        if step.isdigit():
            found[int(step)] = (float(loss), float(norm))
    return found


def compare(what, own, theirs, steps):
    worst = 0.0
    for step in steps:
        for name, a, b in zip(("loss", "norm"), own[step], theirs[step]):
            apart = abs(a - b)
            assert apart <= TOLERANCE + TOLERANCE * abs(a), (what, name, step, a, b)
            worst = max(worst, apart if name == "loss" else 0.0)
    return worst


def launched(command):
    """A launcher that does not end after its processes have (now and then PyTorch 1.13's) is ended:
    what they have written is looked at all the same."""
    text = [str(part) for part in command]
    process = subprocess.Popen(text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
    try:
        said, _ = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        print("torch.distributed.run did not end; it was ended", flush=True)
        return
    assert process.returncode == 0, f"{' '.join(text)}\n{said}"


def python(folder, arguments, processes=1):
    start = [sys.executable]
    if processes > 1:
        # A port of its own: --standalone of PyTorch 1.13 always takes the same. And with Python
        # 3.11 that has no word for neither redirecting nor copying what is said.
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        start += ["-m", "torch.distributed.run", "--rdzv_backend", "c10d", "--rdzv_endpoint",
                  f"localhost:{port}", "--redirects", 1, "--tee", 1, "--nproc_per_node", processes]
    work = launched if processes > 1 else run
    return work([*start, folder / "train.py", *arguments])


def file_of(data):
    """Options that name a file, which a run that goes on needs again."""
    return data[:2] if data[0] in ("--text", "--labels", "--pairs") else []


def begin(data, options, folder):
    """The first steps. Then the schedule is told that it is a longer one, so that rates still
    change in those that are compared: first of the warmup, then of the cosine."""
    run([HEADLIGHT, "train", *data, *options, "--threads", "2", "--steps", FEW, "--out", folder])
    path = folder / "train.json"
    state = json.loads(path.read_text())
    if state["schedule"]["kind"] == "cosine":
        floor = state["schedule"]["peak"] / 10
        state["schedule"].update(steps=2 * FEW, warmup=FEW + 4, floor=floor)
        path.write_text(json.dumps(state, indent=2))


def check_recipe(name, data, options, folder):
    begun, out, own = folder / "run", folder / "pytorch", folder / "own.csv"
    data = [str(folder.parent / part) if part.endswith((".txt", ".tsv", ".npy")) else part
            for part in data]
    begin(data, options, begun)
    # What a run that goes on needs again.
    file = [part for option, value in zip(data[::2], data[1::2]) for part in (option, value)
            if option in ("--text", "--labels", "--pairs", "--data-ids", "--validation")]
    goes_on = [HEADLIGHT, "train", *file, "--threads", "2", "--steps", LAST]
    run([*goes_on, "--resume", begun, "--out", folder / "whole", "--log", own])
    run([CONVERT, "convert", begun, "--out", out, "--to", "pytorch", *file, "--steps", LAST - FEW])
    expected, worst = losses(own), {}
    for processes in (1, 2):
        made, log, back = (folder / f"{word}{processes}" for word in ("made", "log", "back"))
        python(out, ["--steps", MORE, "--out", made, "--log", log, "--device", "cpu"], processes)
        worst[processes] = compare(f"{name}, {processes} processes", expected, losses(log),
                                   range(FEW, MORE))
        run([*goes_on, "--resume", made, "--out", folder / f"end{processes}", "--log", back])
        compare(f"{name}, back after {processes}", expected, losses(back), range(MORE, LAST))
    again = folder / "again"
    run([CONVERT, "convert", folder / "made1", "--out", again, "--to", "pytorch", *file])
    python(again, ["--steps", MORE + 1, "--log", folder / "log3", "--device", "cpu"])
    compare(f"{name}, converted again", expected, losses(folder / "log3"), range(MORE, MORE + 1))
    print(f"{name}: losses apart by at most {worst[1]:.1e} (one process), {worst[2]:.1e} (two)",
          flush=True)


def write_rows(path, rows=23, width=9):
    """Of int32, as NumPy saves them."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({rows}, {width}), }}"
    header = header.ljust(117) + "\n"
    ids = [(i * i + i // width) % 11 for i in range(rows * width)]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(ids)}i", *ids))


def main():
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: no python3 here has PyTorch (Debian: python3-torch)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name, text in (("text.txt", TEXT), ("labels.tsv", LABELS), ("pairs.tsv", PAIRS)):
            (scratch / name).write_text(text)
        write_rows(scratch / "rows.npy")
        for i, (name, (data, options)) in enumerate(RECIPES.items()):
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            folder = scratch / str(i)
            folder.mkdir()
            check_recipe(name, data, options, folder)


if __name__ == "__main__":
    main()
