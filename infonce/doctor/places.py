"""Where files will be written: may they, is there room, and does another Snakemake hold the folder."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from platformdirs import user_cache_dir

from infonce.cluster.recover import snakemakes
from infonce.cluster.surroundings import Finding
from infonce.doctor.needs import data_bytes, results_bytes
from infonce.options import DEFAULT_CONFIG
from infonce.plan.digest import PACKAGE
from infonce.plan.workflow import Workflow


def writable(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """The results and data, Snakemake's memory and its cache, and the temporary folder."""
    cache = Path(user_cache_dir("snakemake", "snakemake")) / "snakemake" / "source-cache"
    places = {
        "results": (folder / workflow.results, "name another in results_folder, or mend its rights"),
        "Snakemake's memory": (folder / ".snakemake", f"mend its rights, or work elsewhere: {_elsewhere(folder)}"),
        "Snakemake's cache": (cache, f"`export XDG_CACHE_HOME={folder / '.snakemake' / 'cache'}`"),
        "temporary files": (Path(tempfile.gettempdir()), "let TMPDIR name a folder that you may write"),
    }
    for name, (place, advice) in places.items():
        problem = _refusal(place)
        yield Finding(name, problem is None, f"{place}: {problem}; {advice}" if problem else f"{place} can be written")
    home = Path("~").expanduser()
    if problem := _refusal(home):
        yield Finding("HOME", True, f"{home}: {problem}; nothing but caches would go there")


def _elsewhere(folder: Path) -> str:
    """How to start Snakemake where it may write; it looks for the default configuration there, so that is named."""
    snakefile, default = PACKAGE.parent / "Snakefile", folder.absolute() / DEFAULT_CONFIG
    command = ["snakemake", "--cores", "2", "--snakefile", str(snakefile), "--configfile", str(default)]
    return f"`{shlex.join([*command, '--directory'])} FOLDER`, further configuration files behind the first"


def disk(workflow: Workflow, folder: Path) -> Iterator[Finding]:
    """Free space against what the missing data and runs will take, roughly."""
    needs = {
        folder / workflow.data: data_bytes(workflow, folder),
        folder / workflow.results: results_bytes(workflow, folder),
    }
    by_disk: dict[int, tuple[list[str], int, int]] = {}
    for place, needed in needs.items():
        existing = _existing(place)
        names, total, _ = by_disk.get(existing.stat().st_dev, ([], 0, 0))
        free = shutil.disk_usage(existing).free
        by_disk[existing.stat().st_dev] = ([*names, str(place)], total + needed, free)
    for names, needed, free in by_disk.values():
        text = f"{' and '.join(names)}: about {_size(needed)} are still to be written, {_size(free)} are free"
        advice = "; make room, or name another disk in data_folder or results_folder"
        yield Finding("disk", needed < free, text if needed < free else text + advice)


def lock(folder: Path) -> Iterator[Finding]:
    """Whether a Snakemake is at work in the folder, or one that died left its lock."""
    locks = list((folder / ".snakemake" / "locks").glob("*")) if (folder / ".snakemake" / "locks").is_dir() else []
    if living := snakemakes(folder.resolve()):
        yield Finding("lock", True, f"a Snakemake is at work in {folder} (process {living[0].pid})")
    elif locks:
        yield Finding(
            "lock",
            False,
            f"{folder} is locked, and no Snakemake is at work in it on this machine; if none is on another machine "
            "either, run `python -m infonce cluster recover`",
        )
    else:
        yield Finding("lock", True, f"{folder} is free")


def _refusal(place: Path) -> str | None:
    """Why nothing can be written there, or None. A folder that does not exist is judged by where it would be made."""
    existing = _existing(place)
    if not existing.is_dir():
        return f"{existing} is no folder"
    try:
        with tempfile.NamedTemporaryFile(prefix=".infonce-", dir=existing):
            return None
    except OSError as error:
        return f"cannot be written ({error.strerror or error})"


def _existing(place: Path) -> Path:
    """The place itself, or the nearest folder above it that exists."""
    place = place.absolute()
    while not os.path.lexists(place):
        place = place.parent
    return place


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
