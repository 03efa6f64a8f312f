"""Statistics over seeds and along k; a run is one observation, a seed one replicate."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from infonce.report.selection import CELL

CONFIDENCE = 0.95
DOMINANCE = 0.05  # the second-order term is at most this share of the first where a slope is fitted
FEWEST_POINTS = 3


@dataclass(frozen=True)
class Mean:
    """A mean over n replicates; `half_width` is that of the 95 % t-interval, None where n < 2 or nothing varies."""

    value: float
    half_width: float | None
    n: int
    cells_left_out: int = 0  # as not every replicate has them
    seeds_left_out: int = 0  # as they have less than half of the cells, or none of those that the others share

    @property
    def without(self) -> str:
        """What was left out so that all replicates are over the same cells; empty where nothing was."""
        cells, seeds = self.cells_left_out, self.seeds_left_out
        parts = [
            *([f"{cells} {'cell' if cells == 1 else 'cells'} that a seed lacks"] if cells else []),
            *([f"{seeds} {'seed' if seeds == 1 else 'seeds'} with too few cells"] if seeds else []),
        ]
        return f"without {' and '.join(parts)}" if parts else ""

    @property
    def over(self) -> str:
        """What stands behind the interval, or why there is none."""
        without = f", {self.without}" if self.without else ""
        if self.half_width is not None:
            return f"95 % interval over {self.n} seeds{without}"
        return f"the same in {self.n} seeds{without}" if self.n > 1 else f"{self.n} seed, no interval{without}"

    @property
    def lower(self) -> float:
        """Lower end of the interval, the mean where there is no interval."""
        return self.value - (self.half_width or 0.0)

    @property
    def upper(self) -> float:
        """Upper end of the interval, the mean where there is no interval."""
        return self.value + (self.half_width or 0.0)


def mean_with_interval(values: pd.Series | np.ndarray | list[float]) -> Mean:
    """Mean and t-interval of the finite values."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    n = len(finite)
    if n == 0:
        return Mean(math.nan, None, 0)
    spread = float(np.std(finite, ddof=1)) if n >= 2 else 0.0
    if spread <= 1e-12 * abs(finite.mean()):  # no spread beyond rounding
        return Mean(float(finite.mean()), None, n)
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))
    return Mean(float(finite.mean()), quantile * spread / math.sqrt(n), n)


def mean_over_seeds(runs: pd.DataFrame, column: str) -> Mean:
    """Each seed's mean over its cells is one replicate: runs that share a seed are not independent.

    A cell is a point of the grid but for the seed. Means over different cells differ by the cells alone, so where runs
    are missing only the cells count that every counted seed has. Not counted are seeds with less than half as many
    cells as the fullest, which would cost the others most of theirs, and then, the emptiest first, seeds that leave no
    common cell: where two seeds share none, one is left, without an interval. `over` and the tables say what is out.
    """
    known = runs.dropna(subset=[column])
    if known.empty:
        return mean_with_interval([])
    axes = [axis for axis in CELL if axis in known]
    table = known.assign(all_of_them=0).pivot_table(index=axes or "all_of_them", columns="seed", values=column)
    counts = table.count().sort_values(ascending=False, kind="stable")
    seeds = list(counts[2 * counts >= counts.iloc[0]].index)  # the fullest first
    while (shared := table[seeds].dropna()).empty:
        seeds.pop()
    mean = mean_with_interval(shared.mean())
    left_out = len(table[seeds].dropna(how="all")) - len(shared)
    return replace(mean, cells_left_out=left_out, seeds_left_out=len(counts) - len(seeds))


def first_order_rules(curves: pd.DataFrame) -> pd.Series:
    """Rows where |second_order| ≤ 0.05 |first_order|: known from the measured q alone, before any risk is looked at."""
    return (curves["first_order"] != 0) & (curves["second_order"].abs() <= DOMINANCE * curves["first_order"].abs())


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least-squares slope of log|y| against log x, over points that have logarithms; NaN below three of them."""
    shown = (x > 0) & np.isfinite(y) & (y != 0)
    if np.count_nonzero(shown) < FEWEST_POINTS:
        return math.nan
    return float(np.polyfit(np.log(x[shown]), np.log(np.abs(y[shown])), 1)[0])


def rates(curves: pd.DataFrame) -> pd.DataFrame:
    """One row a run: slope of log|R - CE| on log k where the first-order term rules, that range, and the coefficients.

    `predicted` is the first-order coefficient from the measured q; `measured` is k(R - CE) at the largest k.
    """
    keys = ["run", "negatives", "temperature", "seed"]
    ordered = curves.assign(ruled=first_order_rules(curves)).sort_values("risk_negatives")
    return pd.DataFrame(
        [dict(zip(keys, key, strict=True)) | _rate(curve) for key, curve in ordered.groupby(keys, sort=True)],
        columns=[*keys, "slope", "points", "from_k", "to_k", "predicted", "measured"],
    )


def _rate(curve: pd.DataFrame) -> dict[str, float]:
    k, difference, first_order, ruled = (
        curve[name].to_numpy() for name in ("risk_negatives", "difference", "first_order", "ruled")
    )
    fitted = slope(k[ruled].astype(float), difference[ruled].astype(float))
    reached = math.isfinite(fitted)
    return {
        "slope": fitted,
        "points": int(ruled.sum()),
        "from_k": float(k[ruled][0]) if reached else math.nan,
        "to_k": float(k[ruled][-1]) if reached else math.nan,
        "predicted": float(first_order[-1] * k[-1]),
        "measured": float(difference[-1] * k[-1]),
    }


def rank_correlation(x: pd.Series, y: pd.Series) -> float:
    """Spearman's coefficient of the pairs that are both finite; NaN below three pairs or where one side is constant."""
    pairs = np.stack([x.to_numpy(float), y.to_numpy(float)])
    pairs = pairs[:, np.isfinite(pairs).all(axis=0)]
    if pairs.shape[1] < FEWEST_POINTS or (np.ptp(pairs, axis=1) == 0).any():
        return math.nan
    return float(np.corrcoef(stats.rankdata(pairs, axis=1))[0, 1])
