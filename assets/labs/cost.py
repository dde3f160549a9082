# Times are what a clock said (milliseconds), activations what the plan of a training step keeps
# (MB). All else is counted here, for one layer of `heads` heads of d_k numbers.
T = np.array([32, 64, 128, 256, 512, 1024, 2048])
heads, d_k, d_model, hidden = t["layer"]
chosen = list(T).index(int(controls["tokens"]))
ways = dict(zip(["full", "fused", "local", "strided", "products"], t["times"]))
at = min(chosen, len(ways["full"]) - 1)  # the longest that was timed


def square(y):
    """T² through the last point."""
    return y[-1] * (T[:len(y)] / T[len(y) - 1]) ** 2


def crossing(a, b):
    """From how many tokens on a takes longer than b; 0: nowhere."""
    found, gap = 0, np.log(a / b)
    for i in range(1, len(gap)):
        if gap[i - 1] <= 0 < gap[i]:
            found = T[i - 1] * 2 ** (gap[i - 1] / (gap[i - 1] - gap[i]))
    return found


for way, time in ways.items():
    series[f"time.{way}"], values[f"time.{way}"] = time, time[at]
series["time.square"] = square(ways["full"])
values["growth"] = ways["full"][at] / ways["full"][at - 1]
values["crossing.fused"] = crossing(ways["full"], ways["fused"])
values["crossing.products"] = crossing(ways["full"], ways["products"])

# q, k, v and what is found: 4 · T · d_k numbers of 4 bytes for each head. Scores, scaled scores and
# weights: 3 · T² more.
memory = {"fused": 4 * heads * 4 * T * d_k / 1e6}
memory["full"] = memory["fused"] + 4 * heads * 3 * T ** 2 / 1e6
for name, mb in memory.items():
    series[f"memory.{name}"], values[f"memory.{name}"] = mb, mb[chosen]
series["memory.square"] = square(memory["full"])


def mask(kind, n):
    back = np.arange(n)[:, None] - np.arange(n)[None]  # how far a key lies behind its query
    near = {"full": back == back, "local": (0 <= back) & (back <= 64),
            "strided": (0 <= back) & ((back < 64) | (back % 64 == 0))}
    return near[kind]


for kind in ("full", "local", "strided"):
    series[f"pairs.{kind}"] = [mask(kind, n).sum() for n in T]
    if kind != "full":  # a block of 16 × 16 pairs is computed if one of them is allowed
        n = T[chosen] // 16
        values[f"computed.{kind}"] = mask(kind, T[chosen]).reshape(n, 16, n, 16).any((1, 3)).mean()

# A training step: weights (and, in 16 bits, those rounded to them), gradients (their sum and those
# of one piece), two moments of AdamW, activations.
parameters = 4 * (t["parameters"][0] * 1e6 + t["parameters"][1]) / 1e6
names = ["plain", "float16", "accumulated", "checkpointed", "chosen"]
for name, activations in zip(names, t["activations"]):
    half = name == "float16" or (name == "chosen" and controls["storage"] == "float16")
    parts = [(2 if half else 1) * parameters, 2 * parameters, 2 * parameters, activations]
    values[f"training.{name}"] = sum(parts)[chosen]
    if name in ("plain", "chosen"):
        series[f"training.{name}"] = sum(parts)
        series[f"parts.{name}"] = [part[chosen] for part in parts]

right["twice"] = 0 if values["growth"] < 3 else 1 if values["growth"] < 6 else 2
right["saves"] = int(np.argmin([values[f"training.{name}"] for name in names[1:4]]))
