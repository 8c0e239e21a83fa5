"""Configurations in conf/: small yaml files whose keys are checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from vpeval.core.errors import InputError

T = TypeVar("T")


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a yaml file whose top level is a mapping; anything else, and a key that appears twice, is an InputError."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no such configuration; see those in {path.parent}", path)
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"is not yaml: {str(error).splitlines()[0]}", path) from None
    if not isinstance(config, dict):
        raise InputError("must be a list of 'key: value' lines", path)
    return config


class _Loader(yaml.SafeLoader):
    """The safe loader of yaml, which by itself would silently use the last of several equal keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for index, (tag, key) in enumerate(keys):
            if (tag, key) in keys[:index]:
                raise yaml.YAMLError(f"the key '{key}' appears twice; keep one")
        return super().construct_mapping(node, deep)


def read_config(path: str | Path, *optional: str, **keys: type) -> dict[str, Any]:
    """Read a yaml file that must have exactly `keys`, each of the given type; `optional` ones may be left out."""
    return _checked(read_yaml(path), path, keys, optional=optional)


def check_section(section: object, name: str, path: str | Path, *optional: str, **keys: type) -> dict[str, Any]:
    """A section of a file that was read, called `name`, which must have exactly `keys` as well, but for `optional`."""
    if not isinstance(section, dict):
        raise InputError(f"'{name}' must be a list of 'key: value' lines", path)
    return _checked(section, path, keys, f"{name}.", optional)


def _checked(
    config: dict[str, Any],
    path: str | Path,
    keys: Mapping[str, type],
    prefix: str = "",
    optional: Sequence[str] = (),
) -> dict[str, Any]:
    for key, kind in keys.items():
        if key not in config and key in optional:
            continue
        if key not in config:
            raise InputError(f"'{prefix}{key}' is missing", path)
        if not _is_of(kind, config[key]):
            raise InputError(f"'{prefix}{key}' must be of type {kind.__name__}, not {config[key]!r}", path)
    if unknown := [key for key in config if key not in keys]:
        raise InputError(f"unknown key '{prefix}{unknown[0]}'; there are {', '.join(keys)}", path)
    return config


def choose(path: str | Path, key: str, choices: Mapping[str, T]) -> T:
    """The choice that the entry `key` of a yaml file names; it decides what the other keys of the file are."""
    name = str(read_yaml(path).get(key))
    if name not in choices:
        raise InputError(f"'{key}' must be one of {', '.join(choices)}, not '{name}'", path)
    return choices[name]


def _is_of(kind: type, value: object) -> bool:
    """Whether a value is of a type, where true is no number and 1 is as good as 1.0."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
