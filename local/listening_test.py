#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Listening tests: naturalness, intelligibility, speaker similarity and linkability as people hear them.

Usage: local/listening_test.py prepare [options] <system> ... <test-dir>
       local/listening_test.py serve   [options] <test-dir>
       local/listening_test.py analyse [options] <test-dir> <out-dir>
       local/listening_test.py export  <test-dir> <listener> <out.json>
       local/listening_test.py delete  <test-dir> <listener>
       local/listening_test.py demo    <out-dir>
 e.g.: local/listening_test.py prepare --listeners 20 --contact 'Lab, lab@example.org' mcadams vtln listening/mini
       local/listening_test.py serve listening/mini
       local/listening_test.py analyse --runs exp/mini/runs listening/mini listening/mini_results

Each command tells its options with --help; docs/listening.md tells the whole story.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import write_text

if TYPE_CHECKING:
    from vpeval.listening.design import Plan
    from vpeval.listening.material import Material
    from vpeval.listening.store import Store


def main() -> None:
    """Hand over to the command."""
    commands = {
        "prepare": prepare,
        "serve": serve,
        "analyse": analyse,
        "export": export,
        "delete": delete,
        "demo": demo,
    }
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in ("--help", "-h"):
        print(__doc__.strip())
        return
    if name not in commands:
        raise InputError(f"'{name}' is no command; there are {', '.join(commands)}. Try --help")
    parser = script.Parser(commands[name].__doc__)
    parser.prog = f"{Path(sys.argv[0]).name} {name}"
    commands[name](parser, sys.argv[2:])


def prepare(parser: script.Parser, words: list[str]) -> None:
    """Draw a listening test from the sets of a recipe and the systems that were run, and write its folder.

    With --plan, nothing is written: it tells how many listeners are needed to see a difference.
    """
    parser.add_argument(
        "--recipe", type=Path, default=Path("egs/mini/recipe.conf"), help="sets of the test (%(default)s)"
    )
    parser.add_argument("--partition", default="test", help="dev, test or all of its sets (%(default)s)")
    parser.add_argument("--pairs", default="", help="instead: '<enrolment set>:<trial set> ...'")
    parser.add_argument(
        "--data-dir", type=Path, default=Path("data"), help="where the data directories are (%(default)s)"
    )
    parser.add_argument("--listeners", type=script.positive, default=20, help="places (%(default)s)")
    parser.add_argument(
        "--per-system", type=script.positive, default=4, help="pages per system and listener, even (%(default)s)"
    )
    parser.add_argument(
        "--ratings", type=script.positive, default=5, help="wanted judgements of every trial (%(default)s)"
    )
    parser.add_argument("--boards", type=script.natural, default=2, help="placing tasks per listener (%(default)s)")
    parser.add_argument("--board-spks", type=script.positive, default=4, help="speakers on a board (%(default)s)")
    parser.add_argument("--board-utts", type=script.positive, default=3, help="utterances of each (%(default)s)")
    parser.add_argument("--shape", choices=("plane", "line"), default="plane", help="of the boards (%(default)s)")
    parser.add_argument("--attention", type=script.natural, default=2, help="counting checks (%(default)s)")
    parser.add_argument(
        "--headphones", type=script.natural, default=3, help="rounds of the headphone check (%(default)s)"
    )
    parser.add_argument("--title", default="Listening test", help="what listeners read on top (%(default)s)")
    parser.add_argument("--contact", default="", help="whom listeners write to; needed unless --plan")
    parser.add_argument("--consent", type=Path, help="your own text of the consent, paragraphs apart by blank lines")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (%(default)s)")
    parser.add_argument("--key", type=Path, help="key file of an earlier test, to make the same names again")
    parser.add_argument(
        "--static", type=script.boolean, default=False, metavar="true|false", help="pages that need no server"
    )
    parser.add_argument("--plan", action="store_true", help="only tell how many listeners are needed")
    parser.add_argument(
        "--difference", type=_between(0, 9), default=1.0, help="to be seen, in points of the scale (%(default)s)"
    )
    parser.add_argument("--power", type=_between(0, 1), default=0.8, help="wanted chance to see it (%(default)s)")
    parser.add_argument("--alpha", type=_between(0, 1), default=0.01, help="level of the corrected tests (%(default)s)")
    parser.add_argument("--simulations", type=script.positive, default=200, help="experiments per size (%(default)s)")
    parser.add_argument(
        "--noise", type=_between(0, 9), default=1.6, help="spread of a listener's ratings in points (%(default)s)"
    )
    parser.add_argument("systems", metavar="system", nargs="+")
    parser.add_argument("out", metavar="test-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening import material
    from vpeval.listening.design import Plan
    from vpeval.listening.prepare import Wording
    from vpeval.listening.prepare import prepare as make

    if args.pairs:
        recipe, pairs = args.pairs.split()[0].partition("_")[0], material.parse_pairs(args.pairs.split())
    else:
        recipe, pairs = material.recipe_pairs(args.recipe)
        pairs = material.choose_partition(pairs, args.partition)
    found = material.load_material(args.data_dir, recipe, pairs, args.systems)
    names = (
        "listeners",
        "per_system",
        "ratings",
        "boards",
        "board_spks",
        "board_utts",
        "attention",
        "headphones",
        "shape",
    )
    plan = Plan(**{name: getattr(args, name) for name in names})
    if args.plan:
        print(_needed(args, found, plan))
        return
    if not args.contact:
        raise InputError(
            "--contact is missing: listeners must know whom to write to, e.g. 'Lab X, privacy@example.org'"
        )
    consent = _read_text(args.consent) if args.consent else ""
    key = _read_key(args.key) if args.key else None
    test = make(args.out, found, plan, Wording(args.title, args.contact, consent), args.seed, key, args.static)
    pages = [page for page in test.sessions[0].values() if page.kind == "rating"]
    print(
        f"{args.out}: {plan.listeners} listeners, {len(pages)} pages of {len(found.systems)} systems and {plan.boards} "
        f"boards each, {len(test.names)} recordings at {test.settings.level:g} dB"
    )
    if args.static:
        print(f"open {args.out}/public/index.html#<token>, with the tokens of {args.out}/private/tokens.tsv")
    else:
        print(f"start it with: local/listening_test.py serve {args.out}")


def serve(parser: script.Parser, words: list[str]) -> None:
    """Serve a listening test until interrupted. Answers are in <test-dir>/answers/answers.db."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0: all (%(default)s)")
    parser.add_argument("--port", type=script.natural, default=8765, help="0: any free one (%(default)s)")
    parser.add_argument(
        "--open", type=script.natural, default=0, metavar="N", help="let anybody take part, up to N (0: by token)"
    )
    parser.add_argument(
        "--rate", type=_between(0, 1e6), default=10.0, help="requests a second of a listener; 0: any (%(default)s)"
    )
    parser.add_argument(
        "--completion-codes", type=script.boolean, default=True, metavar="true|false", help="shown at the end"
    )
    parser.add_argument(
        "--proxy", default="", metavar="ADDRESS", help="a reverse proxy whose X-Forwarded-For is believed"
    )
    parser.add_argument("test", metavar="test-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening.folder import check_manifest, load_test
    from vpeval.listening.server import Access
    from vpeval.listening.server import serve as run

    test = load_test(args.test)
    check_manifest(args.test)
    if args.open > test.settings.listeners:
        raise InputError(f"--open {args.open}: the test has {test.settings.listeners} places; prepare a larger one")

    def ready(port: int) -> None:
        address = f"http://{args.host}:{port}/"
        print(f"listeners:  {address}" + ("" if args.open else f"#<token>   (tokens: {args.test}/private/tokens.tsv)"))
        print(f"organisers: {address}admin   (token: {args.test}/private/admin.txt)", flush=True)

    run(test, Access(args.open, args.rate, args.completion_codes), args.host, args.port, args.proxy, ready)


def export(parser: script.Parser, words: list[str]) -> None:
    """Write everything that is kept about a listener (a number, or a token) as JSON."""
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("listener")
    parser.add_argument("out", metavar="out.json", type=Path)
    args = parser.parse_args(words)
    store, listener = _listener(args)
    write_text(args.out, json.dumps(store.export(listener), ensure_ascii=False, indent=1) + "\n")


def delete(parser: script.Parser, words: list[str]) -> None:
    """Delete everything that is kept about a listener (a number, or a token); a running server may go on."""
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("listener")
    args = parser.parse_args(words)
    store, listener = _listener(args)
    gone = store.forget(listener)
    print(f"listener {listener + 1}: " + ("deleted" if gone else "nothing was there"))


def analyse(parser: script.Parser, words: list[str]) -> None:
    """Analyse the answers: records, tables and figures.

    Records go to <runs>/<system>/listening/records.jsonl, where stage 11 of run.sh finds them for results.jsonl,
    figures and report. Answers come from the database of the test and from files of listeners without a server
    (put them into <test-dir>/answers).
    """
    parser.add_argument("--runs", type=Path, help="run directories, also for objective numbers (<out-dir>/runs)")
    parser.add_argument("--attacker", default="", help="of the objective numbers (the first ignorant one found)")
    parser.add_argument("--alpha", type=_between(0, 1), default=0.01, help="level of the tests (%(default)s)")
    parser.add_argument(
        "--exclude", default="attention,constant", help="of attention,headphones,constant,speed,agreement; or none"
    )
    parser.add_argument(
        "--bootstrap", type=script.natural, default=1000, metavar="N", help="resamples; 0: no intervals (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (%(default)s)")
    parser.add_argument("test", metavar="test-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.core.files import write_text
    from vpeval.figures import catalogue, style
    from vpeval.figures.data import load_results
    from vpeval.listening import tables
    from vpeval.listening.analysis import Options, tables_of, write_runs
    from vpeval.listening.analysis import analyse as compute
    from vpeval.listening.folder import load_test
    from vpeval.listening.quality import parse_rules, render_listeners
    from vpeval.records.record import write_records

    test = load_test(args.test)
    runs = args.runs or args.out / "runs"
    if args.runs and not args.runs.is_dir():
        raise InputError("no such directory; give the one that holds a run of every system", args.runs)
    rules = parse_rules(args.exclude)
    found = compute(test, runs, Options(rules, args.alpha, args.bootstrap, args.seed, args.attacker))
    write_runs(found, runs)
    write_records(args.out / "records.jsonl", [*found.records, *found.correlations])
    text = tables.text_tables(found)
    write_text(args.out / "listening.txt", text)
    write_text(args.out / "listeners.tsv", render_listeners(found.listeners, rules, test.settings.simulated))
    comments = "".join(f"listener {n + 1}: {' '.join(words.split())}\n" for n, words in found.responses.comments())
    write_text(args.out / "comments.txt", comments)
    for name, table in tables.latex_tables(found).items():
        write_text(args.out / f"latex/{name}.tex", table)
    results = load_results(tables_of(runs, test.settings.systems))
    for plot in catalogue.CATALOGUE:
        if plot.name.startswith("listening") and (figure := plot.draw(results, "2020")):
            style.save(figure, args.out / "figures", plot.name)
    print(text, end="")
    print(
        f"{args.out}: listening.txt, listeners.tsv, latex/, figures/; records: {runs}/<system>/listening/records.jsonl"
    )


def demo(parser: script.Parser, words: list[str]) -> None:
    """Show everything in a minute with simulated listeners: a test of the embedded corpus, answers, and analysis."""
    parser.add_argument("--listeners", type=script.positive, default=40, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("out", metavar="out-dir", type=Path)
    args = parser.parse_args(words)
    from vpeval.listening.demo import run_demo, write_machine

    test = run_demo(args.out, args.listeners, args.seed)
    write_machine(args.out / "results/runs", test, args.seed)
    print("simulated listeners have answered; now the analysis")
    own = ["--seed", str(args.seed), "--bootstrap", "200", str(test.path), str(args.out / "results")]
    analyse(script.Parser(""), own)
    print(f"look at the page itself: local/listening_test.py serve {test.path}")
    print("All of this is SIMULATED: it shows what the tool does and says nothing about the systems.")


def _needed(args: argparse.Namespace, found: "Material", plan: "Plan") -> str:
    from vpeval.listening.power import MOST, Wish, needed_listeners
    from vpeval.listening.simulate import Habits

    wish = Wish(args.difference, args.power, args.alpha, args.simulations, args.seed)
    habits = Habits(noise=args.noise)
    titles = {"naturalness": "naturalness, intelligibility", "similarity_same": "similarity of one kind of pair"}
    lines = [
        f"To see a difference of {args.difference:g} points with a chance of {args.power:.0%} (p < {args.alpha:g} "
        "after correction for all tests),",
        f"if ratings spread by {habits.noise:g} points, listeners by {habits.listener:g} and recordings by "
        f"{habits.recording:g}:",
    ]
    for each in needed_listeners(found, plan, wish, habits, logging.info):
        count = f"{each.listeners} listeners" if each.listeners else f"more than {MOST} listeners"
        lines.append(
            f"  {titles[each.group]}: {count} (power {each.power:.2f} in {args.simulations} simulated experiments)"
        )
    return "\n".join(lines)


def _listener(args: argparse.Namespace) -> "tuple[Store, int]":
    from vpeval.listening.folder import load_test
    from vpeval.listening.store import Store

    test = load_test(args.test)
    if not test.database.exists():
        raise InputError("no such database; nobody has answered yet", test.database)
    store = Store(test.database)
    if args.listener.isascii() and args.listener.isdigit() and 1 <= int(args.listener) <= test.settings.listeners:
        return store, int(args.listener) - 1
    listener = test.tokens().get(args.listener, store.listener_of(args.listener))
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
        raise InputError("is no key; expected at least 32 hexadecimal digits", path)
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
