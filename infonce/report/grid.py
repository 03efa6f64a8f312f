"""What was asked for, what is there, and what is not: missing, diverged and single-seed cells."""

import pandas as pd

from infonce.records.collect import MEASURED
from infonce.report.selection import CELL, Selection
from infonce.spec.run import AXES

REASONS = {
    "missing": "no result file",
    "diverged": "training diverged",
    "out_of_memory": "out of memory",
    "stopped_early": "stopped early by its own rule; its numbers count",
}


def cells(selection: Selection) -> pd.DataFrame:
    """One row a cell (dimension, n, design, k, τ): seeds asked for, seeds with numbers, diverged, missing."""
    runs = selection.all_runs
    frame = runs[[*CELL, "seed", "status"]].copy()
    missing = missing_runs(selection)
    if len(missing):
        frame = pd.concat([frame, missing[[*CELL, "seed"]].assign(status="missing")])
    frame["usable"] = frame["status"].isin(MEASURED)
    grouped = frame.groupby(list(CELL), sort=True)
    return grouped.agg(
        seeds=("seed", "nunique"),
        usable=("usable", "sum"),
        diverged=("status", lambda status: int((status == "diverged").sum())),
        out_of_memory=("status", lambda status: int((status == "out_of_memory").sum())),
        missing=("status", lambda status: int((status == "missing").sum())),
    ).reset_index()


def missing_runs(selection: Selection) -> pd.DataFrame:
    """The asked-for runs that have no row in `runs`; empty where the asked-for grid is unknown."""
    if selection.requested is None:
        return pd.DataFrame(columns=list(AXES))
    axes = list(AXES)
    merged = selection.requested[axes].merge(
        selection.all_runs[axes].drop_duplicates(), how="left", on=axes, indicator=True
    )
    return merged[merged["_merge"] == "left_only"][axes]


def gaps(selection: Selection) -> pd.DataFrame:
    """A row for every run that is absent, failed or cut short, and every cell with one seed where others have more."""
    columns = [*CELL, "seed", "state", "reason"]
    absent = missing_runs(selection).assign(state="missing", reason=REASONS["missing"])
    ended = selection.all_runs[selection.all_runs["status"] != "ok"]
    ended = ended.assign(
        state=ended["status"],
        reason=ended["message"].fillna("").where(ended["message"].fillna("") != "", ended["status"].map(REASONS)),
    )
    table = cells(selection)
    most = int(table["usable"].max()) if len(table) else 0
    single = table[(table["usable"] == 1) & (most > 1)]
    single = single.assign(
        seed=[_only_seed(selection, cell) for _, cell in single.iterrows()],
        state="one seed",
        reason=f"no interval; other cells have up to {most} seeds",
    )
    parts = [part[columns].astype(object) for part in (absent, ended, single) if len(part)]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts).sort_values(["state", *CELL, "seed"], ignore_index=True)


def _only_seed(selection: Selection, cell: pd.Series) -> int:
    runs = selection.usable
    for column in CELL:
        runs = runs[runs[column] == cell[column]]
    return int(runs["seed"].iloc[0])
