"""Score files, compare runs and make reports from anywhere; the recipes are run by run.sh of a clone.

Usage: vpeval score <metric> <scores> <trials>        eer, cllr, min_cllr, dsys, zebra, or all of them
       vpeval score wer <ref-text> <hyp-text>         word errors, word by word as they stand
       vpeval score uar <ref-utt2emo> <hyp-utt2emo>   unweighted average recall
       vpeval <script> [options] ...                  report, compare, figures, latex, summary, check; each has --help
       vpeval doctor                                  what is installed, and where things are
 e.g.: vpeval score eer exp/asv/scores data/libri_dev_trials_f/trials
       vpeval report runs/mine runs/mine/report.html

Files are those of Kaldi: '<speaker> <utterance> <score>' and '<speaker> <utterance> target|nontarget'.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NoReturn

from vpeval import __version__
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.core.models import store
from vpeval.core.places import CONF, IS_CLONE, ROOT, SCRIPTS

SCRIPT_OF = {
    "check": "check_submission",
    "compare": "compare",
    "figures": "plot_figures",
    "latex": "results_to_latex",
    "report": "make_report",
    "summary": "print_summary",
}
"""The scripts of ``local/`` that need no clone."""
_GROUPS = {"eer": ("eer_kaldi", "eer_threshold", "eer_rocch"), "zebra": ("zebra_population", "zebra_individual")}


def run() -> NoReturn:
    """The program `vpeval`."""
    script.main(main)


def main() -> int | None:
    """Run a command."""
    own: dict[str, Callable[[list[str]], None]] = {"score": score, "doctor": doctor}
    name, words = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if name in ("", "--help", "-h"):
        print((__doc__ or "").strip())
        return None
    if name == "--version":
        print(f"vpeval {__version__}")
        return None
    if name in own:
        own[name](words)
        return None
    if name not in SCRIPT_OF:
        raise InputError(f"'{name}' is no command; there are {', '.join(sorted((*own, *SCRIPT_OF)))}, or see --help")
    sys.argv = [f"vpeval {name}", *words]
    runpy.run_path(str(SCRIPTS / f"{SCRIPT_OF[name]}.py"), run_name="__main__")
    return None


def score(words: list[str]) -> None:
    """Print metrics of a file of scores, transcripts or emotions."""
    if len(words) != 3:
        raise InputError("score takes a metric and two files; see vpeval --help")
    metric, first, second = words
    if metric == "wer":
        from vpeval.metrics.front import word_errors

        refs, hyps = _same_utterances(first, second)
        print(word_errors(refs, hyps))
    elif metric == "uar":
        from vpeval.metrics.uar import unweighted_average_recall

        recall, of_class = unweighted_average_recall(*_same_utterances(first, second))
        print(f"{recall:.2f} % (" + ", ".join(f"{name} {value:.2f}" for name, value in of_class.items()) + ")")
    else:
        print(_of_scores(metric, first, second), end="")


def _of_scores(metric: str, scores: str, trials: str) -> str:
    from vpeval.data.trials import read_scores, read_trials
    from vpeval.metrics.scores import pool
    from vpeval.metrics.verification import POINT_ESTIMATES
    from vpeval.records.record import Record
    from vpeval.results.text_tables import plain_table

    names = tuple(POINT_ESTIMATES) if metric == "all" else _GROUPS.get(metric, (metric,))
    if unknown := [name for name in names if name not in POINT_ESTIMATES]:
        known = (*_GROUPS, *POINT_ESTIMATES, "wer", "uar", "all")
        raise InputError(f"unknown metric '{unknown[0]}'; there are {', '.join(known)}")
    listed = read_trials(trials)
    values = read_scores(scores, listed)
    pooled = pool(values[listed.is_target], values[~listed.is_target])
    counts = {"targets": pooled.n_targets, "nontargets": pooled.n_nontargets}
    return plain_table([Record(name, POINT_ESTIMATES[name](pooled), counts=counts) for name in names])


def _same_utterances(ref: str, hyp: str) -> tuple[list[str], list[str]]:
    """The second fields of two tables of the same utterances."""
    refs, hyps = read_table(ref, empty=True), read_table(hyp, empty=True)
    if apart := sorted(refs.keys() ^ hyps.keys()):
        lacking = hyp if apart[0] in refs else ref
        raise InputError(f"has no line for '{apart[0]}'; both files must have the same utterances", lacking)
    return list(refs.values()), [hyps[utt] for utt in refs]


def doctor(words: list[str]) -> None:
    """Say what is installed, and where configurations and models are."""
    if words:
        raise InputError("doctor takes no arguments; what a run needs is told by ./run.sh --doctor")
    print(f"vpeval {__version__}, Python {sys.version.split()[0]}")
    print(f"configurations: {CONF}\nmodels: {store()}")
    print(f"recipes: {ROOT}/run.sh" if IS_CLONE else "recipes: none; they need a clone of the toolkit")
    for needed in requires("vpeval") or ():
        package, extra = _package_of(needed)
        try:
            found = version(package)
        except PackageNotFoundError:
            found = f"missing; pip install 'vpeval[{extra}]'" if extra else "missing; pip install vpeval"
        print(f"  {package:<20} {found}" + (f"  ({extra})" if extra else ""))


def _package_of(requirement: str) -> tuple[str, str]:
    """The package and the extra of a line such as ``torch>=2.6; extra == "attackers"``."""
    spec, _, marker = requirement.partition(";")
    name = next(spec[:end] for end in range(1, len(spec) + 1) if end == len(spec) or spec[end] in " <>=!~[(")
    return name, marker.partition("==")[2].strip().strip("\"'")


if __name__ == "__main__":
    run()
