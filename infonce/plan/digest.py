"""Digests of the code that a stage depends on, so that an edit of the loss retrains and an edit of a plot does not.

The digest is taken over syntax trees without docstrings: comments, line breaks and wording change nothing.
"""

import ast
import functools
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

# How results are written is checked where they are read, by schema version; it changes no result.
_LEFT_OUT = ("infonce.records", "infonce.files", "infonce.errors")


@functools.cache
def code_digest(*entries: str) -> str:
    """A digest of the modules `entries` and of every module of this package that they import, at any depth."""
    modules = _closure(entries)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(modules):
        digest.update(f"{name}\n{_meaning(modules[name])}\n".encode())
    return digest.hexdigest()


def modules_of(*entries: str) -> list[str]:
    """The names of the modules that `code_digest` covers."""
    return sorted(_closure(entries))


def _closure(entries: tuple[str, ...]) -> dict[str, ast.Module]:
    found: dict[str, ast.Module] = {}
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        path = _path_of(name)
        if name in found or path is None or name.startswith(_LEFT_OUT):
            continue
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
        waiting += _imports(found[name])
    return found


def _imports(tree: ast.Module) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if name.split(".")[0] == PACKAGE.name]


def _path_of(module: str) -> Path | None:
    base = PACKAGE.parent.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _meaning(tree: ast.Module) -> str:
    """The syntax tree as text, without docstrings and without the `description` of a setting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                body[0] = ast.Expr(ast.Constant(""))
    return ast.dump(tree)
