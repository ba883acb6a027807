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
    p: float  # Mann-Whitney, two-sided; nan: too few samples to tell
    significant: bool = False


def change(old, new):
    if len(old) < 4 or len(new) < 4:
        p = math.nan
    else:
        p = float(stats.mannwhitneyu(new, old, alternative="two-sided").pvalue)
    return Change(statistics.median(new) / statistics.median(old), p)


def with_significance(changes, level=0.05):
    """Among many comparisons some differ by chance: Holm's correction."""
    order = sorted((i for i, c in enumerate(changes) if not math.isnan(c.p)), key=lambda i: changes[i].p)
    result = list(changes)
    for rank, i in enumerate(order):
        if changes[i].p > level / (len(order) - rank):
            break
        result[i] = dataclasses.replace(changes[i], significant=True)
    return result
