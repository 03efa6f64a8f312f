"""Where a configuration value stands: the YAML files behind a merged configuration, with line numbers."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from infonce.errors import ConfigError

Key = tuple[str | int, ...]

_LEADING_ZERO = re.compile(r"[+-]?0\d+")


def read_config_files(paths: Sequence[Path]) -> dict[str, Any]:
    """Later files are laid over earlier ones, mapping by mapping, as `snakemake --configfile` does."""
    merged: dict[str, Any] = {}
    for path in paths:
        check_yaml(path)
        lay_over(merged, yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    return merged


def check_yaml(path: Path) -> None:
    """Refuse what YAML would read as something else without a word.

    Raises ConfigError, naming file and line, for a missing file, for text that is no YAML mapping, for a key
    given twice (YAML keeps the last) and for a number with leading zeros (YAML reads 010 as 8).
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; name a configuration with --configfile") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as text: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is no YAML: {_one_line(error)}") from None
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{path}: is no mapping of keys to values; it must hold lines like `temperatures: [0.1]`")
    for key, node in _walk(root):
        line = node.start_mark.line + 1
        _refuse_repeated_keys(path, key, node)
        if isinstance(node, yaml.ScalarNode) and node.style is None and _LEADING_ZERO.fullmatch(node.value):
            raise ConfigError(
                f"{path}, line {line}: {dotted(key)}: {node.value} has a leading zero, which YAML reads as an octal "
                f"number; write {int(node.value)}"
            )


@dataclass(frozen=True)
class Sources:
    """The files behind merged configuration values, the first to the last laid over."""

    files: Sequence[Path] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def locate(self, key: Key) -> str:
        """The file and line that set the value at `key`; the command line where no file holds that value.

        A key that is missing belongs to the innermost mapping around it.
        """
        for length in range(len(key), 0, -1):
            for path in reversed(self.files):
                node = _node_at(path, key[:length])
                if node is not None and self._is_merged_value(node, key[:length]):
                    return f"{path}, line {node.start_mark.line + 1}"
            if _value_at(self.values, key[:length]) is not None:
                return "command line"
        return str(self.files[-1]) if self.files else "command line"

    def _is_merged_value(self, node: yaml.Node, key: Key) -> bool:
        """Whether a file's value is the one that counts, or a later file or the command line replaced it."""
        if isinstance(node, yaml.MappingNode):
            return True
        # Compared as text, since a NaN is not equal to itself.
        return repr(_constructed(node)) == repr(_value_at(self.values, key))


NO_SOURCES = Sources()


def dotted(key: Key) -> str:
    """`("training", "steps")` → `training.steps`; list positions in brackets."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint at the known word that was probably meant, then all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return (f"did you mean `{close[0]}`? " if close else "") + f"known: {', '.join(sorted(known)) or 'none'}"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """A refusal of a name that there is not, with the nearest that there is."""
    return f"unknown {what} {name!r}; {nearest(name, list(known))}"


def _walk(node: yaml.Node, key: Key = ()) -> Iterator[tuple[Key, yaml.Node]]:
    yield key, node
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _walk(value, (*key, name.value))
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            yield from _walk(value, (*key, position))


def _refuse_repeated_keys(path: Path, key: Key, node: yaml.Node) -> None:
    names = [name for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    seen = set()
    for name in names:
        if name.value in seen:
            line = name.start_mark.line + 1
            raise ConfigError(f"{path}, line {line}: {dotted((*key, name.value))} is given twice; keep one")
        seen.add(name.value)


def _node_at(path: Path, key: Key) -> yaml.Node | None:
    """What stands at `key` in a file that `check_yaml` has passed."""
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    if root is None:
        return None
    return next((node for found, node in _walk(root) if found == key), None)


def _constructed(node: yaml.Node) -> Any:
    """The value that a node stands for."""
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _value_at(values: Any, key: Key) -> Any:
    for part in key:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return None
    return values


def lay_over(base: dict[str, Any], top: Mapping[str, Any]) -> None:
    """Lay `top` over `base`, mapping by mapping; any other value replaces the one below."""
    for key, value in top.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            lay_over(base[key], value)
        else:
            base[key] = value


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
