"""Where the numbers come from: the distinct values of the provenance columns, and what the runs cost."""

import json

import pandas as pd

from infonce.report import format as fmt

_OF_BOTH = {  # training, and evaluation under `evaluation_…`
    "git_commit": "Commit of the code",
    "git_dirty": "Uncommitted changes",
    "code_digest": "Digest of the code",
    "python_version": "Python",
    "torch_version": "PyTorch",
    "host": "Host",
    "device": "Device",
    "precision": "Precision of the encoder",
}
_OF_TRAINING = {
    "data_digest": "Digest of the data",
    "driver": "Driver",
    "threads": "Threads",
    "resumed": "Resumed after an interruption",
}


def provenance(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """(what, values with their number of runs) for the page."""
    rows = []
    for column, words in _OF_BOTH.items():
        training, evaluation = _counted(runs[column]), _counted(runs[f"evaluation_{column}"])
        if training == evaluation:
            rows.append((words, training))
        else:
            rows += [(f"{words}, training", training), (f"{words}, evaluation", evaluation)]
    rows += [(words, _counted(runs[column])) for column, words in _OF_TRAINING.items()]
    packages = pd.concat([runs["package_versions"], runs["evaluation_package_versions"]])
    rows.append(("Packages", _packages(packages)))
    seconds = runs["training_seconds"].sum() + runs["evaluation_seconds"].sum()
    rows.append(("Training and evaluation, summed", f"{fmt.number(seconds / 60)} minutes"))
    if runs["peak_memory_mib"].notna().any():
        rows.append(("Peak memory of a run", f"{fmt.integer(runs['peak_memory_mib'].max())} MiB"))
    if runs["finished_at"].notna().any():
        rows.append(("Last run finished", str(runs["finished_at"].max())))
    return rows


def _counted(values: pd.Series) -> str:
    counts = values.map(_text).value_counts()
    if len(counts) == 1:
        return str(counts.index[0])
    return "; ".join(f"{value} ({fmt.plural(int(n), 'run')})" for value, n in sorted(counts.items()))


def _text(value: object) -> str:
    if value is None or value is pd.NA or value != value:
        return "not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _packages(values: pd.Series) -> str:
    """Every package with its versions, a package once."""
    found: dict[str, set[str]] = {}
    for text in values.dropna().unique():
        for name, version in json.loads(text).items():
            found.setdefault(name, set()).add(str(version))
    return (
        ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in sorted(found.items()))
        or "not recorded"
    )
