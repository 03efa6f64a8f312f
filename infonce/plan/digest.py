"""Digests of the code that a stage depends on, so that an edit of the loss retrains and an edit of a plot does not.

The digest is taken over syntax trees without docstrings: comments, line breaks and wording change nothing.
"""

import ast
import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

# How results are written is checked where they are read, by schema version and digest; neither that nor a progress bar
# changes a result.
_LEFT_OUT = ("infonce.records", "infonce.files", "infonce.errors", "infonce.progress")


# The tables of data sets. What a training or an evaluation reads of a data set lies in its prepared folder, whose path
# and manifest hold its options; so neither a new entry nor another licence or address makes a run anew.
TABLES_OF_DATA = ("infonce.data.registry", "infonce.data.sources")
READERS = "infonce.data.readers"


@functools.cache
def code_digest(*entries: str, without: tuple[str, ...] = ()) -> str:
    """A digest of the modules `entries` and of every module of this package that they import, at any depth.

    The modules `without` are left out, and what only they import.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name, module in sorted(_closure(entries, without).items()):
        digest.update(f"{name}\n{module.meaning}\n".encode())
    return digest.hexdigest()


def preparing_digest(name: str, downloaded: bool, facts: str) -> str:
    """A digest of the code that prepares the data set `name`: with its own reader, without those of other data sets.

    `facts` is all that this code is told by the tables of data sets.
    """
    readers = _modules_with(f"read_{name}") if downloaded else []
    every_reader = downloaded and not readers  # one that goes by another name
    without = TABLES_OF_DATA if every_reader else (*TABLES_OF_DATA, READERS)
    code = code_digest("infonce.stages.prepare", *readers, without=without)
    return hashlib.blake2b(f"{code}\n{facts}".encode(), digest_size=8).hexdigest()


def _modules_with(function: str) -> list[str]:
    """The modules from which the table of readers imports a function of that name."""
    table = read_module(READERS)
    ending = f".{function}"
    return [name.removesuffix(ending) for name in table.imports if name.endswith(ending)] if table else []


def modules_of(*entries: str, without: tuple[str, ...] = ()) -> list[str]:
    """The names of the modules that `code_digest` covers."""
    return sorted(_closure(entries, without))


@dataclass(frozen=True)
class Module:
    """What a module imports of this package, and its syntax tree as text."""

    imports: list[str]
    meaning: str


def _closure(entries: tuple[str, ...], without: tuple[str, ...] = ()) -> dict[str, Module]:
    found: dict[str, Module] = {}
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in found or name in without or name.startswith(_LEFT_OUT):
            continue
        module = read_module(name)
        if module is not None:
            found[name] = module
            waiting += module.imports
    return found


@functools.cache
def read_module(name: str) -> Module | None:
    """A module of this package as the digests see it; None where there is no such module."""
    path = _path_of(name)
    if path is None:
        return None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    # Templates belong to the package whose folder they lie in.
    templates = sorted((path.parent / "templates").glob("*")) if path.name == "__init__.py" else []
    texts = [file.read_text(encoding="utf-8") for file in templates]
    return Module(_imports(tree), "\n".join([_meaning(tree), *texts]))


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
