# Two models learned to sort six numbers: their curves, and for 64 rows what each said with the
# right row before it and alone.
for mask in ["none", "causal"]:
    series[f"loss.{mask}"] = t[f"{mask}.curve"][:, 1]
    values[f"training.{mask}"] = (t[f"forced.{mask}"] == t["right"]).mean()
    values[f"alone.{mask}"] = (t[f"alone.{mask}"] == t["right"]).mean()
for bars in ["training", "alone"]:
    series[f"right.{bars}"] = [values[f"{bars}.none"], values[f"{bars}.causal"]]
alone = values[f"alone.{controls['mask']}"]
right["alone_open" if controls["mask"] == "none" else "alone_causal"] = 0 if alone >= 0.9 else 1 if alone >= 0.5 else 2

# What the heads of the chosen one give the next token where numbers are written, from [SEP] on.
values["next"] = max(np.diag(head, 1)[6:].mean() for head in t["pattern"])

# The sentence's n words with [PAD] behind them: scores (head, query, key), values (head, key, d).
n, chosen = int(t["words"][0]), int(controls["padding"])


def attention(pads):
    p = softmax(t["scores"][:, :n, :n + pads])
    return p[:, :, n:].sum(-1).mean(), p @ t["values"][:, :n + pads]


without = attention(0)[1]
for pads in range(17):
    weight, out = attention(pads)
    series.setdefault("pads.weight", []).append(weight)
    series.setdefault("pads.change", []).append(np.linalg.norm(out - without) / np.linalg.norm(without))
values["pads.weight"], values["pads.change"] = series["pads.weight"][chosen], series["pads.change"][chosen]
values["pads.masked"] = 0  # exp(−∞) = 0: masked keys add nothing to a sum
if chosen > 0:
    weight, share = values["pads.weight"], chosen / (chosen + n)
    right["pads"] = 0 if weight < 0.02 else 1 if weight < 0.8 * share else 2

# One row of scores, all keys forbidden: by the formula, and with a large number in float32.
row = t["scores"][0, 0, :n].astype(np.float32)
with np.errstate(invalid="ignore"):
    values["empty.nan"] = np.isnan(np.exp((row - np.inf) - (row - np.inf).max())).sum()
values["empty.here"] = 0
values["empty.large"] = softmax(row - np.float32(1e9)).max()
