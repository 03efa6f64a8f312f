"""The data sets in a sentence each, with whom to cite."""

from dataclasses import dataclass

from infonce.data.registry import DATASETS


@dataclass(frozen=True)
class Described:
    """A data set as the report names it."""

    name: str
    text: str
    citation: str


def described(name: str) -> Described:
    """The data set as it is registered, or a plain word that it is not (tables may hold runs of an older version)."""
    if name not in DATASETS:
        return Described(name, "Not described in this project.", "Cite its source as its authors ask.")
    info = DATASETS[name]
    return Described(name, f"{info.title}.", info.citation)
