# Rows of `wishes` are people, rows of `features` films; columns are the same four features.
person = t["wishes"][int(t["who"][0])]
films = ["chase", "heist", "love", "romcom", "farce", "drama"]
products = t["features"] @ person
ranked = np.argsort(-products, kind="stable")
for film, product in zip(films, products):
    values[f"product.{film}"] = product
series["ranking"] = products[ranked]
for i, feature in enumerate(["action", "romance", "comedy", "length"]):
    series[f"terms.{feature}"] = (t["features"] * person)[ranked, i]

# Two numbers for each person and film, so that their products come near to the ratings: 200 steps
# down the gradient of half the sum of squares.
P, F, errors = t["people"], t["films"], []
for update in range(201):
    miss = P @ F.T - t["ratings"]
    errors.append((miss**2).mean())
    if update < 200:
        P, F = P - 0.05 * miss @ F, F - 0.05 * miss.T @ P
series["error"], values["error"] = errors, errors[-1]
series["map.films"], series["map.people"] = F[:, 1], P[:, 1]
across = {"map.films": F[:, 0], "map.people": P[:, 0]}

# The last token's query of the first head, and the key that fits it best.
if "query" in t:
    series["own"], values["own"] = t["query"] * t["key"], t["query"] @ t["key"]

if products.max() > products.min():
    turned = -products  # every wish is turned into its opposite
    best = turned[ranked[0]]
    right["turned"] = 1 if best == turned.min() else 0 if best == turned.max() else 2
