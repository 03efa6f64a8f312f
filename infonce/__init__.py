"""A benchmark of similarity-search generalisation under the InfoNCE loss (Whiteley, 2026)."""

__version__ = "0.1.0"
