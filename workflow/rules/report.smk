rule collect:
    input:
        runs=WORKFLOW.of_every_run("run.parquet"),
        curves=WORKFLOW.of_every_run("curves.parquet"),
        terms=WORKFLOW.of_every_run("terms.parquet"),
        history=WORKFLOW.of_every_run("history.parquet"),
    output:
        expand(f"{WORKFLOW.results}/{{table}}.parquet", table=TABLES),
    log:
        f"{WORKFLOW.results}/logs/collect.log",
    benchmark:
        f"{WORKFLOW.results}/benchmarks/collect.jsonl"
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        grid=WORKFLOW.grid(),
        code=WORKFLOW.code("collect"),
    shell:
        "python -m infonce collect --config {params.grid:q} > {log:q} 2>&1"


rule report:
    input:
        expand(f"{WORKFLOW.results}/{{table}}.parquet", table=TABLES),
    output:
        page=report(
            f"{WORKFLOW.results}/report/report.html",
            caption="../report/page.rst",
            category="Report",
            labels={"page": "the whole report"},
        ),
        figures=report(
            directory(f"{WORKFLOW.results}/report/figures"),
            patterns=["{selection}/{figure}.svg"],
            caption="../report/figure.rst",
            category="Figures",
            subcategory="{selection}",
            labels={"figure": "{figure}"},
        ),
        tables=report(
            directory(f"{WORKFLOW.results}/report/tables"),
            patterns=["{table}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
    log:
        f"{WORKFLOW.results}/logs/report.log",
    benchmark:
        f"{WORKFLOW.results}/benchmarks/report.jsonl"
    localrule: True
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        grid=WORKFLOW.grid(),
        code=WORKFLOW.code("report"),
    shell:
        "python -m infonce report --config {params.grid:q} > {log:q} 2>&1"


# What exists of an unfinished grid, with every missing run listed; trains nothing. It has no output of its own, so that
# it runs whenever it is asked for: the grid has grown since.
rule partial:
    log:
        f"{WORKFLOW.results}/logs/partial.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        grid=WORKFLOW.grid(),
    shell:
        "python -m infonce report --partial --config {params.grid:q} 2>&1 | tee {log:q}"
