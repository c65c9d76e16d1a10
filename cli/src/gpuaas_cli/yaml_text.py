"""YAML, read and written; loaded only where somebody has or wants some."""

from typing import Any

import yaml


class NotYaml(Exception):
    """The text is not YAML, and so not JSON; said with the place."""


def yaml_read(text: str) -> Any:  # noqa: ANN401 - JSON
    """What a text holds; JSON is YAML too."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise NotYaml(f"line {mark.line + 1}" if mark else str(error)) from error


def yaml_written(value: Any, *, plain: bool = False) -> str:  # noqa: ANN401 - JSON
    """A value as YAML, its fields in their order; in ASCII alone where it shall be plain."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=not plain)
    return text
