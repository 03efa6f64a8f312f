"""Every dependency has a licence that is allowed, and the check refuses what is not."""

import importlib.util
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_described = importlib.util.spec_from_file_location("licences", ROOT / "tools" / "licences.py")
tool = importlib.util.module_from_spec(_described)
_described.loader.exec_module(tool)

ALLOWED = ["MIT", "BSD-3-Clause", "Apache-2.0"]


def test_every_locked_package_has_an_allowed_licence():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["licences"]
    found = list(tool.licences((ROOT / "requirements.lock").read_text(), rules["allowed"], rules["reviewed"]))
    assert len(found) > 50
    assert [licence for licence in found if licence.problem] == []


@pytest.mark.parametrize(
    ("metadata", "said", "well"),
    [
        ("License-Expression: MIT", "MIT", True),
        ("License-Expression: MIT AND GPL-3.0-only", "MIT AND GPL-3.0-only", False),
        ("License-Expression: (MIT OR GPL-3.0-only)", "(MIT OR GPL-3.0-only)", True),
        ("License: GPLv3\nClassifier: License :: OSI Approved :: MIT License", "MIT", True),
        ("Classifier: License :: OSI Approved :: GNU Affero General Public License v3", None, False),
        (
            "Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: OSI Approved :: Sleepycat",
            None,
            False,
        ),
        ("License: Apache 2.0\nClassifier: License :: Other/Proprietary License", "Apache-2.0", True),
        ("License: my own", "my own", False),
        ("Summary: says nothing", None, False),
    ],
)
def test_what_a_package_says_and_whether_it_may_be_used(tmp_path, metadata, said, well):
    folder = tmp_path / "sample-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: sample\nVersion: 1.0\n{metadata}\n")
    found = tool.told(tool.metadata.Distribution.at(folder))
    assert said is None or found == said
    assert (found is not None and tool.permitted(found, ALLOWED)) is well


def test_a_licence_file_is_read_where_the_metadata_say_nothing(tmp_path):
    folder = tmp_path / "sample-1.0.dist-info"
    (folder / "licenses").mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: sample\nVersion: 1.0\n")
    (folder / "licenses" / "LICENSE").write_text("MIT License\n\nCopyright\n")
    assert tool.told(tool.metadata.Distribution.at(folder)) == "MIT"


def test_missing_and_foreign_packages():
    lock = 'nosuchpackage==1 \\\n    --hash=sha256:0\ncolorama==1 ; sys_platform == "nowhere" \\\n    --hash=sha256:0\n'
    (licence,) = tool.licences(lock, ALLOWED, {})
    assert "is not installed" in licence.problem
    (licence,) = tool.licences(lock, ALLOWED, {"nosuchpackage": "MIT"})
    assert licence.problem is None


def test_the_audit_says_what_it_needs(tmp_path):
    for tool_name in ("make", "sh", "bash", "python3"):
        where = next(Path(folder, tool_name) for folder in os.get_exec_path() if Path(folder, tool_name).exists())
        (tmp_path / tool_name).symlink_to(where)
    done = subprocess.run(["make", "audit"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "needs pip-audit (pipx install pip-audit) and a network" in done.stderr
