import math

steps = ["basic", "queries", "scale", "mask", "heads", "output", "residual", "norm", "feed-forward", "layers"]
x0 = t["x"]
T, d = x0.shape
w = {}  # the parameters that there are so far


def norm(x, name):
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w[name + ".w"] + w[name + ".b"]


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def project(x, block, letter):
    return np.einsum("td,hde->hte", x, w[block + "attn.W_" + letter]) + w[block + "attn.b_" + letter][:, None]


def transformer(has):
    """Row by row what comes out, and of the first layer the scores and the weights (head, query, key)."""
    x, first = x0, None
    for layer in range(2 if has("layers") else 1):
        block = f"blocks.{layer}."
        a = norm(x, block + "ln1") if has("norm") else x
        q, k, v = [project(a, block, letter) for letter in "QKV"] if has("queries") else [a[None]] * 3
        scores = s = q @ k.transpose(0, 2, 1)
        if has("scale"):
            s = s / np.sqrt(q.shape[2])
        if has("mask"):
            s = np.where(np.tri(T, dtype=bool), s, -np.inf)
        p = softmax(s)
        first = first or (scores, p)
        change = (p @ v).transpose(1, 0, 2).reshape(T, -1)  # the heads side by side
        if has("output"):
            change = change @ w[block + "attn.W_O"].reshape(-1, d) + w[block + "attn.b_O"]
        x = x + change if has("residual") else change
        if has("feed-forward"):
            a = norm(x, block + "ln2") if has("norm") else x
            x = x + gelu(a @ w[block + "mlp.W_in"] + w[block + "mlp.b_in"]) @ w[block + "mlp.W_out"] + w[block + "mlp.b_out"]
    return x, *first


for name in ("parameters", "multiply_adds", "largest", "alike"):
    series[name] = []
for place, step in enumerate(steps):
    w.update({name[len(step) + 1:]: tensor for name, tensor in t.items() if name.startswith(step + ".")})
    x, scores, p = transformer(lambda part: steps.index(part) <= place)
    values["later." + step] = np.triu(p[0], 1).sum(1).mean()
    values["asymmetry." + step] = np.abs(scores[0] - scores[0].T).max()
    cosine = (x * x0).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(x0, axis=1)
    values["alike." + step] = cosine.mean()
    if step == "heads":
        values["heads_apart"] = np.abs(p[0] - p[1]).sum(1).mean() / 2
    series["largest"].append(p[0].max(1).mean())
    series["alike"].append(cosine.mean())
    series["parameters"].append(sum(tensor.size for tensor in w.values()))
    # Each cell of a weight matrix meets every row; scores and sums take d numbers for each pair.
    layers = 2 if step == "layers" else 1
    matrices = sum(tensor.size for name, tensor in w.items() if ".W_" in name and "W_E" not in name)
    series["multiply_adds"].append(T * matrices + layers * 2 * T * T * d)

more = [b - a for a, b in zip(series["parameters"], series["parameters"][1:]) if b > a]
right["parameters"] = int(np.argmax(more))
