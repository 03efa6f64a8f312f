# The whole story: configuration → grid of runs → data → training → evaluation → tables → report.
# The rules call the command line (`python -m infonce …`) and hold no logic of their own.

from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"


# The whole grid and its report. The numbers of every run are named too, so that one that was removed is made again
# although the tables exist.
rule all:
    default_target: True
    input:
        f"{WORKFLOW.results}/report/report.html",
        expand(f"{WORKFLOW.results}/{{table}}.parquet", table=TABLES),
        WORKFLOW.of_every_run("run.parquet"),


# All data sets of the grid, ready for training: the only target that needs a network.
rule data:
    input:
        WORKFLOW.prepared_folders(),


# All encoders of the grid.
rule encoders:
    input:
        WORKFLOW.of_every_run("weights.safetensors"),


# All numbers of the grid, a folder a run.
rule numbers:
    input:
        WORKFLOW.of_every_run("run.parquet"),
