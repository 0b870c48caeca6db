# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of paired trials: confidence intervals, two one-sided tests (TOST), and Holm's correction for many figures.

A pair is half a block: one trial of each arm, next to each other in time. What is tested is the mean of ln(B / A) over
the pairs, so a ratio of 1.03 and one of 1/1.03 are equally far from 1. Pure: numbers in, numbers out."""
import functools
import math

ITERATIONS_MAX = 300


def incomplete_beta(a, b, x):
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, ITERATIONS_MAX):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + term * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + term / c
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * fraction


def t_above(t, freedom):
    """P(T > t) of Student's distribution."""
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2
    return tail if t >= 0 else 1 - tail


@functools.lru_cache(maxsize=4096)
def t_quantile(probability, freedom):
    """The t that is exceeded with `probability` (below one half), by halving."""
    low, high = 0.0, 1.0
    while t_above(high, freedom) > probability and high < 1e12:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if t_above(middle, freedom) > probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


class Paired:
    """ln ratios of pairs: their mean and standard error. `pairs`: (a, b), positive; others are left out."""

    def __init__(self, pairs, logs=None):
        self.logs = logs if logs is not None else [math.log(b / a) for a, b in pairs if a and b and a > 0 and b > 0]
        self.count = len(self.logs)
        self.mean = math.fsum(self.logs) / self.count if self.count else 0.0
        self.error = None  # with fewer than two pairs nothing is known of the spread
        if self.count >= 2:
            variance = math.fsum((x - self.mean) ** 2 for x in self.logs) / (self.count - 1)
            self.error = math.sqrt(variance / self.count)

    @classmethod
    def jackknife(cls, pairs, whole):
        """Of a figure that exists only of several trials together (a percentile of merged histograms): `whole(list)` is
        its value, or None. Pseudo-values of leaving out one pair at a time take the place of the pairs' ratios."""
        def log_of(chosen):
            a, b = (whole([pair[side] for pair in chosen]) for side in (0, 1))
            return math.log(b / a) if a and b else None

        logs, count, everything = [], len(pairs), log_of(pairs)
        for index in range(count):
            without = log_of(pairs[:index] + pairs[index + 1:])
            if everything is None or without is None:
                return cls([])
            logs.append(count * everything - (count - 1) * without)
        return cls([], logs)

    @property
    def ratio(self):
        return math.exp(self.mean) if self.count else None

    def half_width(self, alpha):
        """Of the two-sided interval of confidence 1 - alpha, in ln; None if unknown."""
        return None if self.error is None else t_quantile(alpha / 2, self.count - 1) * self.error

    def interval(self, alpha):
        """(low, high) of the ratio."""
        half = self.half_width(alpha)
        return None if half is None else (math.exp(self.mean - half), math.exp(self.mean + half))

    def different_p(self):
        """Of the hypothesis that the ratio is 1."""
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        return 2 * t_above(abs(self.mean) / self.error, self.count - 1)

    def equivalent_p(self, margin):
        """TOST: of the hypothesis that the ratio is outside 1/(1 + margin) … 1 + margin."""
        if self.error is None:
            return 1.0
        bound = math.log1p(margin)
        if self.error == 0:
            return 0.0 if abs(self.mean) < bound else 1.0
        return max(t_above((bound - self.mean) / self.error, self.count - 1),
                   t_above((bound + self.mean) / self.error, self.count - 1))


def holm(probabilities):
    """Holm's adjusted p values, in the order given: each may be compared with the alpha of all together."""
    order = sorted(range(len(probabilities)), key=lambda i: probabilities[i])
    adjusted, highest = [0.0] * len(probabilities), 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(probabilities) - rank) * probabilities[index]))
        adjusted[index] = highest
    return adjusted


class Verdict:
    """Of one figure within a family. `half_width` and `interval` hold for all figures together (Bonferroni)."""

    def __init__(self, paired, adjusted, alpha_each, alpha, half_width_max):
        self.paired = paired
        self.adjusted_p = adjusted
        half = paired.half_width(alpha_each)
        self.half_width = None if half is None else math.expm1(half)
        self.interval = paired.interval(alpha_each)
        self.is_narrow = self.half_width is not None and self.half_width <= half_width_max
        self.holds = adjusted <= alpha and self.is_narrow


def equivalence(family, margin, half_width_max, alpha):
    """`family`: name -> Paired. name -> Verdict: `holds` where equivalence within the margin is shown."""
    names = list(family)
    adjusted = holm([family[name].equivalent_p(margin) for name in names])
    # TOST at alpha is the 1 - 2 alpha interval within the margin.
    each = 2 * alpha / max(1, len(names))
    return {name: Verdict(family[name], p, each, alpha, half_width_max) for name, p in zip(names, adjusted)}


def difference(family, alpha):
    """name -> Verdict: `holds` where a difference is shown."""
    names = list(family)
    adjusted = holm([family[name].different_p() for name in names])
    return {name: Verdict(family[name], p, alpha / max(1, len(names)), alpha, math.inf)
            for name, p in zip(names, adjusted)}
