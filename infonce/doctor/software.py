"""Python, the packages and the commands, against what the project asks for."""

import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from infonce.cluster.surroundings import Finding
from infonce.plan.digest import PACKAGE
from infonce.records.provenance import git_state

CHECKOUT = PACKAGE.parent
INSTALL = "run `make environment` and `source .venv/bin/activate`"


def python() -> Iterator[Finding]:
    """The interpreter against `requires-python`."""
    wanted = str(_project().get("requires-python", ">=3.11"))
    found = platform.python_version()
    well = SpecifierSet(wanted).contains(found, prereleases=True)
    advice = "" if well else f"; {INSTALL} with a newer Python"
    yield Finding("Python", well, f"{found} in {sys.prefix}, {wanted} is needed{advice}")


def versions() -> Iterator[Finding]:
    """Every package that the project names: installed, in the range that it needs, and as in the lock."""
    locked, shown, other, wrong = _locked(), [], [], []
    for requirement in map(Requirement, _project().get("dependencies", [])):
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is not installed")
            continue
        shown.append(f"{requirement.name} {version}")
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} is {version}, {requirement.specifier} is needed")
        elif locked and version not in locked.get(requirement.name.lower(), [version]):
            other.append(f"{requirement.name} {version} (the lock has {' or '.join(locked[requirement.name.lower()])})")
    if wrong:
        yield Finding("versions", False, f"{'; '.join(wrong)}; {INSTALL}")
        return
    note = "all as in requirements.lock" if locked else "there is no requirements.lock to compare with"
    if other:
        note = f"not the tested versions, numbers may differ in the last digits: {', '.join(other)}"
    yield Finding("versions", True, f"{', '.join(shown)}; {note}")


def commands() -> Iterator[Finding]:
    """Rules call `python`: it must be the one of this environment; `snakemake` should be beside it."""
    here = Path(sys.executable).parent
    for name in ("python", "snakemake"):
        found = shutil.which(name)
        if found is None:
            yield Finding(name, False, f"is not on PATH; {INSTALL}, or `export PATH={here}:$PATH`")
        elif Path(found).parent != here and not _same_environment(Path(found)):
            yield Finding(
                name, False, f"on PATH is {found}, not that of {here}: jobs would use it; `export PATH={here}:$PATH`"
            )
        else:
            yield Finding(name, True, f"is {found}")


def git() -> Iterator[Finding]:
    """The commit that the rows of the tables will carry."""
    commit, dirty = git_state()
    if commit is None:
        yield Finding("git", True, "no commit is known here; the tables will have none")
    else:
        yield Finding("git", True, f"{commit[:12]}{', with changes that are not committed' if dirty else ', clean'}")


def _same_environment(found: Path) -> bool:
    """Whether a command lies in the same environment by another name, as links and Conda have it."""
    return os.path.realpath(found.parent) == os.path.realpath(Path(sys.executable).parent)


def _project() -> dict[str, Any]:
    path = CHECKOUT / "pyproject.toml"
    if not path.is_file():
        return {"dependencies": [text for text in metadata.requires("infonce") or [] if "extra ==" not in text]}
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project


def _locked() -> dict[str, list[str]]:
    """Versions in the lock by package; a package may have one for each Python."""
    path = CHECKOUT / "requirements.lock"
    found: dict[str, list[str]] = {}
    if path.is_file():
        for name, version in re.findall(r"^([A-Za-z0-9_.\-]+)==([^ ;\\]+)", path.read_text(), re.MULTILINE):
            found.setdefault(name.lower(), []).append(version)
    return found
