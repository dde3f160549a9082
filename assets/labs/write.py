
for name, value in values.items():
    print(f"{name:32} {value:.6g}")
for name, y in series.items():
    print(f"{name:32}", *(f"{number:.4g}" for number in y))
