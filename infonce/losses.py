"""The two contrastive losses in the paper's normalisation, tuple by tuple.

Both are means over the k negatives before the logarithm is taken, so that values at different k can be compared.
Units are nats. The logarithm is never taken of an overflowed exponential: everything is a log-sum-exp.
"""

import math
from collections.abc import Callable

import torch

__all__ = ["LOSSES", "dcl_loss", "infonce_loss", "log_sums_and_weights"]


def infonce_loss(
    positive_similarity: torch.Tensor,
    negative_similarities: torch.Tensor,
    temperature: float,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The InfoNCE loss ℓ = log( 1/k + (1/k) Σ_j exp((s(a,b_j) - s(a,p))/τ) ) of each tuple (Sec. 2 of the paper).

    Args:
        positive_similarity: s(a,p), shape (B,), in [-1, 1].
        negative_similarities: s(a,b_j), shape (B, k), in [-1, 1].
        temperature: τ > 0; float32 is enough down to 1e-3.
        mask: True where a negative is left out, shape (B, k). It is then absent from the value, from the gradient
            and from k.

    Returns:
        Nats, shape (B,), float32 or float64, between log(1/k + e^{-2/τ}) and log(1/k + e^{2/τ}); a constant encoder
        has log(1 + 1/k).

    Raises:
        ValueError: shapes do not fit, τ is no positive number, or a tuple has no negative.
    """
    logits, log_k = _logits(positive_similarity, negative_similarities, temperature, mask)
    return torch.logaddexp(logits.logsumexp(1), torch.zeros_like(log_k)) - log_k


def dcl_loss(
    positive_similarity: torch.Tensor,
    negative_similarities: torch.Tensor,
    temperature: float,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The decoupled contrastive loss log( (1/k) Σ_j exp((s(a,b_j) - s(a,p))/τ) ): InfoNCE without its 1/k summand.

    Shapes, units, mask and errors are those of `infonce_loss`; values lie in [-2/τ, 2/τ], and a constant encoder has 0.
    """
    logits, log_k = _logits(positive_similarity, negative_similarities, temperature, mask)
    return logits.logsumexp(1) - log_k


def log_sums_and_weights(logits: torch.Tensor, loss: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The losses before log k is taken off, and their derivatives, from one softmax; this is what training descends.

    Args:
        logits: (s(a,b_j) - s(a,p))/τ, shape (B, k).
        loss: `infonce` or `dcl`.

    Returns:
        log Σ_j exp(logit_j), for InfoNCE with the positive's 1 in the sum, shape (B,), and its derivative with respect
        to each logit, shape (B, k).
    """
    # At small τ most exponentials underflow; torch.softmax stays fast there and torch.exp does not.
    weights = logits.softmax(1)
    log_sum = logits.amax(1) - weights.amax(1).log()
    if loss == "dcl":
        return log_sum, weights
    of_negatives = torch.sigmoid(log_sum)  # their share of the sum; the rest is the positive's
    return torch.logaddexp(log_sum, torch.zeros_like(log_sum)), weights.mul_(of_negatives[:, None])


LOSSES: dict[str, Callable[..., torch.Tensor]] = {"infonce": infonce_loss, "dcl": dcl_loss}


def _logits(
    positive: torch.Tensor, negatives: torch.Tensor, temperature: float, mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """(s(a,b_j) - s(a,p))/τ with -inf where masked, shape (B, k), and log k, shape (B,)."""
    _check(positive, negatives, temperature, mask)
    dtype = torch.promote_types(torch.promote_types(positive.dtype, negatives.dtype), torch.float32)
    logits = (negatives.to(dtype) - positive.to(dtype)[:, None]) / temperature
    if mask is None:
        return logits, torch.full_like(logits[:, 0], math.log(logits.shape[1]))
    kept = (~mask).sum(1)
    if not bool(kept.all()):
        row = int((kept == 0).nonzero()[0])
        raise ValueError(f"the mask leaves tuple {row} without a negative; a loss needs at least one")
    return logits.masked_fill(mask, -math.inf), kept.to(dtype).log()


def _check(positive: torch.Tensor, negatives: torch.Tensor, temperature: float, mask: torch.Tensor | None) -> None:
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(f"the temperature must be a finite number above 0, not {temperature!r}")
    if positive.ndim != 1 or negatives.ndim != 2 or negatives.shape[0] != positive.shape[0]:
        raise ValueError(
            "expected positive similarities of shape (B,) and negative similarities of shape (B, k), "
            f"got {tuple(positive.shape)} and {tuple(negatives.shape)}"
        )
    if negatives.shape[1] == 0:
        raise ValueError("a loss needs at least one negative for each tuple, got k = 0")
    if not (positive.is_floating_point() and negatives.is_floating_point()):
        raise ValueError(f"similarities must be floats, got {positive.dtype} and {negatives.dtype}")
    if mask is not None and (mask.dtype != torch.bool or mask.shape != negatives.shape):
        raise ValueError(
            f"the mask must be boolean of shape {tuple(negatives.shape)}, got {mask.dtype} of {tuple(mask.shape)}"
        )
