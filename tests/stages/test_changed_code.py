"""A change of the code makes exactly those results again that it takes part in, and words make nothing again."""

import ast
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_recipe import ROOT, make_toy

from vpeval.core.files import read_table, write_table
from vpeval.core.lazy import Deferred, modules_of
from vpeval.jobs import code
from vpeval.jobs.code import code_of, driving_code
from vpeval.jobs.steps import Step
from vpeval.measures.base import Result
from vpeval.networks.configs import encoder_makers
from vpeval.plan.plan import Plan, Settings, make_plan
from vpeval.stages import scoring, utility
from vpeval.stages.base import make_results, results, step_of

CACHES = (code.closure, code._imported, code._file_of, code._read_as_of, code._definitions, code._mentions)
MEASURES = {
    "verification": {"ASV", "fusion"},
    "strongest": {"strongest"},
    "similarity": {"VSM"},
    "linkability": {"linkability"},
    "singling_out": {"singling"},
    "inference": {"inference"},
    "disclosure": {"srd"},
    "recognition": {"ASR"},
}
"""What the directories of the results of a measure are called."""
DRIVING = ("vpeval/plan/", "vpeval/stages/")
PLANNED = (
    *DRIVING,
    "vpeval/asv/attackers.py",
    "vpeval/records/names.py",
    "vpeval/core/run_names.py",
    "vpeval/editions/",
)
"""What these decide is an input or an option of a result, and counts as such."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Plan]]:
    """All results of a toy recipe that need no network, made with a copy of the library."""
    root = tmp_path_factory.mktemp("toy")
    make_toy(root)
    shutil.copytree(ROOT / "vpeval", root / "vpeval", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(code, "ROOT", root)
        forget()
        plan = make_plan(Settings(recipe="toy", attackers="ecapa resnet fusion", bootstrap=5))
        for name in plan.recipe.speech_sets:
            for side in "oa":
                data = plan.data_of(name, side)
                texts = dict.fromkeys(read_table(data / "utt2spk", "speaker"), "ONE TWO")
                write_table(plan.exp / "decode" / plan.asr / data.name / "text", texts)
        for stage in (6, 7, 8, 9):
            make_results(results(plan, stage))
        make_results([one for one in results(plan, 10) if one.out.name.startswith("ASR")])
        yield root, plan
    forget()


def forget() -> None:
    for function in CACHES:
        function.cache_clear()


def all_results(plan: Plan) -> list[Result]:
    return [one for one in results(plan) if not one.out.name.startswith("pitch")]


def stale(plan: Plan) -> set[str]:
    """The results that would be made again, by the beginning of their names."""
    forget()
    found = {one.out.name for one in all_results(plan) if not step_of(one).is_current()}
    return {name.replace("-", "_").split("_")[0] for name in found}


@pytest.mark.parametrize("measure", MEASURES)
def test_a_changed_measure_makes_its_own_results_again_and_no_others(made: tuple[Path, Plan], measure: str) -> None:
    root, plan = made
    assert stale(plan) == set()
    module = root / f"vpeval/measures/{measure}.py"
    before = module.read_text()
    module.write_text(before + "\nEDITED = 1\n")
    assert stale(plan) == MEASURES[measure]
    module.write_text(before)


def test_every_measure_of_the_recipe_is_tested_here() -> None:
    found = {
        module.__name__.rpartition(".")[2] for module in modules_of("vpeval.measures") if hasattr(module, "MEASURE")
    }
    assert found - MEASURES.keys() == {"pitch", "quality", "emotion"}


def test_every_module_that_is_called_while_a_result_is_made_is_part_of_its_code(
    made: tuple[Path, Plan], tmp_path: Path
) -> None:
    _, plan = made
    for number, result in enumerate(all_results(plan)):
        called: set[str] = set()

        def note(frame: object, event: str, arg: object, called: set[str] = called) -> None:
            if event == "call":
                called.add(frame.f_code.co_filename)  # type: ignore[attr-defined]

        (out := tmp_path / str(number)).mkdir()
        sys.setprofile(note)
        try:
            result.make(out)
        finally:
            sys.setprofile(None)
        names = {str(Path(file).relative_to(ROOT)) for file in called if file.startswith(f"{ROOT}/vpeval/")}
        assert names, result
        unknown = {name for name in names - code_of([type(result)]).keys() if not name.startswith(PLANNED)}
        assert not unknown, f"{result.out.name} depends on {unknown}"


def test_every_module_of_a_result_makes_it_again_when_it_is_edited(made: tuple[Path, Plan]) -> None:
    root, plan = made
    steps = {one.out.name: step_of(one) for one in all_results(plan)}
    code_by_result = {name: set(code_of(step.makers)) for name, step in steps.items()}
    for module in sorted(set.union(*code_by_result.values())):
        file = root / module
        before = file.read_text()
        file.write_text(before + "\nEDITED = 1\n")
        changed = {name for name, step in steps.items() if not step.is_current()}
        file.write_text(before)
        assert changed == {name for name, modules in code_by_result.items() if module in modules}, module
    forget()


def test_every_function_of_plan_and_stages_that_is_called_while_a_result_is_made_is_part_of_its_code(
    made: tuple[Path, Plan], tmp_path: Path
) -> None:
    _, plan = made
    again = make_plan(plan.settings)
    views = [scoring.audit_step(again), utility.audit_step(again)]
    for number, step in enumerate([*map(step_of, all_results(again)), *views]):
        called: set[str] = set()

        def note(frame: object, event: str, arg: object, called: set[str] = called) -> None:
            if event == "call":
                place = frame.f_code  # type: ignore[attr-defined]
                called.add(f"{place.co_filename}:{place.co_qualname.partition('.<locals>')[0]}")

        (out := tmp_path / str(number)).mkdir()
        sys.setprofile(note)
        try:
            step.make(out)
        finally:
            sys.setprofile(None)
        driving = {
            name.removeprefix(f"{ROOT}/") for name in called if name.startswith(tuple(f"{ROOT}/{p}" for p in DRIVING))
        }
        known = driving_code((step.make, type(step).making), step.makers).keys()
        unknown = {name for name in driving if name not in known and not name.endswith((":<module>", ">"))}
        assert not unknown, f"{step.out.name} depends on {unknown}"


def test_a_function_of_plan_or_stages_makes_exactly_those_results_again_that_depend_on_it(
    made: tuple[Path, Plan],
) -> None:
    root, plan = made
    forget()
    parts = {one.out.name: set(step_of(one).fingerprint.code) for one in all_results(plan)}
    places = sorted(name for name in set.union(*parts.values()) if name.startswith(DRIVING))
    assert "vpeval/plan/plan.py:Plan.development" in places and "vpeval/stages/base.py:make_or_leave_out" in places
    for place in (*places[:: max(1, len(places) // 6)], "vpeval/plan/plan.py:Settings.command"):
        file = root / place.partition(":")[0]
        before = file.read_text()
        file.write_text(edited(before, place.partition(":")[2]))
        forget()
        changed = {one.out.name for one in all_results(plan) if not step_of(one).is_current()}
        file.write_text(before)
        assert changed == {name for name, known in parts.items() if place in known}, place
    forget()


def edited(text: str, qualname: str) -> str:
    """A module with another statement in a function or method, or another constant."""
    tree = ast.parse(text)
    node: ast.AST = tree
    for name in qualname.split("."):
        node = next(one for one in node.body if name in (getattr(one, "name", ""), constant_of(one)))  # type: ignore[attr-defined]
    if isinstance(node, ast.FunctionDef):
        node.body.insert(0, ast.parse("edited = 1").body[0])
    else:
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        node.value = ast.parse("['edited']").body[0].value  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def constant_of(node: ast.stmt) -> str:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return next((one.id for one in targets if isinstance(one, ast.Name)), "")


def test_comments_docstrings_annotations_and_messages_make_nothing_again(made: tuple[Path, Plan]) -> None:
    root, plan = made
    files = {file: file.read_text() for file in (root / "vpeval").rglob("*.py")}
    for file, text in files.items():
        file.write_text(reworded(text))
    assert stale(plan) == set()
    for file, text in files.items():
        file.write_text(text)


def reworded(text: str) -> str:
    """A module with other docstrings, annotations of arguments and log messages, formatted by another program."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.Expr(ast.Constant("Other words."))
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = ast.Name("object") if argument.annotation else None
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("log.") and node.args:
            node.args[0] = ast.Constant("another message")
    return f"# A comment.\n{ast.unparse(ast.fix_missing_locations(tree))}\n"


LONG = {
    "embeddings": [
        Deferred("vpeval.networks.encoders", "Embedder"),
        *encoder_makers(ROOT / "conf/asv/encoders/ecapa.yaml"),
    ],
    "decoding": [Deferred("vpeval.asr.recognizers", "Decoder"), Deferred("vpeval.asr.whisper", "Whisper")],
    "anonymised data": [Deferred("vpeval.anon.hook_input", "seeded"), ROOT / "local/anon/mcadams/anonymize.py"],
    "training": [Deferred("vpeval.asv.train_network", "train")],
}


@pytest.mark.parametrize("what", LONG)
def test_what_takes_hours_depends_on_nothing_that_drives_measures_or_shows(what: str) -> None:
    packages = {name.split("/")[1] for name in code_of(LONG[what]) if name.count("/") > 1}
    assert not packages & {"jobs", "cli", "plan", "stages", "measures", "records", "results", "figures", "report"}


def test_the_audits_depend_on_their_own_module(made: tuple[Path, Plan]) -> None:
    _, plan = made
    for step in (scoring.audit_step(plan), utility.audit_step(plan)):
        assert isinstance(step, Step)
        assert "vpeval/measures/audit.py" in code_of(step.makers)
