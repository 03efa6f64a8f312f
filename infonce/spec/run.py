"""The identity of a run: one frozen `RunSpec` yields its path, its content hash and its table columns."""

import hashlib
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from infonce.spec.values import Count, NonNegative, Number, Positive, Seed, Temperature, Whole

Positives = Literal["augment", "class", "sphere"]
Head = Literal["normalize", "lift"]
Loss = Literal["infonce", "dcl"]
TupleDesign = Literal["shared", "disjoint"]
Strength = NonNegative | None
Share = Annotated[NonNegative, Field(le=1)] | None


class Options(BaseModel):
    """Base of every group of settings: frozen, no unknown keys, no text where a number belongs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DatasetOptions(Options):
    """How a data set is prepared; most keys matter to one data set only."""

    held_out: Count | None = Field(
        default=None,
        description="images kept out of training; sphere: held-out points",
    )
    split_seed: int = Field(default=0, ge=0, description="seed of the split into training and held-out images")
    train_limit: Count | None = Field(
        default=None, description="use only that many training images, stratified by class"
    )
    held_out_limit: Count | None = Field(
        default=None, description="use only that many held-out images, stratified by class"
    )
    labels: Literal["fine", "coarse"] = Field(default="fine", description="CIFAR-100: 100 or 20 classes")
    resize: Count | None = Field(default=None, description="side length that images are resized to")
    points: Count = Field(default=20_000, description="sphere: points generated for training")
    ambient_dimension: Annotated[Count, Field(ge=2)] = Field(
        default=8, description="sphere: dimension D of the space that holds S^(D-1)"
    )
    concentration: Annotated[Positive, Field(le=1e9)] = Field(
        default=20.0, description="sphere: concentration κ of the von Mises-Fisher positives"
    )
    norm_sigma: NonNegative = Field(default=0.0, description="sphere: σ of log-normal norms; 0 keeps unit norms")


class ViewOptions(Options):
    """Strengths of the random views of `augment`; `recipe` is the version of their definition.

    A strength that is not given is the recipe's own for the size of the images.
    """

    recipe: Literal["small-1", "natural-1"] = Field(
        default="small-1",
        description="version of the recipe; that of the data set unless it is named: `natural-1` for photographs",
    )
    strength: Annotated[NonNegative, Field(le=2)] = Field(
        default=1.0, description="factor on every strength of the recipe; 0 turns the views off"
    )
    shift: Strength = Field(default=None, description="small-1: largest shift, as a part of the side")
    zoom: Strength = Field(default=None, description="small-1: zoom lies in 1 ± this")
    noise: Strength = Field(default=None, description="small-1: standard deviation of Gaussian noise")
    contrast: Strength = Field(default=None, description="contrast factor lies in 1 ± this")
    smallest_crop: Annotated[Positive, Field(le=1)] | None = Field(
        default=None, description="natural-1: smallest part of the area that a crop keeps"
    )
    brightness: Strength = Field(default=None, description="natural-1: brightness factor lies in 1 ± this")
    saturation: Strength = Field(default=None, description="natural-1: saturation factor lies in 1 ± this")
    hue: Annotated[NonNegative, Field(le=0.5)] | None = Field(
        default=None, description="natural-1: largest turn of the hue, as a part of the circle"
    )
    flip: Share = Field(default=None, description="natural-1: how often a view is mirrored")
    jitter: Share = Field(default=None, description="natural-1: how often colours are changed")
    grey: Share = Field(default=None, description="natural-1: how often a view is grey")
    blur: Share = Field(default=None, description="natural-1: how often a view is blurred")


class TrainingOptions(Options):
    """How an encoder is trained; held constant across k."""

    optimizer: Literal["adam", "adamw", "sgd"] = Field(default="adam", description="optimiser")
    learning_rate: Positive = Field(default=1e-3, description="step size, after the warm-up")
    momentum: Annotated[NonNegative, Field(lt=1)] = Field(default=0.9, description="sgd only")
    weight_decay: NonNegative = Field(default=0.0, description="weight decay; decoupled for adamw")
    batch_size: Count = Field(default=256, description="tuples in a step; independent of the negatives")
    steps: Count = Field(default=400, description="optimiser steps")
    pool: Annotated[Count, Field(ge=2)] | Literal["all"] = Field(
        default="all",
        description="`all`: negatives are those of the tuples; a number: each step draws negatives anew from that "
        "many images, which embeds fewer (disjoint tuples keep their own)",
    )
    tuples_drawn: Literal["once", "each_epoch"] = Field(
        default="once", description="`once` fixes the tuples for the run (Algorithm 1)"
    )
    schedule: Literal["constant", "cosine"] = Field(default="constant", description="course of the step size")
    warmup_steps: Whole = Field(default=0, description="steps in which the step size rises from 0")
    gradient_clip: Positive | None = Field(default=None, description="largest norm of the gradient")
    stop_at_displacement: Positive | None = Field(default=None, description="stop once ‖θ-θ_0‖ reaches this")
    stop_at_held_out_loss: Number | None = Field(default=None, description="stop once the held-out loss falls to this")
    history_points: Count = Field(default=20, description="rows of the history table, evenly spaced in steps")
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="of the encoder; logits are always float32"
    )
    compile: bool = Field(default=False, description="torch.compile the encoder, where that works")
    deterministic: bool = Field(default=True, description="deterministic kernels")
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="`cuda` stops at once where no GPU is seen"
    )


class RunSpec(Options):
    """Everything that the weights of one run depend on, besides the code."""

    dataset: str
    positives: Positives
    encoder: str
    head: Head
    dimension: Count
    loss: Loss
    negatives: Count
    temperature: Temperature
    tuples: Count
    tuple_design: TupleDesign
    seed: Seed
    dataset_options: DatasetOptions = DatasetOptions()
    view_options: ViewOptions = ViewOptions()
    encoder_options: dict[str, int | float | str | bool] = {}
    training: TrainingOptions = TrainingOptions()

    @property
    def token(self) -> str:
        """The run's only path below `results/runs`."""
        return RUN_PATTERN.format(**self.axes())

    def axes(self) -> dict[str, str]:
        """The grid coordinates as text, each spelled in the one way that the path uses."""
        return {name: axis_text(getattr(self, name)) for name in AXES}

    def columns(self) -> dict[str, Any]:
        """The grid coordinates with their types, as the tables hold them."""
        return {name: getattr(self, name) for name in AXES}

    @property
    def content_hash(self) -> str:
        """A digest of every setting of the run; equal settings give equal hashes on every machine."""
        return hashlib.blake2b(self.canonical_json().encode(), digest_size=8).hexdigest()

    def canonical_json(self) -> str:
        """The spec as JSON without its defaults, so that a new setting leaves the identity of old runs."""
        return self.model_dump_json(exclude_defaults=True)


AXES = (
    "dataset",
    "positives",
    "encoder",
    "head",
    "dimension",
    "loss",
    "tuples",
    "tuple_design",
    "negatives",
    "temperature",
    "seed",
)

RUN_PATTERN = (
    "{dataset}/{positives}/{encoder}-{head}-d{dimension}/{loss}/"
    "n{tuples}-{tuple_design}-k{negatives}-tau{temperature}-seed{seed}"
)


def axis_text(value: float | str) -> str:
    """One spelling for each value: 0.1, never 0.10 or 1e-1; 1, never 1.0."""
    if isinstance(value, float):
        return f"{Decimal(repr(value)).normalize():f}"
    return str(value)
