scores, V = t["scores"][0], t["values"]

# A key that was edited: one term of q · k changes, or of v · tanh(q + k) where scores are additive.
key, feature, number = int(controls["key"]), int(controls["feature"]), float(controls["number"])
if key > 0:
    q, was = t["query"][feature], t["keys"][key - 1, feature]
    more = t["v"][feature] * (np.tanh(q + number) - np.tanh(q + was)) if "v" in t else q * (number - was)
    scores[key - 1] += t["factor"][0] * more

hard, mean = V[scores.argmax()], V.mean(0)  # the two ends: temperature 0, and infinity


def weights(temperature):
    if temperature == 0:
        return np.eye(len(scores))[scores.argmax()]
    return softmax(scores / temperature)  # ÷ infinity is 0: all alike


def found(temperature):
    p = weights(temperature)
    return {"largest": p.max(),
            "entropy": -(p * np.log2(np.where(p > 0, p, 1))).sum(),
            "distance.hard": np.linalg.norm(p @ V - hard),
            "distance.mean": np.linalg.norm(p @ V - mean)}


values.update(found(float(controls["temperature"])))
temperatures = 64 ** np.linspace(-1, 1, 25)
for name in values:
    series[name] = [found(temperature)[name] for temperature in temperatures]
series["scores"] = scores

if len(scores) > 1:
    cold = weights(1 / 64) @ V
    right["cold"] = int(np.argmin([np.linalg.norm(cold - end) for end in (hard, mean, 0 * mean)]))
