"""What the preparation of a data set takes from the registry, as text for a digest."""

from infonce.data import registry
from infonce.spec.run import DatasetOptions


def preparation_facts(name: str, options: DatasetOptions) -> str:
    """Sizes of both splits before and after their limits, classes, options, and the files with their digests.

    Titles, licences, citations and addresses are left out: they change no byte of the images.
    """
    unlimited = options.model_copy(update={"train_limit": None, "held_out_limit": None})
    sizes = [
        count(name, asked)
        for asked in (options, unlimited)
        for count in (registry.training_images, registry.held_out_images)
    ]
    files = [(file.name, file.size, file.digest, file.members) for file in registry.dataset(name).files]
    told = (sizes, registry.input_shape(name, options), registry.class_names(name, options))
    return repr((name, *told, sorted(registry.relevant_options(name, options).items()), files))
