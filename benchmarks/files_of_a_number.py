"""List the files of the library that a number passes through on its way from audio to the results file.

Usage: python3 benchmarks/files_of_a_number.py [--recipe mini] [--limit N] eer|linkability

Needs a finished run of the recipe. Embeds an utterance, measures, writes and reads the records and writes the results
file (EER) or the table of results (linkability), and lists the files of vpeval/ whose functions were called. Exit code
1 where there are more than --limit.
"""

import argparse
import functools
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace

from vpeval.data.directory import DataDir
from vpeval.measures.base import RECORDS, Result
from vpeval.networks.encoders import Embedder
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.stages.base import results, step_of

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = f"{ROOT}/vpeval/"
STAGES = {"eer": ("verification", 6), "linkability": ("linkability", 8)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="mini")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("number", choices=STAGES)
    args = parser.parse_args()
    plan = make_plan(Settings(recipe=args.recipe)).prepared()
    module, stage = STAGES[args.number]
    result = next(one for one in results(plan, stage) if type(one).__module__.endswith(module) and _is_of_system(one))
    data = DataDir.load(plan.anonymised(plan.recipe.trial_sets[0]))
    part = SimpleNamespace(utt=data.utts[0], wav=data.wav[data.utts[0]])
    make(plan, result, part, args.number)  # everything is imported now, and importing is not counted
    for kept in (one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)):
        if getattr(kept, "__module__", "").startswith("vpeval."):
            kept.cache_clear()
    with traced() as files:
        make(plan, result, part, args.number)
    names = sorted(str(Path(file).relative_to(ROOT)) for file in files)
    print(*names, sep="\n")
    print(f"{args.number}: {len(names)} files of {len({name.split('/')[1] for name in names})} packages")
    return 1 if args.limit and len(names) > args.limit else 0


def _is_of_system(result: Result) -> bool:
    return result.tags["condition"] == "aa" and step_of(result).exists()


def make(plan: Plan, result: Result, part: SimpleNamespace, number: str) -> None:
    """From audio to vectors to records to what a person reads."""
    Embedder(str(next(iter(plan.encoders().values()))))(part)
    with tempfile.TemporaryDirectory() as out:
        result.make(Path(out))
        show(plan, Path(out) / RECORDS, number)


def show(plan: Plan, path: Path, number: str) -> None:
    """The results file of the edition, or the plain table of records."""
    from vpeval.editions.base import edition_of, render
    from vpeval.records.record import read_records
    from vpeval.results.text_tables import plain_table

    records = read_records(path)
    if number == "eer":
        render(records, plan.edition, edition_of(plan.edition).file_names[0])
    else:
        plain_table(records)


@contextmanager
def traced() -> Iterator[set[str]]:
    """The files of the library whose functions are called meanwhile."""
    found: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            found[frame.f_code] = None

    files: set[str] = set()
    before: Callable[..., object] | None = sys.getprofile()
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(before)
        files |= {code.co_filename for code in found if code.co_filename.startswith(LIBRARY)}


if __name__ == "__main__":
    sys.exit(main())
