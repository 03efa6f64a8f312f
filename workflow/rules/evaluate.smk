rule evaluate:
    input:
        data=WORKFLOW.prepared_data,
        weights=rules.train.output.weights,
        history=rules.train.output.history,
        record=rules.train.output.record,
    output:
        run=f"{WORKFLOW.run_folder}/run.parquet",
        curves=f"{WORKFLOW.run_folder}/curves.parquet",
        terms=f"{WORKFLOW.run_folder}/terms.parquet",
    log:
        WORKFLOW.log("evaluate"),
    benchmark:
        WORKFLOW.benchmark("evaluate")
    conda:
        "../../environment.yml"
    threads: WORKFLOW.threads("evaluate")
    resources:
        **WORKFLOW.gpu_request("evaluate"),
        mem_mb=WORKFLOW.evaluation_memory,
        runtime=WORKFLOW.evaluation_minutes,
        device=WORKFLOW.device("evaluate"),
    params:
        spec=WORKFLOW.spec,
        options=WORKFLOW.evaluation(),
        code=WORKFLOW.evaluation_code,
        attempts=f"{WORKFLOW.log('evaluate')}.attempts",
    shell:
        "keep() {{ cp {params.attempts:q} {log:q}; }}; trap keep EXIT;"
        " python -m infonce evaluate --spec {params.spec:q} --options {params.options:q} --data {input.data:q}"
        " --weights {input.weights:q} --code {params.code:q} --threads {threads} --device {resources.device}"
        " >> {params.attempts:q} 2>&1"
