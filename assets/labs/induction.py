# weights (step, which head is off, row, head, query, key) and logits (said) of eight repeated rows, with
# the model's weights at some steps; the curve of the whole run.
steps = [0, 60, 120, 150, 180, 210, 240, 300, 420, 600]
off = ["none", "previous", "induction"]
ids, targets = t["ids"].astype(int), t["targets"].astype(int)


def previous_score(w):
    """The mean weight on the token before."""
    return np.diag(w, -1).mean()


def induction_score(w, row):
    """The mean weight on what stands behind an earlier token of the same kind."""
    same = np.tril(row[:, None] == row[None], -1)  # key j is the same token as query i
    behind = np.roll(same, 1, axis=1)  # and the place behind it
    behind[:, 0] = False
    some = behind.any(1)
    return (w * behind).sum(1)[some].mean() if some.any() else 0


def loss_of(logits, target):
    p = softmax(logits)
    return -np.log(p[target >= 0, target[target >= 0]]).mean()


previous, induction, loss = (np.array([[np.mean(one) for one in at] for at in each]) for each in (
    [[[previous_score(w[0]) for w in rows] for rows in step] for step in t["weights"]],
    [[[induction_score(w[1], row) for w, row in zip(rows, ids)] for rows in step] for step in t["weights"]],
    [[[loss_of(x, y) for x, y in zip(rows, targets)] for rows in step] for step in t["said"]]))

series["loss"] = t["run.curve"][:, 1]
series["score.previous"], series["score.induction"] = previous[:, 0], induction[:, 0]
series["score.without"] = induction[:, 1]
for i, line in enumerate(["none", "no_previous", "no_induction"]):
    series[f"off.{line}"] = loss[:, i]

step, now = steps.index(int(controls["step"])), off.index(controls["off"])
values["loss"], values["previous"], values["induction"] = loss[step, now], previous[step, now], induction[step, now]
values["sentence.induction"] = induction_score(t["sentence"], t["sentence.ids"].astype(int))

# The first head is switched off, or the second where that is what is off.
score, gone = (previous, 2) if now == 2 else (induction, 1)
before, after = score[step, 0], score[step, gone]
if before >= 0.2:
    right["second" if now == 2 else "first"] = 0 if after >= 0.75 * before else 1 if after >= 0.25 * before else 2
