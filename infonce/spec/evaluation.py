"""The settings of the evaluation; a change here measures again and retrains nothing."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from infonce.spec.run import Options
from infonce.spec.values import Count, Positive, Whole, to_list

Counts = Annotated[list[Count], BeforeValidator(to_list), Field(min_length=1)]


class EvaluationOptions(Options):
    """What is measured of a trained encoder; a change here retrains nothing."""

    negatives: Counts = Field(
        default=[1, 4, 16, 64, 256, 1024, 4096, 16384, 100_000, 1_000_000],
        description="numbers of negatives at which the risk is computed, whatever k a run was trained with",
    )
    neighbours: Count = Field(default=20, description="neighbours that vote in the kNN accuracy")
    confidence_delta: Annotated[Positive, Field(lt=1)] = Field(
        default=0.05, description="δ: the high-probability bounds hold with probability 1-δ"
    )
    anchors_limit: Count | None = Field(
        default=2000, description="held-out anchors at most (the pool stays whole); null for all"
    )
    rademacher_parameters: Whole = Field(
        default=2000,
        description="encoders up to that many parameters get a lower estimate of their Rademacher complexity",
    )
    rademacher_draws: Annotated[Count, Field(ge=2)] = Field(
        default=4, description="draws of random signs of that estimate"
    )
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="where measures are taken")
    precision: Literal["float64", "float32"] = Field(
        default="float64",
        description="of the encoder's features; similarities and everything after them are float64 always",
    )
