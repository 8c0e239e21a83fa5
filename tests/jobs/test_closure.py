from pathlib import Path

import pytest
from vpeval.jobs.closure import closure

from vpeval.jobs import closure as module


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "vpeval/__init__.py": "",
        "vpeval/a/__init__.py": "",
        "vpeval/a/one.py": "from vpeval.b import two\n",
        "vpeval/b/__init__.py": "",
        "vpeval/b/two.py": "def late():\n    from vpeval.c.three import (\n        function,\n    )\n",
        "vpeval/c/__init__.py": "",
        "vpeval/c/three.py": "import vpeval.a.one\nimport numpy\nfunction = 1\n",
        "vpeval/c/unused.py": "",
        "steps/work.py": "from vpeval.c.three import function\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for function in (closure, module._imported, module._file_of):
        function.cache_clear()
    yield tmp_path
    for function in (closure, module._imported, module._file_of):
        function.cache_clear()


def names(tree: Path, entry: str) -> set[str]:
    return {str(path.relative_to(tree)) for path in closure(entry)}


def test_everything_that_is_imported_counts_late_imports_and_packages_included(tree: Path) -> None:
    packages = {f"vpeval/{name}__init__.py" for name in ("", "a/", "b/", "c/")}
    assert names(tree, "vpeval.a.one") == {*packages, "vpeval/a/one.py", "vpeval/b/two.py", "vpeval/c/three.py"}


def test_a_module_that_nobody_imports_does_not_count_and_a_script_is_an_entry_point(tree: Path) -> None:
    found = names(tree, "steps/work.py")
    assert "steps/work.py" in found and "vpeval/c/three.py" in found
    assert "vpeval/c/unused.py" not in found


def test_an_entry_point_that_is_not_there_is_a_mistake_of_the_program(tree: Path) -> None:
    with pytest.raises(ValueError, match=r"no such module or script: vpeval\.nothing"):
        closure("vpeval.nothing")
