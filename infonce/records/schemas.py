"""The tables, each with one explicit and versioned schema; every column says what it is (docs/tables.md lists them).

A column of kind `provenance` tells where and how a number was made and may differ between two equal runs; every other
column may not. A null says that a number does not exist or could not be computed.
"""

import pyarrow as pa

SCHEMA_VERSION = 3

_TEXT, _INT, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()


def _columns(kind: str, nullable: bool, **columns: tuple[pa.DataType, str]) -> list[pa.Field]:
    return [
        pa.field(name, type_, nullable, {"kind": kind, "meaning": meaning})
        for name, (type_, meaning) in columns.items()
    ]


_RUN = _columns(
    "spec",
    False,
    run=(_TEXT, "the run's path below `results/runs/`; the key that joins the tables"),
    spec_hash=(_TEXT, "digest of every setting of the run"),
    dataset=(_TEXT, "data set"),
    positives=(_TEXT, "generator of positives: augment, class or sphere"),
    encoder=(_TEXT, "encoder, without its head"),
    head=(_TEXT, "how features become unit vectors: normalize or lift"),
    dimension=(_INT, "embedding dimension d"),
    loss=(_TEXT, "the loss trained with: infonce or dcl"),
    tuples=(_INT, "number n of training tuples"),
    tuple_design=(_TEXT, "shared: images occur in many tuples; disjoint: in one"),
    negatives=(_INT, "number k of negatives that the run was trained with"),
    temperature=(_REAL, "temperature τ"),
    seed=(_INT, "seed of everything random in the run"),
)


def _schema(table: str, *groups: list[pa.Field]) -> pa.Schema:
    metadata = {"table": table, "schema_version": str(SCHEMA_VERSION)}
    return pa.schema([field for group in groups for field in group], metadata)


RUNS = _schema(
    "runs",
    _RUN,
    _columns(
        "result",
        False,
        status=(_TEXT, "ok, diverged, out_of_memory, or stopped_early by a rule of its own"),
    ),
    _columns(
        "result",
        True,
        message=(_TEXT, "why, where the status is not ok"),
        steps=(_INT, "optimiser steps that the final weights have seen"),
        parameters=(_INT, "number d_θ of weights"),
        displacement=(_REAL, "‖θ̂ − θ₀‖, distance of the final from the first weights"),
        training_images=(_INT, "images of the training split"),
        held_out_images=(_INT, "images of the held-out split"),
        tuples_effective=(_INT, "tuples that a strict reading of (A) allows: ⌊N/(k + 2)⌋ of N images, n if disjoint"),
        negatives_exceed_pool=(_FLAG, "whether k exceeds the images that training draws negatives from"),
        empirical_risk=(_REAL, "R̂, mean loss over the training tuples by the final encoder, in nats"),
        empirical_risk_se=(_REAL, "its standard error, tuples taken as independent"),
        held_out_risk=(_REAL, "R(k), held-out risk of the run's own loss at its own k, exact over the pool, in nats"),
        held_out_risk_se=(_REAL, "its standard error over the sampling of anchors and pool"),
        generalisation_gap=(_REAL, "R − R̂, in nats"),
        generalisation_gap_se=(_REAL, "its standard error, from those of both risks"),
        cross_entropy=(_REAL, "CE, held-out cross-entropy of the similarity search, in nats"),
        cross_entropy_se=(_REAL, "its standard error over the sampling of anchors and pool"),
        risk_minus_cross_entropy=(_REAL, "R(k) − CE, in nats"),
        risk_minus_cross_entropy_se=(_REAL, "its standard error over anchors, the pool taken as π"),
        q_positive=(_REAL, "E q_a(p), mean density of the search at the positive, against uniform choice"),
        q_positive_se=(_REAL, "its standard error over anchors, the pool taken as π"),
        q_min=(_REAL, "smallest density q_a(b) over all anchors and the pool"),
        q_max=(_REAL, "largest density q_a(b) over all anchors and the pool; null where it overflows"),
        chi2=(_REAL, "χ²(Q‖π), divergence of the search from uniform choice, mean over anchors"),
        chi2_se=(_REAL, "its standard error over anchors, the pool taken as π"),
        kl=(_REAL, "KL(Q‖π), divergence of the search from uniform choice, mean over anchors, in nats"),
        kl_se=(_REAL, "its standard error over anchors, the pool taken as π"),
        kl_ceiling=(_REAL, "K*(τ), the largest KL that the temperature allows, in nats"),
        effective_neighbours=(_REAL, "exp(entropy of Q), mean over anchors: how many images the search chooses among"),
        pool_size=(_INT, "images that an anchor searches, its own left out"),
        first_order_coefficient=(_REAL, "predicted coefficient of 1/k in R(k) − CE, in nats; null where it overflows"),
        second_order_coefficient=(_REAL, "that of 1/k²; null where it overflows"),
        recall_at_1=(_REAL, "share of held-out queries whose nearest image has their label; null without labels"),
        recall_at_5=(_REAL, "the same among the 5 nearest"),
        recall_at_10=(_REAL, "the same among the 10 nearest"),
        knn_accuracy=(_REAL, "share of held-out images whose nearest training images vote for their label"),
        knn_accuracy_se=(_REAL, "its standard error over held-out images"),
        mean_average_precision=(_REAL, "mean average precision of the held-out rankings by label"),
        minimum_feature_norm=(_REAL, "smallest ‖f(z)‖ before the head over the training anchors"),
    ),
    _columns(
        "provenance",
        True,
        code_digest=(_TEXT, "digest of the training code"),
        git_commit=(_TEXT, "commit of the checkout that trained"),
        git_dirty=(_FLAG, "whether tracked files differed from that commit"),
        data_digest=(_TEXT, "digest of the prepared data"),
        python_version=(_TEXT, "version of Python that trained"),
        torch_version=(_TEXT, "version of PyTorch that trained"),
        package_versions=(_TEXT, "versions of the packages that matter, of training, as JSON"),
        host=(_TEXT, "name of the machine that trained"),
        device=(_TEXT, "processor that trained"),
        driver=(_TEXT, "driver of the GPU; null on a CPU"),
        precision=(_TEXT, "precision that the encoder ran in"),
        threads=(_INT, "CPU threads"),
        resumed=(_FLAG, "whether training went on from an earlier attempt"),
        attempts=(_INT, "attempts that led to the result"),
        tuples_seen=(_INT, "steps × batch size"),
        training_seconds=(_REAL, "training time of all attempts together, in seconds"),
        seconds_per_step=(_REAL, "median time of a step, in seconds"),
        evaluation_seconds=(_REAL, "evaluation time, in seconds"),
        peak_memory_mib=(_REAL, "largest resident memory of training and evaluation, in MiB"),
        peak_device_memory_mib=(_REAL, "largest memory taken on the GPU, in MiB; null on a CPU"),
        finished_at=(_TEXT, "when training ended, ISO 8601 in UTC"),
        evaluation_code_digest=(_TEXT, "digest of the evaluating code"),
        evaluation_git_commit=(_TEXT, "commit of the checkout that evaluated"),
        evaluation_git_dirty=(_FLAG, "whether tracked files differed from that commit"),
        evaluation_python_version=(_TEXT, "version of Python that evaluated"),
        evaluation_torch_version=(_TEXT, "version of PyTorch that evaluated"),
        evaluation_package_versions=(_TEXT, "versions of the packages that matter, of evaluation, as JSON"),
        evaluation_host=(_TEXT, "name of the machine that evaluated"),
        evaluation_device=(_TEXT, "processor that evaluated"),
        evaluation_precision=(_TEXT, "precision that the encoder was evaluated in; everything after it is float64"),
        evaluation_finished_at=(_TEXT, "when evaluation ended, ISO 8601 in UTC"),
    ),
)

CURVES = _schema(
    "curves",
    _RUN,
    _columns(
        "result",
        False,
        split=(_TEXT, "held_out"),
        risk_loss=(_TEXT, "infonce: R(k); dcl: R̃(k), without the summand 1/k; both for every run"),
        risk_negatives=(_INT, "the k of the risk, whatever k the run was trained with"),
        own_negatives=(_FLAG, "whether that is the k the run was trained with"),
        risk=(_REAL, "held-out risk at that k, exact over the pool, in nats"),
        cross_entropy=(_REAL, "CE, its limit for large k, in nats"),
        difference=(_REAL, "risk − CE, in nats, accurate where it is tiny"),
    ),
    _columns(
        "result",
        True,
        risk_se=(_REAL, "standard error over the sampling of anchors and pool; null for a single anchor"),
        cross_entropy_se=(_REAL, "standard error over the sampling of anchors and pool; null for a single anchor"),
        difference_se=(_REAL, "standard error over anchors, the pool taken as π; null for a single anchor"),
        difference_accuracy=(_REAL, "how far the difference may be from its exact value, in nats"),
        first_order=(_REAL, "first-order term of the difference: coefficient / k; null where it overflows"),
        second_order=(_REAL, "second-order term: coefficient / k²; null where it overflows"),
        bracket_lower=(_REAL, "tight lower bound on the difference; null where none is known or it overflows"),
        bracket_upper=(_REAL, "tight upper bound on the difference; null where none is known or it overflows"),
        envelope_lower=(_REAL, "literal lower bound: Proposition 1, for dcl Eq 11; null where it overflows"),
        envelope_upper=(_REAL, "literal upper bound: Proposition 1, for dcl Eq 11; null where it overflows"),
        finite_cross_entropy=(_REAL, "CEₖ of a search among k points; null where the density dM/dπ is not known"),
        empty_support=(_REAL, "how often none of k points has positive density, from 0 to 1"),
    ),
)

TERMS = _schema(
    "terms",
    _RUN,
    _columns(
        "result",
        False,
        term=(_TEXT, "name of the term"),
        equation=(_TEXT, "where it stands: in the paper, or Sec. 6 for the sharper forms of docs/theory.md"),
        form=(_TEXT, "literal: the paper's constants; tight: sharper ones; measured: from encoder and data"),
        quantity=(_TEXT, "what is bounded, in symbols"),
        side=(_TEXT, "upper or lower bound, or value: no bound"),
        assumptions=(_TEXT, "assumptions that it needs"),
        assumptions_met=(_FLAG, "whether the run meets them"),
        clipped=(_FLAG, "whether the value is the trivial bound, as the formula gives more"),
        vacuous=(_FLAG, "whether it says no more than what holds without any theory"),
    ),
    _columns(
        "result",
        True,
        value=(_REAL, "the value, in nats where it is a loss; null where it overflows or is not known"),
        log_value=(_REAL, "natural logarithm of a positive value, before clipping, also where the value overflows"),
        measured=(_REAL, "the quantity that the term bounds, where it is measured"),
        holds=(_FLAG, "whether the bound holds against it; null where it is not tested"),
        standard_error=(_REAL, "standard error of the value, where it is an estimate"),
        note=(_TEXT, "a remark: what was left out, or why a value is absent"),
    ),
)

HISTORY = _schema(
    "history",
    _RUN,
    _columns(
        "result",
        False,
        step=(_INT, "optimiser steps done; 0 is before the first"),
        epoch=(_REAL, "passes over the training tuples"),
        training_loss=(_REAL, "mean loss over the training tuples, or 2,048 fixed ones of them, in nats"),
        held_out_loss=(_REAL, "mean loss over held-out tuples of the same k, fixed in the same way, in nats"),
        displacement=(_REAL, "‖θ − θ₀‖ at this step"),
        learning_rate=(_REAL, "step size"),
        loss_change=(_REAL, "mean |ℓ(φ_θ) − ℓ(φ_θ₀)| over at most 256 training tuples, in nats"),
        prop4=(_REAL, "its upper bound by Proposition 4, literal with β = max(1, 2/τ), mean over the same tuples"),
        prop4_tight=(_REAL, "its upper bound by the sharper form with the best β of each tuple"),
        eq18=(_REAL, "its upper bound by Eq 18, which takes the largest displacement among the negatives"),
    ),
)

SCHEMAS = {"runs": RUNS, "curves": CURVES, "terms": TERMS, "history": HISTORY}


def columns_of_kind(schema: pa.Schema, kind: str) -> list[str]:
    """Names of the columns of one kind: `spec`, `result` or `provenance`."""
    return [field.name for field in schema if field.metadata[b"kind"].decode() == kind]
