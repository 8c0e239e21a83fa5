#!/usr/bin/env -S bash -c 'export VPEVAL_TESTS=1; . "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Change the code at random and see whether the tests notice.

Usage: tests/mutate.py [--mutants 600] [--seed YYYYMMDD] [--jobs 2] [--least 85] <package>...
 e.g.: tests/mutate.py vpeval/metrics vpeval/measures    # about an hour on two cores

Draws places in <package> and makes one mutant of each with an operator of Cosmic Ray: another operator, a number that is
one off, a condition turned round, a loop that never runs … The tests of the module are run on every mutant, in a copy of
the tree: the doctests of the module and the files of tests/<package> that import it, or else those that import a module
that imports it; those of a measure also run its scorer and its stage (`_SCORERS_AND_STAGES`). Mutants that no test
noticed are listed. Exit code 1 if fewer than --least percent were noticed.

Mutants that cannot be noticed are not drawn; `_Essence` holds the rules.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest
from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

ROOT = Path(__file__).resolve().parents[1]
_IMPORTED_ONCE = ("numpy", "scipy.optimize", "scipy.signal", "scipy.stats", "hypothesis.extra.numpy", "sklearn.metrics")
"""What most tests import, none of which is ours: processes start with it."""

_SCORERS_AND_STAGES = {
    "audit": ("local/test_audit_attacker.py", "stages/test_commands.py"),
    "base": ("local/test_score_wer.py", "local/test_score_srd.py", "stages/test_commands.py"),
    "disclosure": ("local/test_score_srd.py", "stages/test_commands.py"),
    "emotion": ("local/test_score_uar.py",),
    "inference": ("local/test_score_inference.py", "stages/test_inference_stage.py"),
    "legal": ("local/test_score_linkability.py", "local/test_score_singling_out.py", "stages/test_commands.py"),
    "linkability": ("local/test_score_linkability.py", "stages/test_commands.py"),
    "pitch": ("local/test_score_pitch.py",),
    "quality": ("local/test_score_quality.py",),
    "recognition": ("local/test_score_wer.py", "stages/test_language_models.py"),
    "similarity": ("local/test_score_similarity.py", "stages/test_commands.py"),
    "singling_out": ("local/test_score_singling_out.py", "stages/test_commands.py"),
    "speaker_overlap": ("local/test_compare_speakers.py",),
    "strongest": ("stages/test_fused_attackers.py",),
    "verification": (
        "local/test_score_verification.py",
        "stages/test_fused_attackers.py",
        "stages/test_commands.py",
    ),
}
"""Tests of a measure that do not import it: they run scripts of local/, and stages; the fastest come first."""

_TIME_LIMIT = 3.0
"""How many times longer than those of all modules without a mutation the tests may take; loops for ever are noticed."""


class _Essence(ast.NodeTransformer):
    """Removes from the code what no test can notice; a mutant of the same essence is equivalent."""

    # Sizes of blocks in which something is computed, numbers up to which it is computed in another, slower way, and
    # bounds of rounding errors below which it is computed once more: they decide how long it takes.
    _COST = re.compile(
        r"_?(ROWS|CELLS|SAMPLE|BLOCK|BATCH_CELLS|CACHED|PAIRS|GROUP|KEEP|EXACT|SMALL|BINS|SLACK)|in_float\d\d"
    )

    def _is_cost(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and self._COST.fullmatch(one.id) for one in ast.walk(node))

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Annotations."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Annotations, caches of functions, which only make them faster, and that a method is abstract."""
        node.returns = None
        names = (f"{ast.unparse(one)}(" for one in node.decorator_list)
        kept = [not re.search(r"cache\(|abstractmethod\(", name) for name in names]
        node.decorator_list = [one for one, is_kept in zip(node.decorator_list, kept, strict=True) if is_kept]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Type aliases, and what decides only how long it takes."""
        names = [one.id for one in node.targets if isinstance(one, ast.Name)]
        is_alias = any(re.fullmatch(r"_?[A-Z][a-z]\w*", name) for name in names)
        return None if is_alias or any(map(self._COST.fullmatch, names)) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Comparisons with what decides only how long it takes."""
        return ast.Constant(True) if self._is_cost(node) else self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """The same, turned round."""
        inner = self.visit(node.operand)
        is_cost = isinstance(node.operand, ast.Compare) and isinstance(inner, ast.Constant)
        return inner if is_cost else ast.UnaryOp(node.op, inner)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Imports for annotations, and when progress is logged."""
        is_progress = all(re.match(r"_?log\.info\(", ast.unparse(one)) for one in (*node.body, *node.orelse))
        is_empty = is_progress or ast.unparse(node.test).endswith("TYPE_CHECKING")
        return None if is_empty else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """The words of errors."""
        node.exc = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Sizes of blocks, words (log messages, titles), frozen dataclasses, checks that two lists have one length."""
        name = ast.unparse(node.func)
        if name in ("max", "min") and self._is_cost(node):
            return ast.Constant(True)
        if re.match(r"(_?log|logging)\.", name) or name.endswith("dataclass"):
            node.args, node.keywords = [], []
        if name == "Metric":  # title, explanation and LaTeX
            node.args = node.args[:1]
        node.keywords = [one for one in node.keywords if one.arg != "strict"]
        return self.generic_visit(node)


def essence(code: str) -> str:
    """What the code does, in the form of a text to compare.

    >>> essence("_ROWS = 2; x: A | B = 1") == essence("_ROWS = 3; x: A & B = 1")
    True
    >>> essence("raise E(f'{n + 1} files')") == essence("raise E(f'{n - 1} files')")
    True
    >>> essence("x = n + 1") == essence("x = n - 1")
    False
    """
    return ast.dump(_Essence().visit(ast.parse(code)))


@dataclass(frozen=True)
class Mutant:
    """A module, relative to the root, with one change."""

    path: Path
    operator: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        before, after = self.before.splitlines(), self.after.splitlines()
        changed = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after) - 1)
        return (
            f"{self.path}:{changed + 1}: {self.operator}\n  - {before[changed].strip()}\n  + {after[changed].strip()}"
        )


@cache
def operators() -> dict[str, Operator]:
    """Those that need no arguments."""
    found = {name: plugins.get_operator(name) for name in sorted(plugins.operator_names())}
    return {name.removeprefix("core/"): make() for name, make in found.items() if not make.arguments()}


def draw(paths: Sequence[Path], count: int, rng: random.Random) -> list[Mutant]:
    """Mutants at `count` places, or all there are: of the many at one place, say + to -, *, / and so on, one counts."""
    places = defaultdict(list)
    for path in paths:
        tree = get_ast((ROOT / path).read_text())
        for name, operator in operators().items():
            positions = ((start, end) for node in ast_nodes(tree) for start, end in operator.mutation_positions(node))
            for occurrence, (start, end) in enumerate(positions):
                places[path, start, end].append((name, occurrence))
    mutants: list[Mutant] = []
    for path, start, end in rng.sample(sorted(places), len(places)):
        if len(mutants) == count:
            break
        name, occurrence = rng.choice(places[path, start, end])
        before = (ROOT / path).read_text()
        after = mutate_code(before, operators()[name], occurrence)
        if after is not None and _is_worth_a_test(before, after):
            mutants.append(Mutant(path, name, start[0], before, after))
    return sorted(mutants, key=lambda one: (one.path, one.line))


def _is_worth_a_test(before: str, after: str) -> bool:
    try:
        return essence(before) != essence(after)
    except SyntaxError:
        return False


@cache  # of the tree as it was copied
def select_tests(path: Path) -> list[str]:
    """The smallest set of test files that know a module, and the module itself for its doctests."""
    own, package = [str(path)], path.parent
    more = [f"tests/{test}" for test in _SCORERS_AND_STAGES.get(path.stem, ()) if package.name == "measures"]
    tests = sorted((ROOT / "tests" / package.name).glob("test_*.py"))
    wanted, seen = {_name(path)}, set[str]()
    while wanted - seen:
        if found := [test for test in tests if _imports(test) & wanted]:
            # The likeliest to fail comes first, those that start processes, which takes long, last.
            found.sort(key=lambda test: (test.stem != f"test_{path.stem}", "subprocess" in _imports(test)))
            return [*own, *(str(test.relative_to(ROOT)) for test in found), *more]
        seen |= wanted
        wanted = {_name(one.relative_to(ROOT)) for one in (ROOT / package).glob("*.py") if _imports(one) & wanted}
    return own + more


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


@cache
def _imports(path: Path) -> set[str]:
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return found


class Copy:
    """A copy of the tree in which one mutant at a time is tested."""

    def __init__(self, path: Path) -> None:
        self.path = path
        parts = ("vpeval", "tests", "conf", "local", "steps", "utils", "docs", "pyproject.toml")
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z", *parts]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, path / name)

    def start(self, mutant: Mutant | None, tests: Sequence[str]) -> ForkProcess:
        """Test the mutant in a process of its own; its exit code is that of pytest."""
        if mutant:
            (self.path / mutant.path).write_text(mutant.after)
        process = ForkProcess(target=self._test, args=(tests,))
        process.start()
        return process

    def restore(self, mutant: Mutant) -> None:
        """Remove the mutation."""
        (self.path / mutant.path).write_text(mutant.before)

    def _test(self, tests: Sequence[str]) -> None:
        os.chdir(self.path)
        os.environ |= {"PYTHONPATH": str(self.path), "TMPDIR": str(self.path)}
        os.environ.pop("VPEVAL_FUZZ", None)  # random examples would make the verdict random
        tempfile.tempdir = None
        sys.path.insert(0, str(self.path))
        sys.dont_write_bytecode = True  # an old file of the same size and time would be taken for that of a mutant
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os._exit(pytest.main(["-x", "-m", "not e2e", "-p", "no:cacheprovider", *tests]))


def survivors(mutants: Sequence[Mutant], copies: Sequence[Copy]) -> Iterator[Mutant]:
    """The mutants that no test notices."""
    longest = 10 + _TIME_LIMIT * _seconds_unchanged(copies[0], sorted({one.path for one in mutants}))
    free, running, waiting = (
        list(copies),
        dict[int, tuple[Mutant, Copy, ForkProcess, float]](),
        list(mutants),
    )
    while waiting or running:
        while free and waiting:
            mutant, copy = waiting.pop(0), free.pop()
            process = copy.start(mutant, select_tests(mutant.path))
            running[process.sentinel] = mutant, copy, process, time.monotonic() + longest
        wait(list(running), timeout=0.5)
        for sentinel, (mutant, copy, process, limit) in list(running.items()):
            if process.is_alive():
                if time.monotonic() < limit:
                    continue
                process.kill()
            process.join()
            copy.restore(mutant)
            free.append(copy)
            del running[sentinel]
            if process.exitcode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                yield mutant


def _seconds_unchanged(copy: Copy, paths: Sequence[Path]) -> float:
    tests = sorted({test for path in paths for test in select_tests(path)})
    begun = time.monotonic()
    process = copy.start(None, tests)
    process.join()
    if process.exitcode:
        sys.exit(f"mutate.py: the tests fail without any mutation; fix python3 -m pytest {' '.join(tests)} first")
    return time.monotonic() - begun


def main() -> int:
    """Draw, test, list."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter, usage=SUPPRESS)
    parser.add_argument("--mutants", type=int, default=600, help="how many (600)")
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")), help="which ones (the date)")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tested at a time (2)")
    parser.add_argument("--least", type=float, default=85.0, help="percent that must be noticed (85)")
    parser.add_argument("packages", nargs="+", type=Path)
    args = parser.parse_args()
    paths = [path.relative_to(ROOT) for package in args.packages for path in sorted((ROOT / package).glob("[!_]*.py"))]
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name in _IMPORTED_ONCE:
        import_module(name)
    mutants = draw(paths, args.mutants, random.Random(args.seed))
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as work_dir:
        for mutant in survivors(mutants, [Copy(Path(work_dir) / str(number)) for number in range(args.jobs)]):
            missed += 1
            print(mutant, flush=True)
    noticed = 100 * (1 - missed / len(mutants))
    print(f"{len(mutants) - missed} of {len(mutants)} mutants noticed ({noticed:.1f} %), seed {args.seed}")
    return int(noticed < args.least)


if __name__ == "__main__":
    sys.exit(main())
