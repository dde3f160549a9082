"""Rotary positions (Su et al. 2021) as GPT-NeoX and Llama checkpoints want them: feature i of the
turned part goes with feature i + half of it (not with its neighbour)."""

import math

import torch


def rates_of(width, base, scaling=None):
    """The angle that one step turns each of the width / 2 pairs by."""
    rates = [base ** (-2 * i / width) for i in range(width // 2)]
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    if kind == "default":
        return rates
    if kind == "linear":
        return [rate / scaling["factor"] for rate in rates]
    if kind == "llama3":
        return [llama3_rate(rate, scaling) for rate in rates]
    raise ValueError(f"no rope_scaling of type {kind}")


def llama3_rate(rate, scaling):
    """Long waves are slowed by the factor, short ones kept, those between are mixed (Llama 3.1)."""
    factor, context = scaling["factor"], scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    wavelength = 2 * math.pi / rate
    if wavelength < context / high:
        return rate
    if wavelength > context / low:
        return rate / factor
    share = (context / wavelength - low) / (high - low)
    return (1 - share) * rate / factor + share * rate


def turn(x, rates):
    """x (head, position, width); the first 2 · len(rates) features of each row are turned."""
    half, y = len(rates), x.clone()
    for position in range(x.shape[1]):
        for i, rate in enumerate(rates):
            cosine, sine = math.cos(position * rate), math.sin(position * rate)
            a, b = x[:, position, i], x[:, position, i + half]
            y[:, position, i] = a * cosine - b * sine
            y[:, position, i + half] = b * cosine + a * sine
    return y
