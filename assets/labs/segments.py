# The losses that were recorded, by segment of the text and position in the segment: means of 64
# texts. The first segment has nothing to remember, and is left out where positions are compared.
for name in ("memory_0", "memory_8", "memory_16", "whole"):
    losses = t["losses." + name]
    series["position." + name] = losses[1:].mean(0)
    series["segment." + name] = losses.mean(1)
    values["loss." + name] = losses[1:].mean()
    values["first." + name] = losses[1:, 0].mean()
    if name != "whole":
        series["training." + name] = t[name + ".curve"][:, 1]

chosen = series["position.memory_" + controls["memory"]]
right["begins"] = 1 if chosen[0] > chosen[-1] + 0.5 else 0
