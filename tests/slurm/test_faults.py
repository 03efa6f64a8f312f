"""What goes wrong on clusters, made to happen on a real one. Slow faults run beside each other."""

import shutil
import signal
import time

import psutil
import pytest

from tests.slurm import cluster as one_node
from tests.slurm.conftest import ONE_LONG_RUN, SMALL, Checkout, change_profile, wait_for
from tests.slurm.trainings import hold_trainings, keep_state, pending

pytestmark = pytest.mark.slurm

FAILS_ONCE = """\
#!/bin/sh
if mkdir {folder}/failed-once 2>/dev/null; then
    echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
    exit 1
fi
exec {sbatch} "$@"
"""


class Scenario:
    """A checkout whose Snakemake was started."""

    def __init__(self, checkout: Checkout, *arguments: str, **environment: str) -> None:
        self.checkout = checkout
        self.process = checkout.start("encoders", *arguments, **environment)
        self.training: psutil.Process | None = None

    @property
    def snakemake(self) -> psutil.Process:
        """Snakemake itself, below `timeout`."""
        return psutil.Process(self.process.pid).children()[0]


@pytest.fixture(scope="module", autouse=True)
def scenarios(clone):
    """All faults that leave other jobs alone, started at once; four trainings are held when their steps have begun."""
    held = ("timed-out", "cancelled", "killed", "preempted")
    made = {name: clone(name) for name in (*held, "no-gpu", "sbatch-fails")}
    for name in held:
        made[name].configure(**ONE_LONG_RUN, resources={"train": {"gpus": 1, "minutes": 30}})
    warn_late(made["timed-out"])
    made["no-gpu"].configure(negatives=[4], training=SMALL["training"] | {"device": "auto"})
    started = {name: Scenario(made[name]) for name in held}
    trainings = hold_trainings([started[name].checkout for name in held])
    for name, training in zip(held, trainings, strict=True):
        started[name].training = training
    let_time_run_out(started["timed-out"].checkout)
    started["no-gpu"] = Scenario(made["no-gpu"], "--retries", "0")
    folder = made["sbatch-fails"].folder
    flaky = folder / "bin" / "sbatch"
    flaky.parent.mkdir()
    flaky.write_text(FAILS_ONCE.format(folder=folder, sbatch=shutil.which("sbatch")))
    flaky.chmod(0o755)
    path = f"{flaky.parent}:{made['sbatch-fails'].environment()['PATH']}"
    started["sbatch-fails"] = Scenario(made["sbatch-fails"], PATH=path)
    return started


def warn_late(checkout: Checkout) -> None:
    """Half a minute before the end instead of two, not to wait as long."""
    change_profile(checkout.folder, "--signal=URG@120", "--signal=URG@30")


def let_time_run_out(checkout: Checkout) -> None:
    """Leave the job of a held training between one and two minutes, however long it took to begin."""
    (job,) = checkout.jobs()
    one_node.run("scontrol", "update", f"jobid={job.job_id}", f"timelimit={job.run_minutes + 2}")


def test_status_shows_a_running_run(scenarios):
    shown = scenarios["timed-out"].checkout.infonce("status", "--configfile", "grid.yaml")
    assert "1 runs: 1 running." in shown
    assert "results/logs/train/digits" in shown


def test_a_training_is_warned_before_its_time_is_over_and_keeps_its_state(scenarios):
    checkout, training = scenarios["timed-out"].checkout, scenarios["timed-out"].training
    wait_for("Slurm's warning, which also continues what is held", checkout.states, seconds=150)
    training.suspend()
    assert [job.state for job in checkout.jobs()] == ["RUNNING"]
    assert "warned by SIGURG; the state is kept" in checkout.attempts()


def test_a_cancelled_job_is_started_again_and_goes_on(scenarios):
    scenario = scenarios["cancelled"]
    keep_state(scenario.training, scenario.checkout)  # as every half minute: Slurm may leave no time for it at the end
    (job,) = scenario.checkout.jobs()
    assert job.state == "RUNNING"
    one_node.run("scancel", job.job_id)
    scenario.checkout.finish(scenario.process)
    first, second = scenario.checkout.jobs()
    assert (first.state, second.state) == ("CANCELLED", "COMPLETED")
    assert scenario.checkout.record()["provenance"]["resumed"] is True
    assert "goes on from step" in scenario.checkout.attempts()


def test_a_preempted_training_in_a_long_step_keeps_its_state(scenarios):
    """Slurm sends SIGTERM to the step of a job that it is about to preempt, and leaves it its grace time."""
    scenario = scenarios["preempted"]
    (job,) = scenario.checkout.jobs()
    one_node.run("scancel", "--signal=TERM", job.job_id)
    wait_for("SIGTERM at the training", lambda: pending(scenario.training, signal.SIGTERM))
    time.sleep(5)  # a long step: shell and Snakemake must not end before it
    assert not scenario.checkout.states()
    scenario.training.resume()
    scenario.checkout.finish(scenario.process)
    assert [job.state for job in scenario.checkout.jobs()] == ["FAILED", "COMPLETED"]
    assert "stopped by SIGTERM; the run goes on from" in scenario.checkout.attempts()
    assert scenario.checkout.record()["provenance"]["resumed"] is True


def test_status_shows_a_failed_run(scenarios):
    scenario = scenarios["no-gpu"]
    assert scenario.process.wait(timeout=120) != 0
    assert "1 runs: 1 failed." in scenario.checkout.infonce("status", "--configfile", "grid.yaml")


def test_a_job_that_was_to_have_a_gpu_and_sees_none_stops(scenarios):
    import torch

    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    scenarios["no-gpu"].process.wait(timeout=120)
    assert "no GPU is seen" in scenarios["no-gpu"].checkout.attempts()


def test_a_failing_sbatch_is_tried_again_and_the_other_job_goes_on(scenarios):
    checkout = scenarios["sbatch-fails"].checkout
    checkout.finish(scenarios["sbatch-fails"].process)
    assert checkout.output().count("SLURM sbatch failed") == 1
    jobs = checkout.jobs()
    assert [job.state for job in jobs] == ["COMPLETED", "COMPLETED"]
    assert sorted(int(job.memory.removesuffix("M")) for job in jobs) == [5500, 11000]


def test_after_kill_9_one_command_ends_the_left_jobs_and_the_next_run_goes_on(scenarios):
    checkout, scenario = scenarios["killed"].checkout, scenarios["killed"]
    keep_state(scenario.training, checkout)
    assert "a Snakemake is at work" in checkout.infonce("cluster", "recover", check=False)
    scenario.snakemake.kill()
    scenario.process.wait(timeout=20)
    (job,) = checkout.jobs()
    assert job.state == "RUNNING"

    said = checkout.infonce("cluster", "recover")
    assert "Ended 1 jobs" in said
    assert [job.state for job in checkout.jobs()] == ["CANCELLED"]
    checkout.finish(checkout.start("encoders"))
    assert [job.state for job in checkout.jobs()] == ["CANCELLED", "COMPLETED"]
    assert checkout.record()["provenance"]["resumed"] is True


def test_a_job_that_ran_out_of_time_gets_more_and_goes_on(scenarios):
    checkout = scenarios["timed-out"].checkout
    checkout.finish(scenarios["timed-out"].process)
    first, second = checkout.jobs()
    assert (first.state, second.state) == ("TIMEOUT", "COMPLETED")
    assert second.minutes == 2 * 30
    assert int(second.memory.removesuffix("M")) == 2 * int(first.memory.removesuffix("M"))
    assert checkout.record()["provenance"]["resumed"] is True


def test_a_restart_of_the_controller_between_two_checks_is_survived(scenarios, clone):
    for scenario in scenarios.values():  # a restart during a check of theirs would be another fault
        scenario.process.wait(timeout=240)
    checkout = clone("restart")
    checkout.configure(**ONE_LONG_RUN)
    process = checkout.start("encoders", "--slurm-init-seconds-before-status-checks", "30")
    (training,) = hold_trainings([checkout])
    one_node.stop("slurmctld")
    one_node.start_controller()
    training.resume()
    checkout.finish(process)
    assert [job.state for job in checkout.jobs()] == ["COMPLETED"]
