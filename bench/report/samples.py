"""Statistics of a row's samples, after Hoefler and Belli, "Scientific benchmarking of parallel computing systems",
SC 2015: medians with confidence intervals from ranks, as times are not distributed normally; all samples kept."""
import dataclasses
import math
import statistics

from scipy import stats

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Summary:
    samples: list
    median: float
    low: float  # of the confidence interval of the median
    high: float
    certain: bool  # there are enough samples for that interval; else it is the range
    outliers: list  # beyond 1.5 interquartile ranges: shown, and counted like all others


def interval(count, confidence=CONFIDENCE):
    """Ranks from 0 of the median's interval, (first, last); None: so few samples say nothing at that confidence."""
    if 1 - 2 * 0.5 ** count < confidence:
        return None
    low = int(stats.binom.ppf((1 - confidence) / 2, count, 0.5))
    while low > 0 and stats.binom.cdf(low - 1, count, 0.5) > (1 - confidence) / 2:
        low -= 1
    return max(low - 1, 0), min(count - low, count - 1)


def summary(samples):
    known = sorted(s for s in samples if s is not None)
    if not known:
        raise ValueError("no samples")
    ranks = interval(len(known))
    first, last = ranks or (0, len(known) - 1)
    outliers = []
    if len(known) >= 4:
        q1, _, q3 = statistics.quantiles(known, n=4, method="inclusive")
        reach = 1.5 * (q3 - q1)
        outliers = [s for s in known if s < q1 - reach or s > q3 + reach]
    return Summary(known, statistics.median(known), known[first], known[last], ranks is not None, outliers)


@dataclasses.dataclass(frozen=True)
class Change:
    ratio: float  # of the medians, new over old
    p: float  # Mann-Whitney, two-sided
    least_p: float  # that so many samples can have: 1, there are none
    significant: bool = False
    testable: bool = False  # among so many comparisons it could be significant


def change(old, new):
    if not old or not new:
        return Change(math.nan, 1.0, 1.0)
    before, after = statistics.median(old), statistics.median(new)
    ratio = after / before if before else 1.0 if not after else math.inf
    p = float(stats.mannwhitneyu(new, old, alternative="two-sided").pvalue)
    return Change(ratio, p, min(1.0, 2 / math.comb(len(old) + len(new), len(old))))


def with_significance(changes, level=0.05):
    """Among many comparisons some differ by chance: Holm's correction, over those that could be significant at all with
    so few samples (Tarone, Biometrics 46, 1990)."""
    number = 1
    while sum(c.least_p <= level / number for c in changes) > number:
        number += 1
    changes = [dataclasses.replace(c, testable=c.least_p <= level / number) for c in changes]
    order = sorted((i for i, c in enumerate(changes) if c.testable), key=lambda i: changes[i].p)
    result = list(changes)
    for rank, i in enumerate(order):
        if changes[i].p > level / (len(order) - rank):
            break
        result[i] = dataclasses.replace(changes[i], significant=True)
    return result
