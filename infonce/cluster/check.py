"""`infonce cluster check`: each thing that a grid needs of a cluster, tried; a line says well, or what to set."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from infonce.cluster import queue
from infonce.cluster.queue import answer
from infonce.cluster.site import Request, Site, requests, sbatch_options
from infonce.cluster.surroundings import Finding, downloads, file_system
from infonce.errors import ClusterError
from infonce.plan.workflow import Workflow

LONGEST_PAUSE = 180  # seconds at most between two looks of the Slurm plugin at its jobs


def check(site: Site, workflow: Workflow, folder: Path, submit: bool) -> Iterator[Finding]:
    """Every finding as soon as it is known. `submit` runs a job of a few seconds to see the shared file system."""
    yield _tried("sbatch", _sbatch)
    yield _tried("squeue", _squeue)
    yield _accounting(site)
    yield from _partitions(site)
    for request in requests(workflow):
        yield _request(request, site)
    yield file_system(site, folder, submit)
    yield from downloads(workflow, folder)


def _tried(name: str, trial: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, trial())
    except ClusterError as error:
        return Finding(name, False, f"{error}.")


def _sbatch() -> str:
    return f"is here: {answer('sbatch', '--version').strip()}"


def _squeue() -> str:
    jobs = queue.queue()
    config = answer("scontrol", "show", "config")
    found = re.search(r"MinJobAge\s*=\s*(\d+)", config)
    age = int(found.group(1)) if found else None
    if age is not None and age < LONGEST_PAUSE:
        raise ClusterError(
            f"the cluster forgets ended jobs after {age} s (MinJobAge); Snakemake looks every {LONGEST_PAUSE} s at "
            "most and would wait for ever for a job that it misses. Ask for a longer MinJobAge; where accounting "
            "works, set slurm-status-command: sacct and do not cancel single jobs"
        )
    return f"answers, you have {len(jobs)} jobs in it; ended jobs are shown for {age or 'some'} s"


def _accounting(site: Site) -> Finding:
    try:
        answer("sacct", "--allocations", "--noheader", "--starttime=now-1hour")
        works, reason = True, "answers"
    except ClusterError as error:
        works, reason = False, str(error)
    wanted = site.status_command
    if wanted == "squeue":
        return Finding("accounting", True, f"{reason}; not needed, jobs are followed by squeue")
    if works and wanted == "sacct":
        return Finding("accounting", True, f"{reason}; but a cancelled job counts as running for ever: prefer squeue")
    return Finding(
        "accounting", False, f"{reason}; set slurm-status-command: squeue in {site.path}, or a run waits for ever"
    )


def _partitions(site: Site) -> Iterator[Finding]:
    try:
        lines = answer("sinfo", "--noheader", "--format=%R|%a|%l|%G").splitlines()
    except ClusterError as error:
        yield Finding("partitions", False, f"{error}.")
        return
    rows = [line.split("|") for line in lines if line]
    states = {name: state for name, state, *_ in rows}
    shown = ", ".join(sorted({f"{name} (up to {limit}, {gres})" for name, _, limit, gres in rows}))
    for rule in ("train", "evaluate"):
        partition = site.partition(rule)
        for name in partition.split(",") if partition else []:
            if states.get(name) != "up":
                text = f"is {states[name]}" if name in states else "does not exist"
                yield Finding(
                    "partitions",
                    False,
                    f"{name} of {rule} {text}; set slurm_partition in {site.path}. There are {shown}.",
                )
                return
    yield Finding("partitions", True, shown)


def _request(request: Request, site: Site) -> Finding:
    options, name = sbatch_options(request, site), f"request of {request.stage}"
    try:
        return Finding(name, True, f"{request.described()}: {_test_only(options)}")
    except ClusterError as error:
        return Finding(
            name,
            False,
            f"{request.described()} is refused as `sbatch {' '.join(options)}` ({error}); set slurm_partition, "
            f"slurm_account or constraint in {site.path}, or resources.{request.stage} and resources.gpu_request in "
            "the configuration",
        )


def _test_only(options: list[str]) -> str:
    """When a job with these options would start. Nothing is submitted."""
    done = queue.completed("sbatch", "--test-only", *options, "--wrap=true")
    found = re.search(r"to start at (\S+)", done.stderr)
    return f"could start at {found.group(1)}" if found else "is accepted"
