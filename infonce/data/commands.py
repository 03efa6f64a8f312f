"""What `infonce data list`, `fetch` and `verify` do."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from infonce.data import download
from infonce.data.registry import DATASETS, dataset


def list_datasets(raw: Path) -> list[str]:
    """A line for each data set: its name, whether its files are in `raw`, its download size, title and licence."""
    lines = []
    for name, info in DATASETS.items():
        if not info.downloaded:
            state, size = "built in", ""
        else:
            state = "missing" if download.missing_members(info, Path(raw) / name) else "present"
            size = f"{sum(file.size for file in info.files) / 1e6:,.0f} MB"
        lines.append(f"{name:<14} {state:<9} {size:>9}  {info.title}. Licence: {info.licence}")
    return lines


def fetch_datasets(
    names: Sequence[str],
    raw: Path,
    mirrors: Mapping[str, str] | None = None,
    retries: int = 4,
    progress: bool = True,
) -> list[str]:
    """Fetch data sets into `raw`; a line for each. Raises DataError at the first that cannot be had."""
    lines = []
    infos = {name: dataset(name) for name in names}  # a wrong name is refused before anything is fetched
    for name in names:
        if not infos[name].downloaded:
            lines.append(f"{name}: nothing to fetch, it is built in")
            continue
        folder = download.fetch(name, raw, (mirrors or {}).get(name), retries, progress)
        lines.append(f"{name}: complete in {folder}")
    return lines


def verify_datasets(names: Sequence[str], raw: Path) -> list[str]:
    """Read every byte of the raw files and compare digests; a line for each file, DataError where one differs."""
    lines = []
    for name in names:
        if dataset(name).downloaded:
            lines += [f"{name}: {line}" for line in download.verify(name, raw)]
        else:
            lines.append(f"{name}: nothing to verify, it is built in")
    return lines
