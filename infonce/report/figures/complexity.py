"""The Rademacher complexity between its lower estimate and its upper bounds, as k grows."""

import pandas as pd
from matplotlib.figure import Figure

from infonce.report.figures.ledger import log_values
from infonce.report.format import integer, temperature
from infonce.report.selection import Selection
from infonce.report.style import FORM_COLOURS, Drawing, at_values, legend_below, logarithmic, panels

LOWER, LITERAL, TIGHT = "lower estimate", "Proposition 5", "complexity"
NAMES = {LOWER: "lower estimate by ascent", TIGHT: "Sec. 6, tight", LITERAL: "Prop 5, literal"}
LINES = {LOWER: ("measured", "^-"), TIGHT: ("tight", "s-"), LITERAL: ("literal", "o-")}


def complexities(selection: Selection) -> pd.DataFrame:
    """One row a run and bound of `LINES`: `value`, and for the lower estimate its standard error."""
    terms = selection.terms[(selection.terms["quantity"] == "Rad") & ~selection.terms["clipped"].astype(bool)]
    return terms[terms["term"].isin(LINES) & log_values(terms).notna()]


def estimated(selection: Selection) -> bool:
    """Whether some run of the selection has a lower estimate."""
    return bool((selection.terms["term"] == LOWER).any())


def sandwich(selection: Selection) -> Drawing:
    """Lower estimate and upper bounds against k, one panel for each of the four lowest temperatures."""
    rows = complexities(selection)
    data = (
        rows.groupby(["term", "form", "temperature", "negatives"])
        .agg(
            value=("value", "mean"),
            standard_error=("standard_error", lambda errors: (errors**2).sum() ** 0.5 / len(errors)),
            vacuous=("vacuous", "any"),
            n=("run", "size"),
        )
        .reset_index()
    )
    data.loc[data["term"] != LOWER, "standard_error"] = None
    return Drawing(
        name="complexity",
        title="The Rademacher complexity, from below and from above",
        alt="Lower estimate of the Rademacher complexity by gradient ascent, and its upper bounds, Proposition 5 and "
        "the sharper form, against k on logarithmic axes, one panel for each temperature.",
        caption="The ball is that which training was found in. The lower estimate is what ascent over random signs "
        "reaches, so the complexity lies at or above it; bars are one standard error over the signs. Hollow: "
        "vacuous, that is above half the range of the loss, which bounds any complexity. Means over seeds.",
        data=data,
        draw=_draw,
    )


def _draw(data: pd.DataFrame) -> Figure:
    temperatures = sorted(data["temperature"].unique())[:4]
    figure, axes = panels(len(temperatures), height=3.0)
    ks = sorted(data["negatives"].unique())
    for ax, tau in zip(axes, temperatures, strict=True):
        panel = data[data["temperature"] == tau]
        for term, (form, line) in LINES.items():
            series, colour = panel[panel["term"] == term], FORM_COLOURS[form]
            if len(series):
                errors = series["standard_error"].astype(float)
                ax.errorbar(
                    series["negatives"],
                    series["value"],
                    yerr=errors if errors.notna().any() else None,
                    fmt=line,
                    color=colour,
                    capsize=2,
                    markerfacecolor="none",
                    label=NAMES[term],
                )
                sound = series[~series["vacuous"].astype(bool)]
                ax.plot(sound["negatives"], sound["value"], line[0], color=colour)
        at_values(ax, ks, integer)
        logarithmic(ax, "y")
        ax.set(title=f"τ = {temperature(tau)}", xlabel="negatives k", ylabel="Rad (nats)")
    legend_below(figure)
    return figure
