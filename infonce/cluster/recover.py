"""Going on after Snakemake itself was killed: its jobs run on, and a new one would submit them a second time."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import psutil

from infonce.cluster import queue
from infonce.errors import ClusterError

NAME = "infonce_"  # as slurm/profile.yaml sets it
SECONDS_TO_END = 120


def recover(folder: Path) -> list[str]:
    """End the jobs that a dead Snakemake left in the queue and remove its lock; says what was done.

    Raises ClusterError while a Snakemake is at work in `folder`, and where jobs do not end.
    """
    folder = folder.resolve()
    if living := snakemakes(folder):
        raise ClusterError(
            f"a Snakemake is at work in {folder} (process {living[0].pid}); nothing was done. Wait for it, or stop it "
            "by Ctrl-C, which ends its jobs as well."
        )
    said = _end_jobs(folder) if queue.installed() else []
    unlock = [sys.executable, "-m", "snakemake", "--unlock", "--quiet", "all"]
    done = subprocess.run(unlock, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"snakemake --unlock: {queue.last_line(done.stderr)}")
    return [*said, "The folder is unlocked. Start Snakemake as before; trainings go on from their last kept state."]


def snakemakes(folder: Path) -> list[psutil.Process]:
    """Snakemakes on this machine that work in `folder` and are not part of a job."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if not any(Path(word).name == "snakemake" for word in words[:4]) or "--unlock" in words:
                continue
            if "--mode" not in words and Path(process.cwd()) == folder:
                found.append(process)
    return found


def _end_jobs(folder: Path) -> list[str]:
    left = _jobs(folder)
    if not left:
        return ["No jobs of this folder are in the queue."]
    queue.answer("scancel", *left)
    end = time.monotonic() + SECONDS_TO_END
    while _jobs(folder):
        if time.monotonic() > end:
            raise ClusterError(f"jobs {', '.join(_jobs(folder))} do not end; look at `squeue --me` and try again")
        time.sleep(1)
    return [f"Ended {len(left)} jobs that were left in the queue."]


def _jobs(folder: Path) -> list[str]:
    return [job.job_id for job in queue.queue() if job.name.startswith(NAME) and Path(job.folder) == folder]
