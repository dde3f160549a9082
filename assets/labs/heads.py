def bits(p):
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(-1).mean()


# Random heads in 64 numbers: each of its share of them (narrow), or each of all (wide).
d, counts = 64, [1, 2, 4, 8]
chosen = int(controls["heads"])
for h in counts:
    parameters = {"narrow": 4 * (d * d + d),
                  "wide": 3 * h * (d * d + d) + h * d * d + d}
    for breadth in ["narrow", "wide"]:
        p = t[f"{breadth}.{h}"]
        series.setdefault(f"parameters.{breadth}", []).append(parameters[breadth])
        series.setdefault(f"entropy.{breadth}", []).append(np.mean([bits(head) for head in p]))
        if h == chosen:
            values[f"parameters.{breadth}"] = parameters[breadth]
    series.setdefault("entropy.mean", []).append(bits(t[f"narrow.{h}"].mean(0)))

# The two heads of the model's layer that are farthest apart, and their mean.
if "own" in t:
    own = t["own"]
    distance, a, b = max((np.abs(own[a] - own[b]).sum(-1).mean() / 2, -a, -b)
                         for a in range(len(own)) for b in range(a + 1, len(own)))
    first, second = own[-a], own[-b]
    values["own.distance"] = distance
    values["own.entropy_a"], values["own.entropy_b"] = bits(first), bits(second)
    values["own.entropy_mean"] = bits((first + second) / 2)
    if distance > 0:
        each, mean = [bits(first), bits(second)], bits((first + second) / 2)
        right["mean"] = 0 if mean < min(each) else 1 if mean <= max(each) else 2

# One head and two that learned to answer: weights of the question on the six tokens of each
# sentence, (sentence, head, token), and the scores of the answers.
for name in ["one", "two"]:
    series[f"learning.{name}"] = t[f"{name}.curve"][:, 1]
    p = softmax(t[f"said.{name}"])
    values[f"loss.{name}"] = -np.log(p[np.arange(len(p)), t["targets"].astype(int)]).mean()
one, (first, second) = t["weights.one"].mean(0)[0], t["weights.two"].mean(0)
series["looks.one"], series["looks.first"], series["looks.second"] = one, first, second
giver, thing, receiver = one[0], one[2], one[4]
right["asked"] = 3 if max(giver, thing, receiver) < 0.6 else int(np.argmax([giver, thing, receiver]))
