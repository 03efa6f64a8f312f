rule train:
    input:
        data=WORKFLOW.prepared_data,
    output:
        weights=f"{WORKFLOW.run_folder}/weights.safetensors",
        history=f"{WORKFLOW.run_folder}/history.parquet",
        record=f"{WORKFLOW.run_folder}/training.json",
    log:
        WORKFLOW.log("train"),
    benchmark:
        WORKFLOW.benchmark("train")
    conda:
        "../../environment.yml"
    threads: WORKFLOW.threads("train")
    resources:
        **WORKFLOW.gpu_request("train"),
        mem_mb=WORKFLOW.training_memory,
        runtime=WORKFLOW.training_minutes,
        device=WORKFLOW.device("train"),
    params:
        spec=WORKFLOW.spec,
        code=WORKFLOW.training_code,
        # Snakemake removes a log when it tries a job again; this file keeps every attempt.
        attempts=f"{WORKFLOW.log('train')}.attempts",
    # A shell that died at SIGTERM would take the training with it, which has its state to keep first.
    shell:
        "keep() {{ cp {params.attempts:q} {log:q}; }}; trap keep EXIT; trap : TERM;"
        " python -m infonce train --spec {params.spec:q} --data {input.data:q} --weights {output.weights:q}"
        " --code {params.code} --threads {threads} --device {resources.device} >> {params.attempts:q} 2>&1"
