# The rows that come out for the words in their order, and for the words in a new one, in which
# place i has the word that stood at order[i]. A classifier says one row of the whole sentence.
order = t["order"].astype(int)
kinds = ["none", "sinusoidal", "learned", "rotary", "relative", "t5", "alibi", "transformer-xl"]

for told in ("none", "causal", "class"):
    series[f"difference.{told}"] = []
    for kind in kinds:
        before, after = t[f"before.{kind}.{told}"], t[f"after.{kind}.{told}"]
        expected = before if told == "class" else before[order]
        difference, size = np.abs(after - expected).max(), np.sqrt((before**2).mean())
        values[f"difference.{kind}.{told}"] = difference
        series[f"difference.{told}"].append(difference / size)
        if (kind, told) == (controls["positions"], controls["mask"]):
            right["asked"] = int(difference > 1e-4 * size)  # less is float32's rounding
