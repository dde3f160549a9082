"""Folders of the PyTorch export, each with expected.safetensors: the logits of some ids.

usage: pytorch_logits.py FOLDER_OF_FOLDERS

Tolerance: |a - b| <= 1e-4 + 1e-4 |b|; the largest difference seen is printed.
"""
import importlib.util
import pathlib
import sys

try:
    import torch
except ImportError:
    print("skipped: no python3 here has PyTorch (Debian: python3-torch)")
    sys.exit(77)

torch.set_num_threads(1)
worst, count = 0.0, 0
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    spec = importlib.util.spec_from_file_location("exported", folder / "model.py")
    exported = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exported)
    expected = exported.read_safetensors(folder / "expected.safetensors")
    source = expected["source"].long() if "source" in expected else None
    with torch.no_grad():
        made = exported.load(folder)(expected["ids"].long(), source=source)["logits"].flatten()
    apart = (made - expected["logits"]).abs()
    allowed = 1e-4 + 1e-4 * expected["logits"].abs()
    assert (apart <= allowed).all(), (folder.name, apart.max().item())
    worst, count = max(worst, apart.max().item()), count + 1
print(f"{count} models, largest difference {worst:.1e}")
assert count > 10
