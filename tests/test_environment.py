import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()


def locked() -> dict[str, list[str]]:
    """Versions in the lock by package; a package has two where an older Python needs an older version."""
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9_.\-]+)==([^ ;\\]+)", LOCK, re.MULTILINE):
        versions.setdefault(name.lower(), []).append(version)
    return versions


def requirements() -> list[Requirement]:
    named = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    return [Requirement(text) for text in named]


def test_the_lock_meets_every_requirement():
    for requirement in requirements():
        versions = locked()[requirement.name.lower()]
        assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_every_locked_file_has_a_digest():
    blocks = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)


def test_the_conda_environment_has_the_locked_versions():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pinned = [Requirement(text) for part in environment if isinstance(part, dict) for text in part["pip"]]
    assert [pin.name for pin in pinned] == [Requirement(text).name for text in PROJECT["dependencies"]]
    for pin in pinned:
        (version,) = (specifier.version for specifier in pin.specifier)
        assert version in locked()[pin.name.lower()], pin


def test_the_installed_versions_are_the_locked_ones():
    from importlib.metadata import version

    for requirement in requirements():
        assert version(requirement.name) in locked()[requirement.name.lower()], requirement
