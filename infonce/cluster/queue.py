"""Slurm's queue, as far as its commands tell it."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from infonce.errors import ClusterError

SECONDS = 60  # a controller that answers no sooner is counted as not answering
_FIELDS = "%i|%T|%M|%L|%j|%Z|%k"  # id, state, run time, time left, name, working folder, comment
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_RULE = re.compile(r"rule_([^_]+)_wildcards_(.*)")

RUNNING = ("RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING")


@dataclass(frozen=True)
class QueuedJob:
    """A job that waits or runs. `rule` and `wildcards` are Snakemake's, and empty for jobs that it did not submit."""

    job_id: str
    state: str
    run_seconds: int | None
    seconds_left: int | None
    name: str
    folder: str
    rule: str
    wildcards: str

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.state in RUNNING


def installed() -> bool:
    """Whether this machine can talk to a Slurm cluster."""
    return shutil.which("squeue") is not None


def queue() -> list[QueuedJob]:
    """The jobs of this user that wait or run. Raises ClusterError where the controller does not answer."""
    lines = answer("squeue", "--me", "--noheader", f"--format={_FIELDS}").splitlines()
    return [_job(line) for line in lines if line.strip()]


def queue_or_reason() -> tuple[list[QueuedJob], str | None]:
    """The jobs of this user, and why they are unknown where the controller does not answer; none without a cluster."""
    if not installed():
        return [], None
    try:
        return queue(), None
    except ClusterError as error:
        return [], f"{error}; jobs in its queue are not shown"


def answer(*command: str) -> str:
    """What a command of the cluster prints. Raises ClusterError with its own message where it fails."""
    return completed(*command).stdout


def completed(*command: str) -> subprocess.CompletedProcess[str]:
    """A command of the cluster that succeeded, with all that it said. Raises ClusterError where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        raise ClusterError(
            f"{command[0]}: no such command here; log in to a node of the cluster where jobs are submitted"
        ) from None
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{command[0]}: no answer within {SECONDS} s; the controller may be down") from None
    if done.returncode:
        raise ClusterError(f"{command[0]}: {last_line(done.stderr or done.stdout)}")
    return done


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "failed without a word"


def seconds(text: str) -> int | None:
    """Slurm's `[days-][hours:]minutes:seconds`; None for UNLIMITED, INVALID and the like."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _job(line: str) -> QueuedJob:
    job_id, state, run_time, left, name, folder, comment = line.split("|", 6)
    found = _RULE.fullmatch(comment)
    rule, wildcards = found.groups() if found else ("", "")
    return QueuedJob(job_id, state, seconds(run_time), seconds(left), name, folder, rule, wildcards)
