"""Encoders by name. To add one, put a file beside `mlp.py` that registers a builder; nothing else changes.

The registry is importable without torch, so that a configuration can be checked before anything is built.
"""
