"""Measuring one trained encoder: embeddings, risks, cross-entropies, search quality, terms of the bounds."""
