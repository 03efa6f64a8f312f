"""The grid of the paper: `config/paper.yaml`."""

from pathlib import Path

import pytest

from infonce.plan.workflow import Workflow
from infonce.spec.source import read_config_files

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def runs():
    return list(Workflow(read_config_files([ROOT / "config/paper.yaml"])).runs.values())


@pytest.mark.parametrize("positives", ["augment", "class"])
@pytest.mark.parametrize("dataset", ["cifar10", "cifar100", "stl10"])
def test_every_data_set_has_the_whole_grid_for_infonce_and_a_part_for_dcl(runs, dataset, positives):
    of_set = [run for run in runs if (run.dataset, run.positives, run.encoder) == (dataset, positives, "resnet18")]
    found = {
        loss: {(r.negatives, r.temperature, r.seed) for r in of_set if r.loss == loss} for loss in ("infonce", "dcl")
    }
    ks, taus, seeds = (1, 4, 16, 64, 256, 1024, 4096), (0.07, 0.1, 0.2, 0.5, 0.7, 1, 2), (7, 11, 13)
    assert found["infonce"] == {(k, tau, seed) for k in ks for tau in taus for seed in seeds}
    assert found["dcl"] == {(k, tau, seed) for k in (4, 64, 1024) for tau in (0.1, 0.2, 0.5, 1) for seed in seeds}


def test_the_readme_says_how_many_runs_it_has(runs):
    assert f"Its {len(runs):,} runs on CIFAR-10, CIFAR-100 and STL-10" in (ROOT / "README.md").read_text()
