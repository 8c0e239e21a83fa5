"""Scorers: the measures as commands. Options and inputs come from the description of the measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from vpeval.cli import script
from vpeval.measures.base import Scorer
from vpeval.records.record import parse_params, parse_tags
from vpeval.results.text_tables import plain_table


def run_scorer(measure: str, doc: str | None) -> None:
    """Run the scorer of a measure with the options of the command line; `doc` is its help."""
    script.main(lambda: _score(import_module(f"vpeval.measures.{measure}").SCORER, doc))


def _score(scorer: Scorer, doc: str | None) -> None:
    args = vars(_parser(scorer, doc).parse_args())
    tags, (params, notes) = parse_tags(args["tag"]), parse_params(args.get("param", []))
    options = scorer.options(**{field.name: args[field.name] for field in fields(scorer.options)})
    scores = scorer.score(
        {"tags": tags, **{one.field: args[one.field] for one in scorer.inputs}}, options, Path(args["out"])
    )
    scores.write(args["out"], tags, params, notes)
    for line in scores.lines:
        print(line)
    if scores.records:
        print(plain_table(scores.records), end="")


def _parser(scorer: Scorer, doc: str | None) -> script.Parser:
    parser = script.Parser(doc)
    for field in fields(scorer.options):
        _add_option(parser, field.name, field.default, field.metadata)
    parser.add_argument("--tag", action="append", default=[], metavar="NAME=VALUE", help="tag of the records")
    if scorer.takes_params:
        parser.add_argument(
            "--param", action="append", default=[], metavar="NAME=VALUE", help="parameter of the records"
        )
    for one in scorer.inputs:
        if one.name.startswith("--"):
            many = {"action": "append", "default": []} if one.repeated else {"default": one.default}
            parser.add_argument(one.name, metavar=one.metavar, help=one.help, **many)
        else:
            parser.add_argument(one.field, metavar=one.metavar or one.name, help=one.help or None)
    parser.add_argument("out", metavar="out.jsonl")
    return parser


def _add_option(parser: script.Parser, name: str, default: object, metadata: Mapping[str, Any]) -> None:
    """An option from a field of an options dataclass: by its own parser, else by the type of its default."""
    kinds: dict[type, Callable[[str], Any]] = {bool: script.boolean, str: str}
    kind = metadata["parse"] or kinds.get(type(default), script.positive if metadata["least"] else script.natural)
    option = metadata["flag"] or f"--{name.replace('_', '-')}"
    parser.add_argument(option, dest=name, type=kind, default=default, **metadata["shown"])
