# stream.BUILD and gradient.BUILD: what is behind each layer, (layer, token, feature).
builds = ["pre-norm", "post-norm", "no-norm", "no-residual"]
size, gradient = ({b: np.sqrt((t[f"{name}.{b}"] ** 2).mean((1, 2))) for b in builds}
                  for name in ("stream", "gradient"))

# losses.BUILD: of short trainings with 1, 2, 4 … 32 layers, before and after. Who knows nothing but
# how frequent words are has the entropy of their shares as loss.
share = t["word_counts"] / t["word_counts"].sum()
values["frequencies"] = frequencies = -(share * np.log(np.where(share > 0, share, 1))).sum()
layers = np.array([1, 2, 4, 8, 16, 32])
series["start.frequencies"] = [frequencies] * len(layers)

for b in builds:
    series[f"size.{b}"], values[f"size.{b}"] = size[b], size[b][-1]
    series[f"gradient.{b}"], values[f"gradient.{b}"] = gradient[b], gradient[b][0]
    before, after = t[f"losses.{b}"].T
    series[f"start.{b}"], values[f"start.{b}"], values[f"before.{b}"] = after, after[-1], before[-1]
    values[f"deepest.{b}"] = layers[after < frequencies - 0.1].max(initial=0)

cut = gradient["no-residual"]
if len(cut) > 1:
    ratio = cut[0] / cut[-1]
    right["residual"] = 0 if ratio < 0.5 else 1 if ratio <= 2 else 2
right["start"] = int(values[f"deepest.{controls['build']}"] == 32)
