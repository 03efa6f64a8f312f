"""The configuration, typed: what a researcher names, and the settings that all runs share."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from infonce.spec.evaluation import Counts, EvaluationOptions
from infonce.spec.run import (
    DatasetOptions,
    Head,
    Loss,
    Options,
    Positives,
    TrainingOptions,
    TupleDesign,
    ViewOptions,
)
from infonce.spec.values import Count, Seed, Temperature, to_list

# Snakemake reads braces in a path as a wildcard.
Folder = Annotated[str, Field(min_length=1, pattern=r"^[^{}\x00-\x1f]+$")]
Names = Annotated[list[str], BeforeValidator(to_list), Field(min_length=1)]


class Axes(Options):
    """The grid: every combination of these values is a run."""

    datasets: Names = Field(description="data sets, by their names in the registry")
    positives: Annotated[list[Positives], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="how positives are made: two views of an image, another image of the class, or von Mises-Fisher"
    )
    encoders: Names = Field(description="encoders, by their names in the registry")
    heads: Annotated[list[Head], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="how features become unit vectors"
    )
    dimensions: Counts = Field(description="dimension d of the embedding; `lift` makes it from d - 1 features")
    losses: Annotated[list[Loss], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="loss that is trained"
    )
    negatives: Counts = Field(description="numbers of negatives k")
    temperatures: Annotated[list[Temperature], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="temperatures τ"
    )
    tuples: Counts = Field(description="numbers n of training tuples")
    tuple_designs: Annotated[list[TupleDesign], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="`shared`: tuples share images; `disjoint`: each tuple has images of its own"
    )
    seeds: Annotated[list[Seed], BeforeValidator(to_list), Field(min_length=1)] = Field(
        description="seeds; one run for each"
    )


class Slice(Options):
    """A further part of the grid: the axes that it names replace those of the grid."""

    datasets: Names | None = None
    positives: Annotated[list[Positives], BeforeValidator(to_list), Field(min_length=1)] | None = None
    encoders: Names | None = None
    heads: Annotated[list[Head], BeforeValidator(to_list), Field(min_length=1)] | None = None
    dimensions: Counts | None = None
    losses: Annotated[list[Loss], BeforeValidator(to_list), Field(min_length=1)] | None = None
    negatives: Counts | None = None
    temperatures: Annotated[list[Temperature], BeforeValidator(to_list), Field(min_length=1)] | None = None
    tuples: Counts | None = None
    tuple_designs: Annotated[list[TupleDesign], BeforeValidator(to_list), Field(min_length=1)] | None = None
    seeds: Annotated[list[Seed], BeforeValidator(to_list), Field(min_length=1)] | None = None


class ResourceOptions(Options):
    """What a job of one kind asks the cluster for."""

    gpus: Annotated[Seed, Field(le=8)] = Field(default=0, description="GPUs; 0 runs on the processor")
    threads: Count = Field(default=1, description="processor cores")
    memory_mib: Count | None = Field(
        default=None, description="memory of the first attempt; null: from the run; doubled for each retry"
    )
    minutes: Count | None = Field(
        default=None, description="time of the first attempt; null: from the run; doubled for each retry"
    )


class Resources(Options):
    """Requests by kind of job, and the form in which the cluster wants its GPUs asked for."""

    train: ResourceOptions = ResourceOptions()
    evaluate: ResourceOptions = ResourceOptions()
    gpu_request: Literal["gpu", "gpu_model", "gres"] = Field(
        default="gpu", description="`gpu`: a number; `gpu_model`: a model and a number; `gres`: a generic resource"
    )
    gpu_model: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")] | None = Field(
        default=None, description="the cluster's name of the GPU model; needed by `gpu_model`, used by `gres`"
    )

    @model_validator(mode="after")
    def _model_is_named(self) -> "Resources":
        if self.gpu_request == "gpu_model" and self.gpu_model is None:
            raise ValueError("gpu_request: gpu_model needs the name of a model in gpu_model")
        return self


class Downloads(Options):
    """Where raw data come from."""

    mirrors: dict[str, str] = Field(
        default={}, description="data set → address (or local folder) that holds its files, tried first"
    )
    retries: Count = Field(default=4, description="attempts for each address")


class Config(Axes):
    """The whole configuration."""

    title: str = Field(
        default="Similarity search generalisation with the InfoNCE loss",
        min_length=1,
        description="title of the report",
    )
    slices: list[Slice] = Field(default=[], description="further parts of the grid")
    dataset_options: dict[str, DatasetOptions] = Field(default={}, description="data set → how it is prepared")
    view_options: dict[str, ViewOptions] = Field(default={}, description="data set → views of `augment`")
    encoder_options: dict[str, dict[str, bool | int | float | str]] = Field(
        default={}, description="encoder → its options"
    )
    training: TrainingOptions = TrainingOptions()
    evaluation: EvaluationOptions = EvaluationOptions()
    downloads: Downloads = Downloads()
    resources: Resources = Resources()
    data_folder: Folder = Field(default="data", description="raw and prepared data")
    results_folder: Folder = Field(default="results", description="everything the workflow makes")
