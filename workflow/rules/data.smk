rule prepare:
    output:
        f"{WORKFLOW.data}/prepared/{{prepared}}/manifest.json",
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
        code=WORKFLOW.code("prepare"),
    shell:
        "python -m infonce prepare --dataset {params.dataset:q} --options {params.options:q}"
        " --raw {params.raw:q} --output {output:q} > {log:q} 2>&1"
