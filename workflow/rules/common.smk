import shlex
import sys

# The package beside this workflow is used, installed or not; jobs find it in the same way.
sys.path.insert(0, str(workflow.basedir))
shell.prefix(f"export PYTHONPATH={shlex.quote(str(workflow.basedir))}${{PYTHONPATH:+:$PYTHONPATH}}; ")

from infonce.errors import ConfigError
from infonce.plan.workflow import Workflow
from snakemake.exceptions import WorkflowError

try:
    WORKFLOW = Workflow(config, workflow.configfiles)
except ConfigError as error:
    raise WorkflowError(f"The configuration is refused, nothing was run.\n{error}")

TABLES = ["runs", "curves", "terms", "history"]


wildcard_constraints:
    **WORKFLOW.constraints(),
