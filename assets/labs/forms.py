# The same three words in each form: in how many pairs of query and key there is a weight.
for form, attentions in {"encoder": 1, "decoder": 1, "both": 3}.items():
    values[f"pairs.{form}"] = sum(np.count_nonzero(t[f"{form}.{i}"]) for i in range(attentions))

# Hidden words: scores of all words by both sides and by the left one, (place, row, word).
for side in ["both", "left"]:
    p = softmax(t[f"said.{side}"])
    of_right = np.take_along_axis(p, t[f"right.{side}"].astype(int)[..., None], -1)[..., 0]
    series[f"gap.{side}"] = of_right.mean(1)
    values[f"gap.{side}"] = series[f"gap.{side}"][int(controls["gap"]) - 1]
both, left = values["gap.both"], values["gap.left"]
right["gap"] = 0 if both > 1.1 * left else 1 if left > 1.1 * both else 2

# What a model that learns to sort says, (step, row, place): with the right row before it, and alone.
chosen = [0, 20, 40, 60, 100, 150, 200, 400].index(int(controls["step"]))
for way in ["forced", "alone"]:
    equal = t[way] == t["right"]
    series[f"forcing.{way}"] = equal.mean((1, 2))
    series[f"place.{way}"] = equal[chosen].mean(0)
    values[way] = equal[chosen].mean()
difference = values["alone"] - values["forced"]
right["forcing"] = 1 if difference < -0.02 else 2 if difference > 0.02 else 0
