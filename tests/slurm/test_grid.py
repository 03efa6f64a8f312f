"""The whole small grid through Slurm, from a fresh copy to the report, beside the same grid without it."""

import subprocess
from collections import Counter
from types import SimpleNamespace

import pytest

from infonce.plan.workflow import Workflow
from infonce.records.schemas import SCHEMAS
from infonce.records.tables import read_table, without_provenance
from infonce.spec.source import read_config_files

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def grids(clone):
    """Through Slurm, and on this machine."""
    through_slurm, here = clone("grid", data=False), clone("local", data=False)
    process = through_slurm.start()
    here.local("results/runs.parquet")  # all four tables, without the page
    through_slurm.finish(process)
    return through_slurm, here


def test_training_and_evaluation_are_jobs_and_the_rest_runs_where_snakemake_runs(grids):
    jobs = grids[0].jobs()
    assert Counter(job.rule for job in jobs) == {"train": 2, "evaluate": 2}
    assert {job.state for job in jobs} == {"COMPLETED"}


def test_each_job_asked_for_what_its_run_needs(grids):
    checkout = grids[0]
    files = [checkout.folder / "config" / "config.yaml", checkout.folder / "grid.yaml"]
    workflow = Workflow(read_config_files(files), files)
    runs = {"_".join(run.axes().values()): SimpleNamespace(**run.axes()) for run in workflow.runs.values()}
    for job in checkout.jobs():
        run = runs[job.wildcards]
        if job.rule == "train":
            assert job.gpus == "gres:gpu:1"
            assert job.memory == f"{workflow.training_memory(run, 1)}M"
            assert job.minutes == workflow.training_minutes(run, 1)
        else:
            assert job.gpus is None
            assert job.memory == f"{workflow.evaluation_memory(run, 1)}M"
            assert job.minutes == workflow.evaluation_minutes(run, 1)
        assert job.fields["JobName"].startswith("infonce_")
        assert job.fields["Requeue"] == "1"


def test_the_numbers_are_those_of_the_same_grid_without_slurm(grids):
    through_slurm, here = (
        {name: read_table(each.folder / "results" / f"{name}.parquet", name) for name in SCHEMAS} for each in grids
    )
    assert through_slurm["runs"].num_rows == 2
    for name in SCHEMAS:
        assert without_provenance(through_slurm[name], name).equals(without_provenance(here[name], name)), name


def test_the_status_is_done_and_a_grid_is_the_same_wherever_it_runs(grids):
    checkout, _ = grids
    assert "2 runs: 2 done." in checkout.infonce("status", "--configfile", "grid.yaml")
    checkout.configure(resources={})
    process = checkout.start("--dry-run")
    checkout.finish(process)
    assert "Nothing to be done" in checkout.output()


def test_logs_of_successful_jobs_are_kept(grids):
    logs = list(grids[0].folder.glob(".snakemake/slurm_logs/rule_train/*/*.log"))
    assert len(logs) == 2


def test_small_runs_can_share_one_job(clone):
    checkout = clone("packed")
    inside = "snakemake encoders --cores 2 --configfile grid.yaml"
    sbatch = ["timeout", "240", "sbatch", "--wait", "--gpus=1", "--mem=2000", "--time=10", f"--wrap={inside}"]
    subprocess.run(sbatch, cwd=checkout.folder, env=checkout.environment(), check=True)
    assert len(checkout.jobs()) == 1
    assert len(list(checkout.folder.glob("results/runs/**/weights.safetensors"))) == 2
