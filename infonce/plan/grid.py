"""From a configuration to its grid of runs. Nothing here imports torch or reads data: a workflow is parsed with it."""

import itertools
from collections.abc import Mapping
from typing import Any

from infonce.data.registry import DATASETS
from infonce.errors import ConfigError
from infonce.plan.combinations import check_combinations
from infonce.plan.names import check_names
from infonce.plan.parts import AXIS_KEYS, parts
from infonce.spec.config import Config
from infonce.spec.problems import validate
from infonce.spec.run import AXES, DatasetOptions, RunSpec, ViewOptions, axis_text
from infonce.spec.source import NO_SOURCES, Sources, dotted


def load_config(values: Mapping[str, Any], sources: Sources = NO_SOURCES) -> Config:
    """The typed configuration, checked like `load_grid`."""
    return load_grid(values, sources)[0]


def load_grid(values: Mapping[str, Any], sources: Sources = NO_SOURCES) -> tuple[Config, dict[str, RunSpec]]:
    """The typed configuration and its runs, or one ConfigError that names file, key, value and what is expected.

    Refused: what the types refuse, unknown names, values given twice (`0.1` and `0.10`), grid points that two
    parts of the grid share, and values that no job could use together.
    """
    config = validate(Config, values, sources)
    _refuse_repeats(config, sources)
    runs = expand(config, sources)
    check_names(config, sources)
    check_combinations(config, sources)
    return config, runs


def expand(config: Config, sources: Sources = NO_SOURCES) -> dict[str, RunSpec]:
    """Every run of the grid by its token, in the order of the configuration."""
    runs: dict[str, RunSpec] = {}
    for part in parts(config):
        for point in itertools.product(*part.axes.values()):
            spec = _run_spec(config, dict(zip(part.axes, point, strict=True)))
            if spec.token in runs:
                raise ConfigError(
                    f"{sources.locate(part.key)}: {dotted(part.key)}: names the run {spec.token} again, which the grid "
                    "or an earlier slice has; take one of its values out"
                )
            runs[spec.token] = spec
    return runs


def _run_spec(config: Config, point: dict[str, Any]) -> RunSpec:
    # The parts are typed already; building without a second validation keeps 10,000 runs under a second.
    return RunSpec.model_construct(
        **point,
        dataset_options=config.dataset_options.get(point["dataset"], DatasetOptions()),
        view_options=_view_options(config, point["dataset"]),
        encoder_options=config.encoder_options.get(point["encoder"], {}),
        training=config.training,
    )


def _view_options(config: Config, name: str) -> ViewOptions:
    """The views of a data set: those that were asked for, by the data set's own recipe unless one was named."""
    asked = config.view_options.get(name, ViewOptions())
    own = DATASETS[name].recipe if name in DATASETS else None  # unknown names are refused later, points have no views
    if own is None or "recipe" in asked.model_fields_set:
        return asked
    return asked.model_copy(update={"recipe": own})


def _refuse_repeats(config: Config, sources: Sources) -> None:
    for part in parts(config):
        for axis in (axis for axis in AXES if axis in part.named):
            key = AXIS_KEYS[axis]
            texts = [axis_text(value) for value in part.axes[axis]]
            for position, text in enumerate(texts):
                if text in texts[:position]:
                    where = sources.locate((*part.key, key, position))
                    raise ConfigError(f"{where}: {key}: {text} is given twice; keep one")
