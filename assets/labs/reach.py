# Reach: what one layer reads, as a matrix of 0 and 1; n layers are its nth power. Recalled: the
# answers of trained models, right (1) or not (0), and over how many tokens they had to remember.
n = len(t["one_layer.full"])
i, j = np.indices((n, n))
back = i - j
reads = {"recurrent": back >= 0,  # through the states of all the tokens before
         "convolution": (back >= 0) & (back < 3),
         "local": (back >= 0) & (back <= 2),
         "strided": (back >= 0) & ((back < 4) | (back % 4 == 0)),
         "full": back >= 0}

for kind, one in reads.items():
    assert (one == t["one_layer." + kind]).all()  # what changed in the program behind one layer
    reached = [np.linalg.matrix_power(one.astype(float), layers)[-1] > 0 for layers in range(1, 9)]
    series["reached." + kind] = [row.sum() for row in reached]
    values["reached." + kind] = reached[int(controls["layers"]) - 1].sum()
    # From the last token back: tokens on the way of a recurrence, else the first layer that has it.
    series["path." + kind] = [distance if kind == "recurrent" else 1 + np.argmax([row[-1 - distance] for row in reached])
                              for distance in range(1, n)]
    if n > 1:
        values["path." + kind] = series["path." + kind][-1]  # from the first word to the last
    values["steps." + kind] = n if kind == "recurrent" else 1  # that must follow each other
    series["steps." + kind] = [tokens if kind == "recurrent" else 1 for tokens in (1, 4, 16, 64, 256, 1024)]
    hits = t["hits." + kind]
    values["recall." + kind] = hits.mean()
    series["recall." + kind] = [hits[t["distance"] == distance].mean() for distance in range(1, 17)]

if n > 1:
    right["first"] = 0 if values["reached.convolution"] == n else 1
    right["local"] = 0 if series["recall.local"][min(n - 1, 16) - 1] > 0.5 else 1
