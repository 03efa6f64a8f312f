"""The tables, each with one explicit and versioned schema. A column of kind `provenance` tells where and
how a number was made and may differ between two equal runs; every other column may not.

A column `x_se` is the standard error of `x`. That of a held-out risk or cross-entropy counts the sampling of anchors
and of the pool; that of a difference of the two or of a moment of q counts the anchors, the pool taken as π; that of
the empirical risk counts the tuples, taken as independent.
"""

import pyarrow as pa

SCHEMA_VERSION = 2

_TEXT, _INT, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _columns(kind: str, nullable: bool, **types: pa.DataType) -> list[pa.Field]:
    return [pa.field(name, type_, nullable, {"kind": kind}) for name, type_ in types.items()]


_RUN = _columns(
    "spec",
    False,
    run=_TEXT,  # the run's path token
    spec_hash=_TEXT,
    dataset=_TEXT,
    positives=_TEXT,
    encoder=_TEXT,
    head=_TEXT,
    dimension=_INT,
    loss=_TEXT,
    tuples=_INT,
    tuple_design=_TEXT,
    negatives=_INT,
    temperature=_REAL,
    seed=_INT,
)


def _schema(table: str, *groups: list[pa.Field]) -> pa.Schema:
    metadata = {"table": table, "schema_version": str(SCHEMA_VERSION)}
    return pa.schema([field for group in groups for field in group], metadata)


RUNS = _schema(
    "runs",
    _RUN,
    _columns("result", False, status=_TEXT),  # ok, diverged, out_of_memory, stopped_early
    _columns(
        "result",
        True,
        message=_TEXT,
        steps=_INT,
        parameters=_INT,  # d_theta
        displacement=_REAL,  # |theta_hat - theta_0|
        training_images=_INT,
        held_out_images=_INT,
        tuples_effective=_INT,  # floor(N / (k + 2)), what a strict reading of (A) allows
        negatives_exceed_pool=_FLAG,
        empirical_risk=_REAL,
        empirical_risk_se=_REAL,
        held_out_risk=_REAL,  # the run's own loss at its own k, exact over the pool
        held_out_risk_se=_REAL,
        generalisation_gap=_REAL,
        generalisation_gap_se=_REAL,
        cross_entropy=_REAL,  # held-out CE
        cross_entropy_se=_REAL,
        risk_minus_cross_entropy=_REAL,
        risk_minus_cross_entropy_se=_REAL,
        q_positive=_REAL,  # E q_a(p)
        q_positive_se=_REAL,
        q_min=_REAL,
        q_max=_REAL,
        chi2=_REAL,
        chi2_se=_REAL,
        kl=_REAL,
        kl_se=_REAL,
        kl_ceiling=_REAL,  # K*(tau)
        effective_neighbours=_REAL,  # mean exp(H(Q)) over anchors
        pool_size=_INT,
        first_order_coefficient=_REAL,
        second_order_coefficient=_REAL,
        recall_at_1=_REAL,
        recall_at_5=_REAL,
        recall_at_10=_REAL,
        knn_accuracy=_REAL,
        knn_accuracy_se=_REAL,
        mean_average_precision=_REAL,
        minimum_feature_norm=_REAL,  # measured min |f| before the head
    ),
    _columns(
        "provenance",
        True,
        code_digest=_TEXT,
        git_commit=_TEXT,
        git_dirty=_FLAG,
        data_digest=_TEXT,
        python_version=_TEXT,
        torch_version=_TEXT,
        package_versions=_TEXT,  # JSON
        host=_TEXT,
        device=_TEXT,
        driver=_TEXT,
        precision=_TEXT,
        threads=_INT,
        resumed=_FLAG,
        attempts=_INT,
        tuples_seen=_INT,
        training_seconds=_REAL,
        seconds_per_step=_REAL,
        evaluation_seconds=_REAL,
        peak_memory_mib=_REAL,
        peak_device_memory_mib=_REAL,
        finished_at=_TEXT,
    ),
)

CURVES = _schema(
    "curves",
    _RUN,
    _columns(
        "result",
        False,
        split=_TEXT,  # held_out
        risk_loss=_TEXT,  # infonce: R(k); dcl: the same without the 1/k summand
        risk_negatives=_INT,  # the k of the risk, whatever k the run was trained with
        own_negatives=_FLAG,  # true where risk_negatives is the k the run was trained with
        risk=_REAL,
        cross_entropy=_REAL,
        difference=_REAL,  # risk - cross_entropy
    ),
    _columns(
        "result",
        True,
        risk_se=_REAL,  # null for a single anchor
        cross_entropy_se=_REAL,
        difference_se=_REAL,
        first_order=_REAL,  # coefficient / k; null where it overflows
        second_order=_REAL,  # second coefficient / k^2
        bracket_lower=_REAL,  # of the difference: tight; null where none is known or it overflows
        bracket_upper=_REAL,
        envelope_lower=_REAL,  # of the difference: Prop 1, for dcl Eq 11, literal; null where it overflows
        envelope_upper=_REAL,
        finite_cross_entropy=_REAL,  # CE_k, where the generator allows it exactly
        empty_support=_REAL,  # how often no point of a search over k has positive density
    ),
)

TERMS = _schema(
    "terms",
    _RUN,
    _columns(
        "result",
        False,
        term=_TEXT,
        equation=_TEXT,
        form=_TEXT,  # literal, tight, measured
        quantity=_TEXT,  # what is bounded, in symbols
        side=_TEXT,  # upper, lower, value
        assumptions=_TEXT,
        assumptions_met=_FLAG,
        clipped=_FLAG,
        vacuous=_FLAG,
    ),
    _columns(
        "result",
        True,
        value=_REAL,
        log_value=_REAL,  # natural logarithm, where the value itself overflows
        measured=_REAL,  # the quantity that the term bounds, where it is measured
        holds=_FLAG,  # measured against value, where both exist
        standard_error=_REAL,  # of the value, where it is an estimate
        note=_TEXT,
    ),
)

HISTORY = _schema(
    "history",
    _RUN,
    _columns(
        "result",
        False,
        step=_INT,
        epoch=_REAL,
        training_loss=_REAL,  # over the fixed tuples
        held_out_loss=_REAL,
        displacement=_REAL,
        learning_rate=_REAL,
        loss_change=_REAL,  # mean |loss - loss at theta_0| over some training tuples; its upper bounds:
        prop4=_REAL,  # Prop 4, literal, with beta = max(1, 2/tau)
        prop4_tight=_REAL,  # its sharper form, with the best beta of each tuple
        eq18=_REAL,  # the rival that takes the largest displacement
    ),
)

SCHEMAS = {"runs": RUNS, "curves": CURVES, "terms": TERMS, "history": HISTORY}


def columns_of_kind(schema: pa.Schema, kind: str) -> list[str]:
    """Names of the columns of one kind: `spec`, `result` or `provenance`."""
    return [field.name for field in schema if field.metadata[b"kind"].decode() == kind]
