# Sinusoids and a learned table; how often trained models found the token that stood so many back,
# of 256 rows, by position.
d, places = 32, 128
position, shift, back = (int(controls[name]) for name in ("position", "shift", "back"))
speed = 10000.0 ** (-np.arange(0, d, 2) / d)  # angle per position, of each pair
angle = np.arange(places)[:, None] * speed
table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(places, d)
learned = t[f"table.{back}"]

series["hands.at"], series["hands.shifted"] = np.sin(angle[position]), np.sin(angle[position + shift])
series["wavelength"] = 2 * np.pi / speed

# Row p times the rotation by the shift is row p + shift, at every p.
rotation = np.zeros((d, d))
for i, turn in enumerate(shift * speed):
    rotation[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
values["rotation_error"] = np.abs(table[:places - shift] @ rotation - table[shift:]).max()


def by_distance(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return [np.diag(unit @ unit.T, distance).mean() for distance in range(min(64, len(rows)))]


series["product.sinusoidal"], series["product.learned"] = by_distance(table), by_distance(learned)
values["product"] = table[position] @ table[position + shift] / (d / 2)

for kind in ("none", "sinusoidal", "learned", "rotary", "relative", "alibi", "t5"):
    accuracy = t[f"right.{kind}.{back}"][back:] / 256
    series["longer." + kind] = accuracy
    values["at_16." + kind] = accuracy[:16 - back].mean()
    if kind != "learned":  # its table ends
        values["at_32." + kind] = accuracy.mean()

if shift:
    def moved(pair):  # straight from where the hand was to where it is
        return 2 * abs(np.sin(shift * speed[pair] / 2))

    right["hand"] = 0 if moved(0) < moved(8) else 1
right["alibi"] = 0 if values["at_16.alibi"] > 0.5 else 1
