z = t["logits"]  # of what comes behind the last token
temperature, top_k, top_p = (float(controls[name]) for name in ("temperature", "top_k", "top_p"))


def chances(temperature, top_k=0, top_p=1):
    """Each token's probability of being drawn. Tokens stand in the order of their probabilities:
    top-k keeps the first k, top-p as many as together have p, and what is kept is divided by its sum."""
    if temperature == 0:
        return np.eye(len(z))[z.argmax()]
    p = softmax(z / temperature)
    order = np.argsort(-p, kind="stable")
    count = int(top_k) or len(z)
    if top_p < 1:
        count = min(count, np.searchsorted(np.cumsum(p[order]), top_p - 1e-9) + 1)
    kept = np.zeros(len(z))
    kept[order[:count]] = p[order[:count]]
    return kept / kept.sum()


def entropy(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum()


plain, drawn = chances(1), chances(temperature, top_k, top_p)
values["entropy"], values["largest"], values["kept"] = entropy(drawn), drawn.max(), (drawn > 0).sum()

first = np.argsort(-plain, kind="stable")[:12]
series["distribution.all"], series["distribution.drawn"] = plain[first], drawn[first]
steps = np.arange(1, 17) / 16
series["largest"] = [chances(2 * step).max() for step in steps]
series["entropy"] = [entropy(chances(2 * step)) for step in steps]
series["nucleus"] = [(chances(1, 0, step) > 0).sum() for step in steps]
branches = np.sort(drawn)[::-1][:3]  # the first tokens of the tree

if len(z) > 1:
    cold = chances(0.5).max()
    right["first"] = 0 if cold > plain.max() else 1 if cold < plain.max() else 2
