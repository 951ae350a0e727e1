"""What a design of this size can see."""

from __future__ import annotations

import math

from scipy.special import ndtri

from papertrain.results.stats.means import t_quantile


def detectable(sd: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest mean paired difference found with the given power: (z + z) sd / sqrt n."""
    return float(ndtri(1 - alpha / 2) + ndtri(power)) * sd / math.sqrt(n)


def detectable_binary(share_discordant: float, n: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The same for 0/1 scores of which a share differs between the systems."""
    return detectable(math.sqrt(share_discordant), n, alpha=alpha, power=power)


def questions(
    omega2: float,
    var_a: float,
    var_b: float,
    delta: float,
    k_a: int = 1,
    k_b: int = 1,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Items needed to see a difference delta (Miller 2024): omega2 is the variance of the items' true differences,
    var the variance of one answer, k the answers per item."""
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return z * z * (omega2 + var_a / k_a + var_b / k_b) / (delta * delta)


def detectable_from(
    omega2: float,
    var_a: float,
    var_b: float,
    n: float,
    k_a: int = 1,
    k_b: int = 1,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    z = float(ndtri(1 - alpha / 2) + ndtri(power))
    return z * math.sqrt((omega2 + var_a / k_a + var_b / k_b) / n)


def detectable_seeds(k: int, *, paired: bool = False, alpha: float = 0.05, power: float = 0.8) -> float:
    """Smallest effect in standard deviations that k seeds per system find with the given power (noncentral t)."""
    from scipy.special import nctdtr

    df = k - 1 if paired else 2 * (k - 1)
    scale = math.sqrt(k) if paired else math.sqrt(k / 2)
    edge = t_quantile(df, 1 - alpha)
    low, high = 0.0, 100.0
    for _ in range(60):
        d = (low + high) / 2
        seen = 1 - float(nctdtr(df, d * scale, edge))
        low, high = (d, high) if seen < power else (low, d)
    return (low + high) / 2


def smallest_p_of_seeds(k: int, *, paired: bool) -> float:
    """The smallest two-sided p that an exact permutation test can give: 0.25 for 3 pairs, 0.1 for 3 against 3."""
    return min(1.0, 2 / (2**k if paired else math.comb(2 * k, k)))
