"""Checks of a typed configuration against the registries: names, and the options of what they name."""

import contextlib
from collections.abc import Iterable, Iterator

from infonce.data import registry as data_registry
from infonce.encoders import registry as encoder_registry
from infonce.errors import ConfigError
from infonce.spec.config import Config
from infonce.spec.run import DatasetOptions
from infonce.spec.source import Key, Sources, dotted


def check_names(config: Config, sources: Sources) -> None:
    """Refuse names that the registries do not have and options that do not fit, by file, key and value."""
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
    for name in dict.fromkeys(name for _, name in _named(config, "datasets")):
        _check_sizes(config, name, sources)


def _check_sizes(config: Config, name: str, sources: Sources) -> None:
    """What an option's own range cannot say: two images in each split, and two pixels a side where views are blurred.

    Negatives are other images than the anchor; a blur reads beyond the edge by reflection.
    """
    options = config.dataset_options.get(name, DatasetOptions())
    for option, images in (
        ("points", data_registry.training_images(name, options)),
        ("held_out", data_registry.held_out_images(name, options)),
    ):
        if images < 2:
            key = ("dataset_options", name, option)
            raise ConfigError(
                f"{sources.locate(key)}: {dotted(key)}: {images} is refused: a split needs at least 2 images"
            )
    views = config.view_options.get(name)
    if views and views.blur and options.resize == 1:
        key = ("view_options", name, "blur")
        raise ConfigError(
            f"{sources.locate(key)}: {dotted(key)}: {views.blur} is refused: an image of one pixel cannot be blurred"
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
