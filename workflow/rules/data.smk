rule download:
    output:
        f"{WORKFLOW.results}/data/{{dataset}}.json",
    log:
        f"{WORKFLOW.results}/logs/download/{{dataset}}.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        raw=f"{WORKFLOW.data}/raw",
        mirror=WORKFLOW.mirror,
        retries=WORKFLOW.config.downloads.retries,
    shell:
        "python -m infonce data fetch {wildcards.dataset:q} --raw {params.raw:q} {params.mirror}"
        " --retries {params.retries} --record {output:q} > {log:q} 2>&1"


rule prepare:
    input:
        # Ancient: a complete prepared folder is used as it is, without a download or a write.
        ancient(WORKFLOW.raw_record),
    output:
        # Update: Snakemake does not remove it first, as another workflow on the same data may be training from it.
        update(f"{WORKFLOW.data}/prepared/{{prepared}}/manifest.json"),
    log:
        f"{WORKFLOW.results}/logs/prepare/{{prepared}}.log",
    benchmark:
        f"{WORKFLOW.results}/benchmarks/prepare/{{prepared}}.jsonl"
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        dataset=WORKFLOW.dataset,
        options=WORKFLOW.dataset_options,
        raw=f"{WORKFLOW.data}/raw",
        code=WORKFLOW.preparing_code,
    shell:
        "python -m infonce prepare --dataset {params.dataset:q} --options {params.options:q}"
        " --raw {params.raw:q} --output {output:q} --code {params.code} {input:q} > {log:q} 2>&1"
