"""How long a dry run of a large grid takes, beside a bare Snakefile with as many jobs, rules, files and wildcards.

    python benchmarks/dry_run.py [--runs 10000] [--rounds 3]

Times are of the processor, not of the clock, so that other work on the machine disturbs them little; both are measured
in turn. The bare Snakefile has the same paths and no function, parameter or request that depends on the run.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
BARE = """
from itertools import product

RUN = "{pattern}"
RUNS = [line for line in open("runs.txt").read().splitlines()]


rule all:
    input:
        "results/report.html",


rule prepare:
    output:
        "data/manifest.json",
    shell:
        "touch {{output}}"


rule train:
    input:
        "data/manifest.json",
    output:
        weights=f"results/runs/{{RUN}}/weights.safetensors",
        history=f"results/runs/{{RUN}}/history.parquet",
        record=f"results/runs/{{RUN}}/training.json",
    log:
        f"results/logs/train/{{RUN}}.log",
    benchmark:
        f"results/benchmarks/train/{{RUN}}.jsonl"
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "touch {{output}}"


rule evaluate:
    input:
        data="data/manifest.json",
        weights=rules.train.output.weights,
        history=rules.train.output.history,
        record=rules.train.output.record,
    output:
        run=f"results/runs/{{RUN}}/run.parquet",
        curves=f"results/runs/{{RUN}}/curves.parquet",
        terms=f"results/runs/{{RUN}}/terms.parquet",
    log:
        f"results/logs/evaluate/{{RUN}}.log",
    benchmark:
        f"results/benchmarks/evaluate/{{RUN}}.jsonl"
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "touch {{output}}"


rule collect:
    input:
        expand("results/runs/{{run}}/{{table}}.parquet", run=RUNS, table=["run", "curves", "terms", "history"]),
    output:
        "results/runs.parquet",
    shell:
        "touch {{output}}"


rule report:
    input:
        "results/runs.parquet",
    output:
        "results/report.html",
    shell:
        "touch {{output}}"
"""


def grid(runs: int) -> dict:
    """A configuration with that many runs: a multiple of 1,000."""
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text()) | {
        "negatives": [2**power for power in range(10)],
        "temperatures": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1],
        "dimensions": [4, 8, 16, 32, 64],
        "positives": ["augment", "class"],
        "seeds": list(range(1, runs // 1000 + 1)),
        "slices": [],
    }


def write_bare(folder: Path, runs: int) -> None:
    """The bare Snakefile, with the names of the same runs."""
    from infonce.plan.workflow import Workflow
    from infonce.spec.run import RUN_PATTERN
    from infonce.spec.source import read_config_files

    (folder / "grid.yaml").write_text(yaml.safe_dump(grid(runs)))
    files = [folder / "grid.yaml"]
    workflow = Workflow(read_config_files(files), files)
    assert len(workflow.runs) == runs
    (folder / "runs.txt").write_text("\n".join(workflow.runs))
    (folder / "Snakefile").write_text(BARE.format(pattern=RUN_PATTERN))


def processor_seconds(command: list[str], folder: Path) -> tuple[float, int]:
    """Of a command that must succeed; and the jobs that it planned."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("total"))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(total)


def parse_seconds(folder: Path) -> float:
    """Processor time from the files of a configuration to all that the Snakefile asks before jobs are planned."""
    from infonce.plan.workflow import Workflow
    from infonce.spec.source import read_config_files

    files = [folder / "grid.yaml"]
    began = time.process_time()
    workflow = Workflow(read_config_files(files), files)
    workflow.constraints()
    workflow.grid()
    for file in ("weights.safetensors", "run.parquet", "curves.parquet", "terms.parquet", "history.parquet"):
        workflow.of_every_run(file)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bare(folder, options.runs)
        snakemake = ["snakemake", "--dry-run", "--quiet", "rules", "--cores", "1", "--directory", name]
        ours = [*snakemake, "--snakefile", str(ROOT / "Snakefile"), "--configfile", str(folder / "grid.yaml")]
        bare = [*snakemake, "--snakefile", str(folder / "Snakefile")]
        times: dict[str, list[float]] = {"workflow": [], "bare": [], "parse": []}
        for _ in range(options.rounds):
            for key, command in (("workflow", ours), ("bare", bare)):
                seconds, jobs = processor_seconds(command, folder)
                times[key].append(seconds)
                print(f"{key}: {jobs} jobs, {seconds:.1f} s", flush=True)
            times["parse"].append(parse_seconds(folder))
    medians = {key: statistics.median(values) for key, values in times.items()}
    ratios = [ours / bare for ours, bare in zip(times["workflow"], times["bare"], strict=True)]
    print(f"{options.runs} runs, median of {options.rounds} rounds, processor seconds:")
    print(f"  grid parsed in {medians['parse']:.2f}")
    print(f"  dry run {medians['workflow']:.1f}, bare Snakefile {medians['bare']:.1f}")
    print(f"  ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
