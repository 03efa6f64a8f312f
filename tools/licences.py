"""`make licences`: the licence of everything in requirements.lock, against the list in pyproject.toml; works offline.

A licence is read from the metadata of what is installed: the SPDX expression, else the classifiers, else the field
License, else the first line of the licence file. What says nothing that is allowed is refused, until somebody has
looked at it and written it under [tool.licences.reviewed].
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).parents[1]
# Names under which SPDX licences go in older metadata.
ALIASES = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
UNTELLING = ("DFSG approved", "OSI Approved", "Other/Proprietary License")  # classifiers that name no licence


@dataclass(frozen=True)
class Licence:
    """What a package of the lock says of itself, and whether it may be depended on."""

    package: str
    text: str
    problem: str | None = None


def main() -> int:
    """Print a line for each package; 1 if one is refused."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["licences"]
    found = list(
        licences((ROOT / "requirements.lock").read_text(encoding="utf-8"), rules["allowed"], rules["reviewed"])
    )
    for licence in found:
        print(f"{licence.package:<42} {licence.text}{f'  REFUSED: {licence.problem}' if licence.problem else ''}")
    refused = [licence.package for licence in found if licence.problem]
    print(f"{len(found)} packages, {len(refused)} refused{': ' if refused else ''}{', '.join(refused)}")
    return 1 if refused else 0


def licences(lock: str, allowed: list[str], reviewed: dict[str, str]) -> Iterator[Licence]:
    """The licence of every package that the lock has for this platform."""
    for name, marker in sorted(set(re.findall(r"^([A-Za-z0-9_.\-]+)==[^ ;\\]+ *(?:;([^\\\n]*))?", lock, re.MULTILINE))):
        if marker.strip() and not Marker(marker.strip()).evaluate():
            continue
        if name in reviewed:
            yield Licence(name, f"{reviewed[name]} (reviewed)")
            continue
        try:
            said = told(metadata.distribution(name))
        except metadata.PackageNotFoundError:
            yield Licence(name, "?", "is not installed; run `make environment`")
            continue
        well = said is not None and permitted(said, allowed)
        advice = "not in [tool.licences] of pyproject.toml: look at it, and allow it or do without the package"
        yield Licence(name, said or "tells no licence", None if well else advice)


def told(package: metadata.Distribution) -> str | None:
    """The licence that a distribution names, as an SPDX expression as far as that can be had."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [text.split(" :: ")[-1] for text in about.get_all("Classifier", []) if text.startswith("License :: ")]
    named = [text for text in classifiers if text not in UNTELLING]
    if named:
        return " AND ".join(ALIASES.get(text, text) for text in named)
    field = (about.get("License") or "").strip().splitlines() or _licence_file(package)
    return ALIASES.get(field[0].strip(), field[0].strip()) if field else None


def permitted(expression: str, allowed: list[str]) -> bool:
    """Whether one of the alternatives has nothing but allowed licences."""
    alternatives = re.sub(r"[()]", " ", expression).split(" OR ")
    return any(all(part.strip() in allowed for part in each.split(" AND ")) for each in alternatives)


def _licence_file(package: metadata.Distribution) -> list[str]:
    for name in ("licenses/LICENSE", "LICENSE"):
        if text := package.read_text(name):
            return text.strip().splitlines()
    return []


if __name__ == "__main__":
    sys.exit(main())
