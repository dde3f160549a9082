# The weight was moved by h, up and down: `rise` is L(w + h) − L(w), `fall` is L(w) − L(w − h).
h, rise, fall = t["h"], t["rise"], t["fall"]
loss, gradient = t["loss"][0], t["gradient"][0]

slope = {"forward": rise / h, "central": (rise + fall) / (2 * h)}
for name, s in slope.items():
    error = np.abs(s - gradient)
    series[f"slope.{name}"], series[f"error.{name}"] = s, error
    values[f"error.{name}"], values[f"best_h.{name}"] = error.min(), h[error.argmin()]
series["slope.gradient"] = np.full(len(h), gradient)

# A float32 keeps 24 bits of a loss; what is lost is divided by h.
largest = np.maximum(np.abs(loss + rise), np.abs(loss - fall))
series["error.rounding"] = np.maximum(largest, 1) / 2**24 / h
values["gradient"], values["loss"], values["weight"] = gradient, loss, t["weight"][0]

error = series["error.central"]
right["smaller"] = int(error[-1] > error.min())
