"""Checks of a typed configuration against the registries: names, their options, and how many tuples the data allow."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from infonce.data import registry as data_registry
from infonce.encoders import registry as encoder_registry
from infonce.errors import ConfigError
from infonce.spec.config import Config
from infonce.spec.run import RunSpec
from infonce.spec.source import Key, Sources, dotted


def check_names(config: Config, runs: Mapping[str, RunSpec], sources: Sources) -> None:
    """Refuse what the registries do not have or what a data set or an encoder cannot do, by file, key and value."""
    for name, dataset_options in config.dataset_options.items():
        with _at(("dataset_options", name), sources):
            data_registry.check_options(name, dataset_options)
    for name, encoder_options in config.encoder_options.items():
        with _at(("encoder_options", name), sources):
            encoder_registry.check_options(name, encoder_options)
    for prefix, names in (
        (("view_options",), config.view_options),
        (("downloads", "mirrors"), config.downloads.mirrors),
    ):
        for name in names:
            with _at((*prefix, name), sources):
                data_registry.dataset(name)
    for key, name in _named(config, "datasets"):
        with _at(key, sources):
            data_registry.dataset(name)
    for key, name in _named(config, "encoders"):
        with _at(key, sources):
            encoder_registry.encoder(name)
    _check_combinations(runs.values(), sources)


def _check_combinations(runs: Iterable[RunSpec], sources: Sources) -> None:
    """Each kind of combination is checked once, however many runs share it."""
    heads = {(run.encoder, run.head) for run in runs}
    for encoder, head in sorted(heads):
        with _at(("heads",), sources):
            encoder_registry.check_head(encoder, head)
    seen = set()
    for run in runs:
        kind = (run.dataset, run.positives, run.tuple_design, run.negatives, run.tuples)
        if kind not in seen:
            seen.add(kind)
            _check_tuples(run, sources)


def _check_tuples(run: RunSpec, sources: Sources) -> None:
    allowed = data_registry.dataset(run.dataset).positives
    if run.positives not in allowed:
        raise ConfigError(
            f"{sources.locate(('positives',))}: positives: {run.positives!r} is refused for the data set "
            f"{run.dataset!r}: it can make {', '.join(allowed)}"
        )
    largest = data_registry.largest_tuples(
        run.dataset, run.dataset_options, run.positives, run.tuple_design, run.negatives
    )
    if run.tuples > largest:
        raise ConfigError(
            f"{sources.locate(('tuples',))}: tuples: {run.tuples} is refused: {run.dataset} with positives "
            f"{run.positives!r}, tuple design {run.tuple_design!r} and {run.negatives} negatives "
            f"allows at most {largest}"
        )


def _named(config: Config, key: str) -> Iterable[tuple[Key, str]]:
    for position, name in enumerate(getattr(config, key)):
        yield (key, position), name
    for part, slice_ in enumerate(config.slices):
        for position, name in enumerate(getattr(slice_, key) or []):
            yield ("slices", part, key, position), name


@contextlib.contextmanager
def _at(key: Key, sources: Sources) -> Iterator[None]:
    """A registry's ConfigError gets the file and the key in front."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{sources.locate(key)}: {dotted(key)}: {error}") from None
