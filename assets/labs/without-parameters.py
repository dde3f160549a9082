# Each word is its own query, key and value. Random vectors of d numbers are the first d columns.
x, random = t["x"], t["random"]
temperature, scale = float(controls["temperature"]), controls["scale"] == "on"


def weights(x, scale, temperature):
    return softmax(x @ x.T / (np.sqrt(x.shape[1]) if scale else 1) / temperature)


def on_itself(*options):
    return np.diag(weights(*options)).mean()


def lengths_and_cosines(x):
    length = np.linalg.norm(x, axis=1)
    return length, x @ x.T / np.outer(length, length)


length, cosine = lengths_and_cosines(x)
along = cosine * length  # row i: how far each word reaches along word i
np.fill_diagonal(along, -np.inf)
series["reach.own"], series["reach.other"] = length, along.max(1) if len(x) > 1 else [0]

widths = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
temperatures = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32]
geometry = [lengths_and_cosines(random[:, :d]) for d in widths]
series["geometry.length"] = [length.mean() for length, _ in geometry]
different = [np.abs(c[np.abs(c) < 1 - 1e-5]) for _, c in geometry]  # not a word and itself
series["geometry.cosine"] = [c.mean() if len(c) else 0 for c in different]
for name, divided in (("undivided", False), ("divided", True)):
    series[f"width.{name}"] = [on_itself(random[:, :d], divided, temperature) for d in widths]
    series[f"heat.{name}"] = [on_itself(x, divided, heat) for heat in temperatures]

p = weights(x, scale, temperature)
y = p @ x
values["width"], values["itself"], values["length"] = x.shape[1], np.diag(p).mean(), length.mean()
values["cosine_of_y_and_x"] = ((x * y).sum(1) / length / np.linalg.norm(y, axis=1)).mean()

if len(x) > 1:
    own, other = p[-1, -1], p[-1, :-1].max()
    right["last"] = 0 if own > other else 1 if own < other else 2
