import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infonce.plan import digest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    copy = tmp_path / "infonce"
    shutil.copytree(digest.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digest, "PACKAGE", copy)
    forget()
    yield copy
    forget()


def forget() -> None:
    digest.code_digest.cache_clear()
    digest.read_module.cache_clear()


def digests() -> tuple[str, str, str]:
    forget()
    return tuple(digest.code_digest(f"infonce.stages.{stage}") for stage in ("train", "evaluate", "report"))


def test_training_depends_on_the_loss_and_not_on_the_report(package):
    modules = digest.modules_of("infonce.stages.train")
    assert "infonce.losses" in modules
    assert "infonce.spec.run" in modules
    assert not [name for name in modules if name.startswith(("infonce.report", "infonce.cli"))]
    theory = {name for name in modules if name.startswith("infonce.theory.")}
    assert theory == {"infonce.theory.stability", "infonce.theory.checks"}  # Prop 4 and Eq 18, which the history holds


def test_an_edit_of_the_loss_changes_training(package):
    before = digests()
    losses = package / "losses.py"
    losses.write_text(losses.read_text() + "\nANOTHER = 1\n")
    after = digests()
    assert after[0] != before[0] and after[1] != before[1]
    assert after[2] == before[2]


def test_comments_docstrings_and_layout_change_nothing(package):
    before = digests()
    losses = package / "losses.py"
    text = losses.read_text()
    assert text.startswith('"""')
    losses.write_text('"""Another docstring.' + text[3:] + "\n\n\n# a comment\n")
    assert digests() == before


def test_an_edit_of_a_plot_retrains_nothing(package):
    before = digests()
    for file in (package / "report").rglob("*.py"):
        file.write_text(file.read_text() + "\nANOTHER = 1\n")
    after = digests()
    assert after[:2] == before[:2]
    assert after[2] != before[2]


def test_an_edit_of_a_template_makes_the_page_anew(package):
    before = digests()
    style = package / "report" / "templates" / "style.css"
    style.write_text(style.read_text() + "\nb { color: red; }\n")
    after = digests()
    assert after[:2] == before[:2]
    assert after[2] != before[2]


def test_an_edit_of_a_bound_reevaluates_and_does_not_retrain(package):
    before = digests()
    bounds = package / "theory" / "bounds.py"
    bounds.write_text(bounds.read_text() + "\nANOTHER = 1\n")
    after = digests()
    assert after[0] == before[0]
    assert after[1] != before[1]


def of_workflow(package: Path) -> dict[str, str]:
    """The digests that the jobs of a grid of digits are given, in a fresh process that imports the edited package."""
    code = (
        "import json; from types import SimpleNamespace as S; from infonce.plan.workflow import Workflow\n"
        "from tests.workflow.conftest import SMALL; workflow = Workflow(SMALL)\n"
        "run = S(**next(iter(workflow.runs.values())).axes()); data = S(prepared=workflow.constraints()['prepared'])\n"
        "data.prepared = data.prepared.replace(chr(92), '')\n"
        "print(json.dumps({'prepare': workflow.preparing_code(data), 'train': workflow.training_code(run),\n"
        "                  'evaluate': workflow.evaluation_code(run)}))"
    )
    environment = os.environ | {"PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=package.parent, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new))


def test_another_licence_address_or_title_makes_nothing_anew(package):
    before = of_workflow(package)
    replace(package / "data" / "registry.py", 'licence="CC BY 4.0"', 'licence="CC BY 4.0 (International)"')
    replace(package / "data" / "registry.py", "1,797 images that", "1797 images that")
    replace(
        package / "data" / "sources.py", "https://www.cs.toronto.edu/~kriz/cifar-10-", "https://elsewhere/cifar-10-"
    )
    assert of_workflow(package) == before


def test_another_data_set_with_its_reader_makes_nothing_of_the_others_anew(package):
    before = of_workflow(package)
    entry = '            name="fashion_mnist",'
    another = entry.replace("fashion_mnist", "mnist")
    text = (package / "data" / "registry.py").read_text()
    start = text.rindex("        DatasetInfo(", 0, text.index(entry))
    end = text.index("        ),\n", start) + len("        ),\n")
    new = text[start:end].replace(entry, another)
    (package / "data" / "registry.py").write_text(text[:end] + new + text[end:])
    sources = package / "data" / "sources.py"
    sources.write_text(sources.read_text() + "\nMNIST_FILES = ()\n")
    (package / "data" / "mnist.py").write_text("from infonce.data.idx import read_fashion_mnist as read_mnist\n")
    readers = package / "data" / "readers.py"
    replace(
        readers,
        "from infonce.data.raw import",
        "from infonce.data.mnist import read_mnist\nfrom infonce.data.raw import",
    )
    replace(readers, '    "fashion_mnist":', '    "mnist": read_mnist,\n    "fashion_mnist":')
    assert of_workflow(package) == before


def test_what_the_registry_says_of_sizes_prepares_anew(package):
    before = of_workflow(package)
    replace(package / "data" / "registry.py", "_DIGITS_HELD_OUT = 500", "_DIGITS_HELD_OUT = 400")
    after = of_workflow(package)
    assert after["prepare"] != before["prepare"]
    assert (after["train"], after["evaluate"]) == (before["train"], before["evaluate"])


def test_an_edit_of_the_loss_still_changes_the_digests_of_jobs(package):
    before = of_workflow(package)
    losses = package / "losses.py"
    losses.write_text(losses.read_text() + "\nANOTHER = 1\n")
    after = of_workflow(package)
    assert after["train"] != before["train"]
    assert after["evaluate"] != before["evaluate"]
    assert after["prepare"] == before["prepare"]


def test_a_data_set_depends_on_its_own_reader(package):
    def of(name: str) -> str:
        forget()
        return digest.preparing_digest(name, name != "digits", "")

    before = {name: of(name) for name in ("cifar10", "stl10", "digits")}
    reader = package / "data" / "cifar.py"
    reader.write_text(reader.read_text() + "\nANOTHER = 1\n")
    assert of("cifar10") != before["cifar10"]
    assert of("stl10") == before["stl10"]
    assert of("digits") == before["digits"]
    readers = package / "data" / "readers.py"
    readers.write_text(readers.read_text().replace("read_stl10", "stl10_reader"))
    named_otherwise = of("stl10")
    reader.write_text(reader.read_text() + "\nYET_ANOTHER = 1\n")
    assert of("stl10") != named_otherwise  # with no reader of its name, it depends on all of them
