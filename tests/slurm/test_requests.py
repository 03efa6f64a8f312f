"""The exact `sbatch` line of each form in which a GPU is asked for."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.slurm.conftest import change_profile

pytestmark = pytest.mark.slurm

# Keeps the line of each submission, lets the real sbatch judge it, and submits nothing.
RECORDER = """\
#!/bin/sh
{sbatch} --test-only "$@" >> {folder}/judged 2>&1
printf '%s\\n' "exit $? $*" >> {folder}/lines
echo "kept, not submitted" >&2
exit 1
"""
MODEL = "{gpu_request: gpu_model, gpu_model: h200}"
FORMS = {
    "none": {"resources": {}},
    "gpu": {"resources": {"train": {"gpus": 1}}},
    "gres": {"resources": {"train": {"gpus": 2}}},
    "gpu_model": {"resources": {"train": {"gpus": 1}}},
}


@pytest.fixture(scope="module")
def checkouts(clone):
    """A checkout for each form, in which Snakemake has tried to submit the trainings; all of them at once."""
    made = {form: clone(f"request-{form}") for form in FORMS}
    change_profile(made["gres"].folder, f"# resources: {MODEL}", "resources: {gpu_request: gres}")
    use_site_block(made["gpu_model"].folder)
    started = []
    for form, checkout in made.items():
        checkout.configure(**FORMS[form])
        recorder = checkout.folder / "bin" / "sbatch"
        recorder.parent.mkdir()
        recorder.write_text(RECORDER.format(folder=checkout.folder, sbatch=shutil.which("sbatch")))
        recorder.chmod(0o755)
        path = f"{recorder.parent}:{checkout.environment()['PATH']}"
        started.append(checkout.start("encoders", "--retries", "0", PATH=path))
    for process in started:
        process.wait(timeout=240)
    return made


def use_site_block(folder: Path) -> None:
    """Take in every commented line of the profile's site block, but the account, which needs accounting."""
    profile = folder / "slurm" / "profile.yaml"
    text = profile.read_text()
    text = re.sub(r"^  # (slurm_partition|constraint|train|evaluate|resources):", r"  \1:", text, flags=re.MULTILINE)
    assert text.count("slurm_partition: ") == 3
    assert f"\n  resources: {MODEL}\n" in text
    profile.write_text(text)


def lines(checkout) -> list[list[str]]:
    """The options of each submission, without what differs from job to job: Snakemake's id and k."""
    assert "kept, not submitted" in checkout.output(), checkout.output()
    found = []
    for line in (checkout.folder / "lines").read_text().splitlines():
        judgement, options = re.fullmatch(r"exit (\d+) (.*?) --wrap=.*", line).groups()
        assert judgement == "0", (checkout.folder / "judged").read_text()
        options = re.sub(r"infonce_[0-9a-f-]{36}", "infonce_{id}", options)
        found.append(shlex.split(re.sub(r"shared_(4|64)_", "shared_{k}_", options)))
    assert len(found) == 2
    return found


def expected(checkout, partition: str, *gpu: str, constraint: tuple[str, ...] = (), memory: int = 5500) -> list[str]:
    wildcards = "digits_augment_mlp_normalize_8_infonce_128_shared_{k}_0.5_7"
    log = checkout.folder / ".snakemake" / "slurm_logs" / "rule_train" / wildcards / "%j.log"
    alone = () if gpu else ("--ntasks=1",)
    return [
        *("--parsable", "--job-name", "infonce_{id}", "--output", str(log), "--export=ALL"),
        *("--comment", f"rule_train_wildcards_{wildcards}"),
        *("-p", partition, "-t", "10", *constraint, "--mem", str(memory), "--requeue", *alone, "--cpus-per-task=1"),
        "--signal=URG@120",
        *("-D", str(checkout.folder), *gpu),
    ]


def test_a_number_of_gpus(checkouts):
    checkout = checkouts["gpu"]
    assert lines(checkout) == 2 * [expected(checkout, "cpu", "--gpus=1")]


def test_a_generic_resource(checkouts):
    checkout = checkouts["gres"]
    assert lines(checkout) == 2 * [expected(checkout, "cpu", "--gres=gpu:2")]


def test_a_model_with_every_line_of_the_site_block_in_use(checkouts):
    checkout = checkouts["gpu_model"]
    assert lines(checkout) == 2 * [expected(checkout, "gpu", "--gpus=h200:1", constraint=("-C", "h200"))]


def test_no_gpu_is_asked_for_where_none_is_wanted(checkouts):
    checkout = checkouts["none"]
    assert lines(checkout) == 2 * [expected(checkout, "cpu", memory=1500)]
