"""Claim 8: early stopping."""

import pandas as pd

from infonce.report import fits
from infonce.report import format as fmt
from infonce.report.claims.claim import Answer, Claim, Verdict, judged, not_measured, seed_limits
from infonce.report.figures.stopping import along_training, with_gap
from infonce.report.selection import Selection
from infonce.report.tabulate import Column, Table

STRONG = 0.5  # rank correlation from which gap and distance count as rising together


def answer(selection: Selection) -> Answer:
    """Rank correlation of gap and distance within each run, and where the held-out loss was lowest."""
    runs = per_run(selection)
    known = runs.dropna(subset="correlation")
    if known.empty:
        return not_measured("no run has three recorded steps or more.")
    strong = int((known["correlation"] >= STRONG).sum())
    verdict = judged(strong, len(known))
    opening = {
        Verdict.SUPPORTED: "The gap grows with the distance from the first weights",
        Verdict.PARTLY: "The gap grows with the distance from the first weights in most runs",
    }.get(verdict, "The data do not support that the gap grows with the distance from the first weights")
    return Answer(
        verdict,
        f"{opening}: within a run their rank correlation is {fmt.number(known['correlation'].median())} in the median "
        f"({fmt.span(known['correlation'])}), {STRONG} or more in {fmt.share(strong, len(known))} runs.",
        f"{_gain(known)} ‖θ̂ − θ₀‖ ends at {fmt.span(known['displacement'])}.",
    )


def _gain(runs: pd.DataFrame) -> str:
    """What stopping earlier would have done to the held-out loss, which is what counts."""
    earlier = runs[runs["best_step"] < runs["steps"]]
    if earlier.empty:
        return (
            f"Yet the held-out loss was lowest at the last step in {fmt.share(len(runs), len(runs))} runs: stopping "
            "earlier would have held the gap down and left that loss higher."
        )
    share = 100 * (earlier["best_step"] / earlier["steps"]).median()
    return (
        f"The held-out loss was lowest before the last step in {fmt.share(len(earlier), len(runs))} runs: in their "
        f"median at {fmt.number(share, 2)} % of the steps, {fmt.number(earlier['excess'].median(), 2)} nats below its "
        "value at the end."
    )


def per_run(selection: Selection) -> pd.DataFrame:
    """One row a run: correlation of gap and distance, the step of the lowest held-out loss, and the ends."""
    keys = ["run", "negatives", "temperature", "seed"]
    rows = []
    for key, run in with_gap(selection.history).sort_values("step").groupby(keys):
        step, loss, gap, moved = (run[name].to_numpy() for name in ("step", "held_out_loss", "gap", "displacement"))
        best = int(loss.argmin())
        rows.append(
            dict(zip(keys, key, strict=True))
            | {
                "correlation": fits.rank_correlation(run["displacement"], run["gap"]),
                "best_step": step[best],
                "steps": step[-1],
                "excess": loss[-1] - loss[best],
                "displacement": moved[-1],
                "gap": gap[-1],
                "best_gap": gap[best],
            }
        )
    columns = [*keys, "correlation", "best_step", "steps", "excess", "displacement", "gap", "best_gap"]
    return pd.DataFrame(rows, columns=columns)


def tables(selection: Selection) -> list[Table]:
    """Distance, gap, correlation and best step by temperature."""
    rows = [
        {
            "temperature": tau,
            "displacement": fits.mean_over_seeds(runs, "displacement"),
            "gap": fits.mean_over_seeds(runs, "gap"),
            "correlation": float(runs["correlation"].median()),
            "weakest": float(runs["correlation"].min()),
            "best_step": float(runs["best_step"].median()),
            "best_gap": fits.mean_over_seeds(runs, "best_gap"),
            "excess": fits.mean_over_seeds(runs, "excess"),
        }
        for tau, runs in per_run(selection).groupby("temperature")
    ]
    columns = [
        Column("temperature", "τ", "temperature"),
        Column("displacement", "‖θ̂ − θ₀‖ at the end", "interval"),
        Column("gap", "Gap at the end", "interval"),
        Column("correlation", "Rank correlation (median)"),
        Column("weakest", "Lowest"),
        Column("best_step", "Best step (median)", "integer"),
        Column("best_gap", "Gap there", "interval"),
        Column("excess", "Held-out loss, end − best", "interval"),
    ]
    caption = "Along training, by temperature: means over seeds with 95 % t-intervals, all k together."
    return [Table("stopping", caption, columns, rows, empty="No history.")]


def limits(selection: Selection) -> list[str]:
    """What the figure does not show."""
    stopped = int((selection.runs["status"] == "stopped_early").sum())
    return [
        "Distance and gap both grow with training time: their correlation within a run is no proof that one causes "
        "the other.",
        "The best step is picked by the held-out loss itself, after the fact: what is gained there is what a perfect "
        "stopping rule would gain.",
        f"Stopped early by a rule of their own: {fmt.share(stopped, len(selection.runs))} runs.",
        *seed_limits(selection),
    ]


CLAIM = Claim(
    slug="stopping",
    title="Early stopping",
    statement="The complexity term grows with the radius of the ball around the first weights that training stays "
    "in, so stopping early holds the gap down.",
    equation="Rad ≤ (96/τ)√(<i>d</i><sub>θ</sub>/<i>n</i>) min{<i>A</i>√(log 3 + 1), √(log(1 + 2<i>A</i>) + 1)}, "
    "<i>A</i> = <i>e</i> <i>R</i><sub>θ</sub> <i>B</i><sub>τ</sub> <i>C</i><sub>Φ</sub>, ‖θ − θ<sub>0</sub>‖ ≤ "
    "<i>R</i><sub>θ</sub>",
    source="Proposition 5",
    answer=answer,
    drawings=lambda selection: [along_training(selection)] if len(selection.history) else [],
    tables=tables,
    limits=limits,
)
