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


HELD = ("timed-out", "cancelled", "killed", "preempted")


@pytest.fixture(scope="module")
def lost(clone):
    """Two trainings whose node is lost: one with it, one that computes on. Slurm starts both again soon."""
    made = [clone("node-lost"), clone("node-unseen")]
    for checkout in made:
        checkout.configure(**ONE_LONG_RUN, resources={"train": {"minutes": 5, "memory_mib": 200}})
    scenarios = [Scenario(checkout, "--retries", "8") for checkout in made]
    hold([*scenarios])
    for scenario in scenarios:
        keep_state(scenario.training, scenario.checkout)
    unseen = scenarios[1].training
    unseen.resume()  # the kernel ends a held process that loses the last parent of its group
    one_node.fail_node(spared=made[1].folder)
    unseen.suspend()
    one_node.start_node()
    return scenarios


def hold(scenarios: list[Scenario]) -> None:
    """Hold the training of each."""
    trainings = hold_trainings([scenario.checkout for scenario in scenarios])
    for scenario, training in zip(scenarios, trainings, strict=True):
        scenario.training = training


@pytest.fixture(scope="module", autouse=True)
def scenarios(clone, lost):
    """All faults that leave other jobs alone, started at once; four trainings are held when their steps have begun."""
    made = {name: clone(name) for name in (*HELD, "no-gpu", "sbatch-fails")}
    for name in HELD:
        made[name].configure(**ONE_LONG_RUN, resources={"train": {"gpus": 1, "minutes": 30}})
    warn_late(made["timed-out"])
    made["no-gpu"].configure(negatives=[4], training=SMALL["training"] | {"device": "auto"})
    started = {name: Scenario(made[name]) for name in HELD}
    hold([*started.values()])
    cancel(started["cancelled"])
    preempt(started["preempted"])
    kill_and_recover(started["killed"])
    started["no-gpu"] = Scenario(made["no-gpu"], "--retries", "0")
    folder = made["sbatch-fails"].folder
    flaky = folder / "bin" / "sbatch"
    flaky.parent.mkdir()
    flaky.write_text(FAILS_ONCE.format(folder=folder, sbatch=shutil.which("sbatch")))
    flaky.chmod(0o755)
    path = f"{flaky.parent}:{made['sbatch-fails'].environment()['PATH']}"
    started["sbatch-fails"] = Scenario(made["sbatch-fails"], PATH=path)
    let_the_unseen_end(lost[1])
    let_time_run_out(started["timed-out"].checkout)
    return started


def let_the_unseen_end(scenario: Scenario) -> None:
    """Once the job that Slurm started again was told, end the training that has outlived its own."""
    told = "another job is training this run"
    wait_for("the next job to be told", lambda: told in scenario.checkout.attempts(), seconds=150)
    assert scenario.training.is_running()
    scenario.training.kill()


def warn_late(checkout: Checkout) -> None:
    """Half a minute before the end instead of two, not to wait as long."""
    change_profile(checkout.folder, "--signal=URG@120", "--signal=URG@30")


def let_time_run_out(checkout: Checkout) -> None:
    """Leave the job of a held training between one and two minutes, however long it took to begin."""
    (job,) = checkout.jobs()
    one_node.run("scontrol", "update", f"jobid={job.job_id}", f"timelimit={job.run_minutes + 2}")


def cancel(scenario: Scenario) -> None:
    """End the job of a held training that has kept a state: Slurm may leave no time for another one."""
    keep_state(scenario.training, scenario.checkout)
    (job,) = scenario.checkout.jobs()
    one_node.run("scancel", job.job_id)


def preempt(scenario: Scenario) -> None:
    """Send the step of a job SIGTERM, as Slurm does at the beginning of the grace time before a preemption."""
    (job,) = scenario.checkout.jobs()
    one_node.run("scancel", "--signal=TERM", job.job_id)
    wait_for("SIGTERM at the training", lambda: pending(scenario.training, signal.SIGTERM))
    time.sleep(5)  # a long step: shell and Snakemake must not end before it
    assert not scenario.checkout.states()
    scenario.training.resume()


def kill_and_recover(scenario: Scenario) -> None:
    """Kill a Snakemake whose training is held, do what is to be done then, and start another one."""
    checkout = scenario.checkout
    keep_state(scenario.training, checkout)
    assert "a Snakemake is at work" in checkout.infonce("cluster", "recover", check=False)
    scenario.snakemake.kill()
    scenario.process.wait(timeout=20)
    assert [job.state for job in checkout.jobs()] == ["RUNNING"]
    assert "Ended 1 jobs" in checkout.infonce("cluster", "recover")
    assert [job.state for job in checkout.jobs()] == ["CANCELLED"]
    scenario.process = checkout.start("encoders")


def test_a_training_is_warned_before_its_time_is_over_and_keeps_its_state(scenarios):
    checkout, training = scenarios["timed-out"].checkout, scenarios["timed-out"].training
    wait_for("Slurm's warning, which also continues what is held", checkout.states, seconds=150)
    training.suspend()
    assert [job.state for job in checkout.jobs()] == ["RUNNING"]
    assert "warned by SIGURG; the state is kept" in checkout.attempts()


def test_status_shows_a_running_run(scenarios):
    shown = scenarios["timed-out"].checkout.infonce("status", "--configfile", "grid.yaml")
    assert "1 runs: 1 running." in shown
    assert "results/logs/train/digits" in shown


def test_a_cancelled_job_is_started_again_and_goes_on(scenarios):
    scenario = scenarios["cancelled"]
    scenario.checkout.finish(scenario.process)
    first, second = scenario.checkout.jobs()
    assert (first.state, second.state) == ("CANCELLED", "COMPLETED")
    assert scenario.checkout.record()["provenance"]["resumed"] is True
    assert "goes on from step" in scenario.checkout.attempts()


def test_a_preempted_training_in_a_long_step_keeps_its_state(scenarios):
    scenario = scenarios["preempted"]
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
    checkout = scenarios["killed"].checkout
    checkout.finish(scenarios["killed"].process)
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


def test_slurm_starts_a_job_again_whose_node_was_lost_and_it_goes_on(lost):
    scenario, _ = lost
    scenario.checkout.finish(scenario.process)
    (job,) = scenario.checkout.jobs()
    assert (job.state, job.fields["Restarts"]) == ("COMPLETED", "1")
    assert scenario.checkout.record()["provenance"]["resumed"] is True


def test_a_training_that_outlives_its_job_keeps_the_next_ones_off(lost):
    """A node that has only lost its network computes on, and Slurm has started the job again."""
    _, scenario = lost
    scenario.checkout.finish(scenario.process)
    states = [job.state for job in scenario.checkout.jobs()]
    assert len(states) > 1 and {*states[:-1]} == {"FAILED"} and states[-1] == "COMPLETED"
    assert scenario.checkout.record()["provenance"]["resumed"] is True


def test_a_restart_of_the_controller_between_two_checks_is_survived(scenarios, lost, clone):
    for scenario in [*scenarios.values(), *lost]:  # a restart during a check of theirs would be another fault
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
    undisturbed = checkout.weights()
    for scenario in [*(scenarios[name] for name in HELD), *lost]:
        assert scenario.checkout.weights() == undisturbed
