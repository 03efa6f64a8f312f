import shutil
from pathlib import Path

import pytest

from infonce.plan import digest


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
