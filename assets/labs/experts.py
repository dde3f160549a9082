# The curve: two straight parts, and a jump at 0.
x = np.linspace(-1, 1, 64)
y = np.where(x < 0, -0.8 - 1.2 * x, 0.5 + 0.4 * x)
slope, height, turn, start = t["lines_before"]  # by expert: its line, and how the gate finds it
into, bias, out = t["net_before"]               # three tanh units without a gate
last, n, competition = 0.0, len(x), controls["loss"] == "competition"
series["error.mixture"], series["error.network"] = [], []

for step in range(2001):
    gate = softmax(np.outer(x, turn) + start)
    lines = np.outer(x, slope) + height
    mixture = (gate * lines).sum(1)
    h = np.tanh(np.outer(x, into) + bias)
    network = h @ out + last
    if step % 50 == 0:
        series["error.mixture"].append(((mixture - y) ** 2).mean())
        series["error.network"].append(((network - y) ** 2).mean())
    if step == 2000:
        break
    if competition:  # −log Σ g exp(−miss² / 2σ²), times σ²: each expert answers for its share of a point
        share = gate * np.exp(-(y[:, None] - lines) ** 2 / (2 * 0.25 ** 2))
        share /= share.sum(1, keepdims=True)
        d_lines, d_scores = share * (lines - y[:, None]), gate - share
    else:            # the squared error of the mean
        d_lines = 2 * (mixture - y)[:, None] * gate
        d_scores = d_lines * (lines - mixture[:, None])
    slope, height = slope - 0.5 * x @ d_lines / n, height - 0.5 * d_lines.mean(0)
    turn, start = turn - 0.5 * x @ d_scores / n, start - 0.5 * d_scores.mean(0)
    back = 2 * (network - y) / n
    inner = np.outer(back, out) * (1 - h ** 2)
    out, last = out - 0.1 * back @ h, last - 0.1 * back.sum()
    into, bias = into - 0.1 * x @ inner, bias - 0.1 * inner.sum(0)

alone = lines[np.arange(n), gate.argmax(1)]  # only the best expert is heard
values["error.mixture"] = series["error.mixture"][-1]
values["error.network"] = series["error.network"][-1]
values["error.alone"] = ((alone - y) ** 2).mean()
series["curve.truth"], series["curve.mixture"], series["curve.network"] = y, mixture, network
for e in range(gate.shape[1]):
    series[f"curve.expert_{e + 1}"], series[f"gate.expert_{e + 1}"] = lines[:, e], gate[:, e]
    values[f"left.{e + 1}"], values[f"right.{e + 1}"] = gate[x < 0, e].mean(), gate[x > 0, e].mean()

# The gate of the small model reads the row of each word.
words = softmax(t["rows"] @ t["W_G"] + t["b_G"])
series["load.sentence"] = words.mean(0)
series["load.stories"] = softmax(t["story_rows"] @ t["W_G"] + t["b_G"]).mean(0)
used = len(set(words.argmax(1)))
values["used"], values["largest"] = used, words.max(1).mean()

ratio = values["error.alone"] / values["error.mixture"]
right["alone"] = 0 if ratio < 0.8 else 1 if ratio <= 1.25 else 2
right["used"] = 0 if used < 2 else 1 if used < 4 else 2
