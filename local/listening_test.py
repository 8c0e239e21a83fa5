#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Prepare, serve and analyse listening tests: naturalness, intelligibility, speaker similarity and linkability.

Usage: local/listening_test.py prepare [options] <system> ... <test-dir>
       local/listening_test.py serve   [options] <test-dir>
       local/listening_test.py analyse [options] <test-dir> <out-dir>
       local/listening_test.py export  <test-dir> <listener> <out.json>
       local/listening_test.py delete  <test-dir> <listener>
       local/listening_test.py demo    <out-dir>
 e.g.: local/listening_test.py prepare --listeners 20 --contact 'Lab, lab@example.org' mcadams vtln listening/mini
       local/listening_test.py serve listening/mini
       local/listening_test.py analyse --runs exp/mini/runs listening/mini listening/mini_results

Every command has a --help option. See docs/listening.md.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from vpeval.cli import script
from vpeval.cli.terminal import plain
from vpeval.core.errors import InputError
from vpeval.core.publish import claim, write_own
from vpeval.metrics.intervals import RESAMPLES

if TYPE_CHECKING:
    from vpeval.listening.design import DesignOptions
    from vpeval.listening.material import Material
    from vpeval.listening.store import Store


def main() -> None:
    """Run a command."""
    commands = {each.__name__: each for each in (prepare, serve, analyse, export, delete, demo)}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("--help", "-h"):
        print(__doc__.strip())
        return
    if name not in commands:
        raise InputError(f"'{name}' is not a command; choose from {', '.join(commands)}, or see --help")
    parser = script.Parser(commands[name].__doc__)
    parser.prog = f"{Path(sys.argv[0]).name} {name}"
    commands[name](parser, sys.argv[2:])


def prepare(parser: script.Parser, words: list[str]) -> None:
    """Draw a listening test from the sets of a recipe and the anonymised data of systems, and write its directory.

    With --plan, nothing is written: print how many listeners are needed to find a difference.
    """
    _add_prepare_options(parser)
    args = parser.parse_args(words)
    from vpeval.listening import material
    from vpeval.listening.design import DesignOptions
    from vpeval.listening.prepare_test import PrepareOptions, Texts
    from vpeval.listening.prepare_test import prepare as prepare_test

    if args.pairs:
        recipe, pairs = args.pairs.split()[0].partition("_")[0], material.parse_pairs(args.pairs.split())
    else:
        recipe, pairs = material.recipe_pairs(args.recipe)
        pairs = material.choose_partition(pairs, args.partition)
    found = material.load_material(args.data_dir, recipe, pairs, args.systems)
    design = DesignOptions(**{field.name: getattr(args, field.name) for field in fields(DesignOptions)})
    if args.plan:
        print(_required(args, found, design))
        return
    if not args.contact:
        raise InputError("--contact is missing: tell listeners whom to write to, e.g. 'Lab X, privacy@example.org'")
    consent = _read_text(args.consent) if args.consent else ""
    texts = Texts(args.title, args.contact, consent, args.instructions)
    key = _read_key(args.key) if args.key else None
    test = prepare_test(args.out, found, design, texts, PrepareOptions(args.seed, key, args.static))
    pages = [page for page in test.sessions[0].values() if page.kind == "rating"]
    print(
        f"{args.out}: {design.listeners} listeners, {len(pages)} pages of {len(found.systems)} systems and "
        f"{design.boards} boards each, {len(test.names)} recordings at {test.settings.level:g} dB"
    )
    if args.static:
        print(f"open {args.out}/public/index.html#<token>, with the tokens of {args.out}/private/tokens.tsv")
    else:
        print(f"start it with: local/listening_test.py serve {args.out}")


def _add_prepare_options(parser: script.Parser) -> None:
    add, count, number = parser.add_argument, script.positive, script.natural
    add("--recipe", type=Path, default=Path("egs/mini/recipe.conf"), help="sets of the test (%(default)s)")
    add("--partition", default="test", help="sets of the recipe: dev, test or all (%(default)s)")
    add("--pairs", default="", help="sets without a recipe: '<enrolment set>:<trial set> ...'")
    add("--data-dir", type=Path, default=Path("data"), help="directory of the data directories (%(default)s)")
    add("--listeners", type=count, default=20, help="number of listeners (%(default)s)")
    add("--per-system", type=count, default=4, help="pages per system and listener, even (%(default)s)")
    add("--ratings", type=count, default=5, help="wanted ratings of every trial (%(default)s)")
    add("--boards", type=number, default=2, help="boards per listener (%(default)s)")
    add("--board-spks", type=count, default=4, help="speakers on a board (%(default)s)")
    add("--board-utts", type=count, default=3, help="utterances of each speaker on a board (%(default)s)")
    add("--shape", choices=("plane", "line"), default="plane", help="shape of the boards (%(default)s)")
    add("--attention", type=number, default=2, help="attention checks per listener (%(default)s)")
    add("--headphones", type=number, default=3, help="headphone checks per listener (%(default)s)")
    add("--title", default="Listening test", help="title of the page (%(default)s)")
    add("--contact", default="", help="contact for listeners; required unless --plan")
    add("--consent", type=Path, help="text file with your own consent text, paragraphs separated by blank lines")
    add("--instructions", type=Path, help="yaml with your own texts of role and questions; docs/listening.md has one")
    add("--seed", type=int, default=0, help="seed of the design (%(default)s)")
    add("--key", type=Path, help="key file of an earlier test, to make the same file names again")
    add("--static", type=script.boolean, default=False, metavar="true|false", help="make pages that need no server")
    add("--plan", action="store_true", help="only print how many listeners are needed")
    add("--difference", type=_between(0, 9), default=1.0, help="--plan: difference in points to find (%(default)s)")
    add("--power", type=_between(0, 1), default=0.8, help="--plan: probability of finding it (%(default)s)")
    add("--alpha", type=_between(0, 1), default=0.01, help="--plan: level of the corrected tests (%(default)s)")
    add("--simulations", type=count, default=200, help="--plan: simulated experiments per size (%(default)s)")
    add("--noise", type=_between(0, 9), default=1.6, help="--plan: standard deviation of ratings (%(default)s)")
    add("systems", metavar="system", nargs="+")
    add("out", metavar="test-dir", type=Path)


def serve(parser: script.Parser, words: list[str]) -> None:
    """Serve a listening test until interrupted. Answers are stored in <test-dir>/answers/answers.db."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0: all (%(default)s)")
    parser.add_argument("--port", type=script.natural, default=8765, help="0: any free one (%(default)s)")
    parser.add_argument(
        "--open", type=script.natural, default=0, metavar="N", help="let N people take part without a token (0: nobody)"
    )
    parser.add_argument(
        "--rate",
        type=_between(0, 1e6),
        default=10.0,
        help="requests per second and listener; 0: no limit (%(default)s)",
    )
    parser.add_argument(
        "--completion-codes", type=script.boolean, default=True, metavar="true|false", help="show one at the end"
    )
    parser.add_argument("--proxy", default="", metavar="ADDRESS", help="reverse proxy to accept X-Forwarded-For from")
    parser.add_argument("test", metavar="test-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening.disk import check_manifest, close_to_others, load_test
    from vpeval.listening.server import Access, Address
    from vpeval.listening.server import serve as run

    test = load_test(args.test)
    check_manifest(args.test)
    close_to_others(args.test)
    if args.open > test.settings.listeners:
        raise InputError(f"--open {args.open}: the test has {test.settings.listeners} places; prepare a larger one")

    def ready(port: int) -> None:
        address = f"http://{args.host}:{port}/"
        print(f"listeners:  {address}" + ("" if args.open else f"#<token>   (tokens: {args.test}/private/tokens.tsv)"))
        print(f"organisers: {address}admin   (token: {args.test}/private/admin.txt)", flush=True)

    access = Access(args.open, args.rate, args.completion_codes)
    run(test, access, Address(args.host, args.port, args.proxy), ready)


def export(parser: script.Parser, words: list[str]) -> None:
    """Write everything that is stored about a listener (a number, or a token) as JSON."""
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("listener")
    parser.add_argument("out", metavar="out.json", type=Path)
    args = parser.parse_args(words)
    store, listener = _listener(args)
    write_own(args.out, json.dumps(store.export(listener), ensure_ascii=False, indent=1) + "\n")


def delete(parser: script.Parser, words: list[str]) -> None:
    """Delete everything that is stored about a listener (a number, or a token). The server may keep running."""
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("listener")
    args = parser.parse_args(words)
    store, listener = _listener(args)
    deleted = store.forget(listener)
    print(f"listener {listener + 1}: " + ("deleted" if deleted else "nothing was stored"))


def analyse(parser: script.Parser, words: list[str]) -> None:
    """Analyse the answers: write records, tables and figures.

    Records go to <runs>/<system>/listening/records.jsonl; stage 11 of run.sh includes them in results.jsonl, figures
    and report. Answers are read from the database of the test and from files of listeners without a server (put them
    into <test-dir>/answers).
    """
    parser.add_argument(
        "--runs", type=Path, help="runs of the systems, also read for objective results (<out-dir>/runs)"
    )
    parser.add_argument("--attacker", default="", help="attacker of the objective results (the first ignorant one)")
    parser.add_argument("--alpha", type=_between(0, 1), default=0.01, help="significance level (%(default)s)")
    parser.add_argument(
        "--exclude",
        default="attention,constant",
        help="of attention,headphones,constant,speed,agreement; or none (%(default)s)",
    )
    parser.add_argument(
        "--bootstrap",
        type=script.natural,
        default=RESAMPLES,
        metavar="N",
        help="resamples; 0: no intervals (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (%(default)s)")
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening.analysis import Options, record_tables, write_runs
    from vpeval.listening.analysis import analyse as analyse_test
    from vpeval.listening.disk import load_test
    from vpeval.listening.exclusion import parse_rules, render_listeners
    from vpeval.listening.result_tables import text_tables
    from vpeval.records.record import write_records
    from vpeval.results import latex_supplement
    from vpeval.results.latex_listening import significance_tables

    test = load_test(args.test)
    runs = args.runs or args.out / "runs"
    if args.runs and not args.runs.is_dir():
        raise InputError("no such directory; give the one with a run of every system", args.runs)
    rules = parse_rules(args.exclude)
    found = analyse_test(test, runs, Options(rules, args.alpha, args.bootstrap, args.seed, args.attacker))
    write_runs(found, runs)
    claim(args.out, ["records.jsonl"])
    write_records(args.out / "records.jsonl", [*found.records, *found.correlations])
    tables = text_tables(found)
    write_own(args.out / "listening.txt", tables)
    write_own(args.out / "listeners.tsv", render_listeners(found.listeners, rules, test.settings.simulated))
    comments = "".join(f"listener {n + 1}: {plain(' '.join(text.split()))}\n" for n, text in found.responses.comments())
    write_own(args.out / "comments.txt", comments)
    latex = latex_supplement.tables([*found.records, *found.objective])
    latex = {name: text for name, text in latex.items() if name == "supplement_18"}
    for name, text in (latex | significance_tables(found.records)).items():
        write_own(args.out / f"latex/{name}.tex", text)
    _draw_figures(record_tables(runs, test.settings.systems), args.out / "figures")
    print(tables, end="")
    print(
        f"{args.out}: listening.txt, listeners.tsv, latex/, figures/; records: {runs}/<system>/listening/records.jsonl"
    )


def _draw_figures(records: list[Path], out: Path) -> None:
    from vpeval.figures import catalogue, drawing
    from vpeval.figures.run_results import load_results

    results = load_results(records)
    for plot in catalogue.CATALOGUE:
        if plot.name.startswith("listening") and (figure := plot.draw(results, "2020")):
            drawing.save(figure, out, plot.name)


def demo(parser: script.Parser, words: list[str]) -> None:
    """Prepare a test of the embedded corpus, simulate its listeners, and analyse their answers; takes a minute."""
    parser.add_argument("--listeners", type=script.positive, default=40, help="simulated listeners (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (%(default)s)")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening.simulate import run_demo, write_demo_attacker

    test = run_demo(args.out, args.listeners, args.seed)
    write_demo_attacker(args.out / "results/runs", test, args.seed)
    print("analysing the answers of simulated listeners")
    own = ["--seed", str(args.seed), "--bootstrap", "200", str(test.path), str(args.out / "results")]
    analyse(script.Parser(""), own)
    print(f"see the page with: local/listening_test.py serve {test.path}")
    print("All results are SIMULATED: they say nothing about the systems.")


def _required(args: argparse.Namespace, found: "Material", design: "DesignOptions") -> str:
    from vpeval.listening.simulate import MAX_LISTENERS, PowerTarget, Spread, required_listeners

    target = PowerTarget(args.difference, args.power, args.alpha, args.simulations, args.seed)
    spread = Spread(noise=args.noise)
    lines = [
        f"To find a difference of {args.difference:g} points with probability {args.power:.0%} (p < {args.alpha:g} "
        "after correction for all tests),",
        f"if the standard deviation is {spread.noise:g} points of ratings, {spread.listener:g} of listeners and "
        f"{spread.recording:g} of recordings:",
    ]
    titles = {"naturalness": "naturalness, intelligibility", "similarity_same": "similarity of one kind of pair"}
    for group, title in titles.items():
        needed = required_listeners(found, design, target, spread, group)
        count = f"{needed.listeners} listeners" if needed.listeners else f"more than {MAX_LISTENERS} listeners"
        lines.append(f"  {title}: {count} (power {needed.power:.2f} in {args.simulations} simulated experiments)")
    return "\n".join(lines)


def _listener(args: argparse.Namespace) -> "tuple[Store, int]":
    from vpeval.listening.disk import load_test
    from vpeval.listening.store import Store

    test = load_test(args.test)
    if not test.database.exists():
        raise InputError("no such database; there are no answers yet", test.database)
    store = Store(test.database)
    if args.listener.isascii() and args.listener.isdigit() and 1 <= int(args.listener) <= test.settings.listeners:
        return store, int(args.listener) - 1
    listener = test.tokens().get(args.listener, store.find_listener(args.listener))
    if listener is None:
        raise InputError(f"'{args.listener}' is neither a number from 1 to {test.settings.listeners} nor a known token")
    return store, listener


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", path) from None


def _read_key(path: Path) -> bytes:
    try:
        key = bytes.fromhex(_read_text(path))
    except ValueError:
        key = b""
    if len(key) < 16:
        raise InputError("is not a key; expected at least 32 hexadecimal digits", path)
    return key


def _between(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:g} to {high:g}, not '{text}'")
        return value

    return number


if __name__ == "__main__":
    logging.captureWarnings(True)
    script.main(main)
