# Queries and keys of d_k numbers are the first d_k columns of q and k, and v of additive scores.
widths = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
causal = controls["mask"] == "causal"


def scores_of(q, k):
    return {"undivided": q @ k.T,
            "divided": q @ k.T / np.sqrt(q.shape[1]),
            "additive": np.tanh(q[:, None] + k[None]) @ t["v"][:q.shape[1]]}


def measures(scores):
    """Spread of the scores; of their weights the largest, the entropy in bits, and how much comes
    back through softmax. A row with one key has nothing to choose from."""
    rows = [row[:i + 1] if causal else row for i, row in enumerate(scores)]
    p = [softmax(row) for row in rows if len(row) > 1]
    return {"spread": np.concatenate(rows).std(),
            "largest": np.mean([row.max() for row in p]) if p else 0,
            "entropy": np.mean([-(row * np.log2(np.where(row > 0, row, 1))).sum() for row in p]) if p else 0,
            "gradient": np.mean([np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p]) if p else 0}


for d_k in widths:
    for form, scores in scores_of(t["q"][:, :d_k], t["k"][:, :d_k]).items():
        for name, number in measures(scores).items():
            series.setdefault(f"{name}.{form}", []).append(number)
            if d_k == int(controls["d_k"]):
                values[f"{name}.{form}"] = number

gradient = series["gradient.undivided"]
start = 0 if controls["d_k"] == "1024" else widths.index(int(controls["d_k"]))
if gradient[start] > 0:
    ratio = gradient[-1] / gradient[start]
    right["gradient"] = 2 if ratio < 0.5 else 1 if ratio > 2 else 0

# One head of the model, and random queries and keys of the same width for as many words.
if "model_q" in t:
    n, d = t["model_q"].shape
    for name, q, k in (("model", t["model_q"], t["model_k"]), ("random", t["q"][:n, :d], t["k"][:n, :d])):
        found = [measures(scores) for scores in scores_of(q, k).values()]
        series[f"own_spread.{name}"] = [numbers["spread"] for numbers in found]
        series[f"own_largest.{name}"] = [numbers["largest"] for numbers in found]
    model, random = series["own_spread.model"][0], series["own_spread.random"][0]
    if n > 1 and random > 0:
        right["model"] = 0 if model < 0.8 * random else 2 if model > 1.25 * random else 1
