import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from vpeval.core.lazy import Deferred
from vpeval.jobs import code as module
from vpeval.jobs.code import closure, code_of, software_of

FILES = {
    "vpeval/__init__.py": "",
    "vpeval/a/__init__.py": "",
    "vpeval/a/one.py": "from vpeval.b import two\n",
    "vpeval/b/__init__.py": "",
    "vpeval/b/two.py": "def late():\n    from vpeval.c.three import (\n        function,\n    )\n",
    "vpeval/c/__init__.py": "",
    "vpeval/c/three.py": "import vpeval.a.one\nimport numpy\nfunction = 1\n",
    "vpeval/c/unused.py": "",
    "vpeval/c/typed.py": "if TYPE_CHECKING:\n    from vpeval.c import unused\n",
    "steps/work.py": "from vpeval.c.three import function\n",
}
CACHES = (closure, module._imported, module._file_of, module._read_as_of)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for function in CACHES:
        function.cache_clear()


def names(maker: Deferred | Path) -> set[str]:
    return set(code_of([maker]))


def test_everything_that_is_imported_counts_late_imports_and_packages_included(tree: Path) -> None:
    packages = {f"vpeval/{name}__init__.py" for name in ("", "a/", "b/", "c/")}
    found = names(Deferred("vpeval.a.one", "x"))
    assert found == {*packages, "vpeval/a/one.py", "vpeval/b/two.py", "vpeval/c/three.py"}


def test_a_module_that_nobody_imports_does_not_count_and_a_script_can_be_a_maker(tree: Path) -> None:
    found = names(tree / "steps/work.py")
    assert "steps/work.py" in found and "vpeval/c/three.py" in found
    assert "vpeval/c/unused.py" not in found


def test_what_is_imported_for_annotations_only_does_not_count(tree: Path) -> None:
    assert "vpeval/c/unused.py" not in names(Deferred("vpeval.c.typed", "x"))


def test_functions_classes_and_modules_stand_for_the_module_that_they_are_in() -> None:
    assert code_of([code_of]) == code_of([module]) == code_of([Deferred("vpeval.jobs.code", "code_of")])
    assert code_of([Deferred]).keys() >= {"vpeval/core/lazy.py", "vpeval/core/errors.py"}


def test_what_is_not_of_the_toolkit_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="is not a part of vpeval"):
        code_of([Path.exists])


BEFORE = '''
"""A module."""
from __future__ import annotations
import logging
log = logging.getLogger(__name__)
LIMIT = 3
"""How many."""

class Thing:
    """A thing."""
    name: str = "a"

def count(values: list[int], least: int = 0) -> int:
    """Count."""
    # Those that are large.
    log.info("counting %d", len(values))
    if not values:
        raise ValueError(f"no values, but {least}")
    return sum(value > LIMIT for value in values)
'''


def digest(tree: Path, text: str) -> str:
    (tree / "vpeval/c/unused.py").write_text(text)
    forget()
    return code_of([tree / "vpeval/c/unused.py"])["vpeval/c/unused.py"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""The same module."""'),
        ("# Those that are large.", "# Another comment."),
        ('"""Count."""', '"""Count the large ones."""'),
        ('"""How many."""', ""),
        ("values: list[int], least: int = 0", "values: Sequence[int], least: float = 0"),
        (") -> int:", ") -> float:"),
        ("name: str", "name: Any"),
        ('log.info("counting %d", len(values))', 'log.warning("%d values", len(values))'),
        ('    log.info("counting %d", len(values))\n', ""),
        ("no values, but {least}", "there are none of {least}"),
        ("sum(value > LIMIT for value in values)", "sum(\n        value > LIMIT for value in values\n    )"),
        (
            "from __future__ import annotations\n",
            "from __future__ import annotations\nif TYPE_CHECKING:\n    import x\n",
        ),
    ],
)
def test_words_annotations_and_formatting_do_not_count(tree: Path, old: str, new: str) -> None:
    assert old in BEFORE
    assert digest(tree, BEFORE.replace(old, new)) == digest(tree, BEFORE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("value > LIMIT", "value >= LIMIT"),
        ("least: int = 0", "least: int = 1"),
        ('name: str = "a"', 'name: str = "b"'),
        ("name: str", "name: ClassVar[str]"),
        ("if not values", "if values"),
        ("ValueError", "KeyError"),
        ('log.info("counting %d", len(values))', 'log.info("counting %d", total := len(values))'),
        ("LIMIT = 3\n", "LIMIT = 3\nMORE = 1\n"),
        ("LIMIT = 3\n", 'LIMIT = 3\nwarnings.simplefilter("error")\n'),
    ],
)
def test_what_computes_counts(tree: Path, old: str, new: str) -> None:
    assert old in BEFORE
    assert digest(tree, BEFORE.replace(old, new)) != digest(tree, BEFORE)


def test_versions_of_packages_count_where_the_code_imports_them(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_version", {"numpy": "2.0", "torch": "1.0"}.__getitem__)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert software_of([Deferred("vpeval.c.three", "x")]) == {"numpy": "2.0"}
    assert software_of([Deferred("vpeval.c.unused", "x")]) == {}
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    assert software_of([Deferred("vpeval.c.three", "x")]) == {"numpy": "2.0", "OPENBLAS_NUM_THREADS": "4"}


def test_a_function_counts_by_its_own_lines_and_a_partial_by_its_function() -> None:
    own = module.definition_of(module.definition_of)
    assert list(own) == ["vpeval/jobs/code.py:definition_of"]
    assert module.definition_of(partial(module.definition_of, 1)) == own != module.definition_of(code_of)
    with pytest.raises(ValueError, match="give a named function"):
        module.definition_of(lambda: 1)


NO_NUMBERS = {"matplotlib", "yaml", "jinja2", "markupsafe", "starlette", "uvicorn", "h11", "huggingface_hub", "vpeval"}
"""Packages that show or fetch, and do not compute."""


def test_every_package_that_the_library_imports_counts_by_its_version_or_computes_nothing() -> None:
    files = (module.ROOT / "vpeval").rglob("*.py")
    imported = {name.partition(".")[0] for file in files for name in module._read(file).imports}
    ours = imported - set(sys.stdlib_module_names) - NO_NUMBERS
    assert ours <= module._COMPUTING.keys()


def test_another_number_of_threads_of_blas_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    usual = software_of([code_of])
    maker = Deferred("vpeval.metrics.verification", "verification")
    before = software_of([maker])
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    assert software_of([maker]) == {**before, "OPENBLAS_NUM_THREADS": "4"}
    assert software_of([code_of]) == usual == {}
