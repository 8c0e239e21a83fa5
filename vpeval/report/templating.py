"""Pages from the templates of this package: what they are given is text, unless it says that it is markup."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **values: Any) -> str:
    """The page of a template. Every value is escaped; only `markupsafe.Markup` goes in as it is."""
    return _environment().get_template(template).render(**values) + "\n"


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("vpeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_keep_percent,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _keep_percent(value: object) -> object:
    """Text in which a percent sign stays with its number."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value
