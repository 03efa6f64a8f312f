# make report   environment, default grid, report      make test   the tests
# make lint     style, types, workflow lint            make lock   resolve requirements.lock anew
# make licences of all dependencies, needs no network  make audit  known vulnerabilities of them, needs a network

PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
VENV := .venv
READY := $(VENV)/.ready
# The activated environment, as a user would have it: rules find `python` and `snakemake` on PATH.
# Snakemake's own cache lies in this folder unless XDG_CACHE_HOME says otherwise, for homes that cannot be written.
IN_ENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" PYTHONDONTWRITEBYTECODE=1 \
	XDG_CACHE_HOME="$${XDG_CACHE_HOME:-$(CURDIR)/.snakemake/cache}"

.PHONY: environment report test lint format reference licences audit lock clean

environment: $(READY)

# The lock holds a digest for every file, so nothing else is installed than what was tested.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --requirement requirements.lock
	$(VENV)/bin/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

report: $(READY)
	$(IN_ENV) snakemake --cores $(CORES)
	@echo "The report: file://$(CURDIR)/results/report/report.html"

test: $(READY)
	$(IN_ENV) python -m pytest -m "not slurm" -n $(CORES) --dist loadfile
	$(IN_ENV) python -m pytest -m slurm  # one after the other: there is one cluster on a machine

lint: $(READY)
	$(IN_ENV) ruff check .
	$(IN_ENV) ruff format --check .
	$(IN_ENV) mypy
	$(IN_ENV) snakefmt --check Snakefile workflow
	$(IN_ENV) snakemake --lint

format: $(READY)
	$(IN_ENV) ruff check --fix .
	$(IN_ENV) ruff format .
	$(IN_ENV) snakefmt Snakefile workflow

reference: $(READY)
	$(IN_ENV) python -m infonce reference
	$(IN_ENV) python -m infonce.records.document

licences: $(READY)
	$(IN_ENV) python tools/licences.py

# Not a test: it asks a database of vulnerabilities on the network, and its answer changes from day to day.
audit:
	@command -v pip-audit >/dev/null || { echo "make audit needs pip-audit (pipx install pip-audit) and a network" >&2; exit 1; }
	@pip-audit --requirement requirements.lock --require-hashes --disable-pip || { status=$$?; \
		echo "make audit: pip-audit found something, or could not reach its database, for which it needs a network" >&2; \
		exit $$status; }

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra test pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .snakemake results/runs results/report results/logs results/benchmarks results/*.parquet
