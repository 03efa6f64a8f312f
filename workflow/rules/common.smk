import sys

# The package beside this workflow is used, installed or not.
sys.path.insert(0, str(workflow.basedir))

from infonce.errors import ConfigError
from infonce.plan.workflow import Workflow, let_jobs_find_the_package
from snakemake.exceptions import WorkflowError

let_jobs_find_the_package()
try:
    WORKFLOW = Workflow.of_snakemake(config, workflow.configfiles)
except ConfigError as error:
    raise WorkflowError(f"The configuration is refused, nothing was run.\n{error}")

TABLES = ["runs", "curves", "terms", "history"]


wildcard_constraints:
    **WORKFLOW.constraints(),
