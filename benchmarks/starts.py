"""Count how often a run starts Python: once for everything that is new, and once when all of it is up to date.

Usage: python3 benchmarks/starts.py [--recipe mini] [options of run.sh ...]

Works in a clone of this tree; the numbers grow with stages and jobs, not with sets times attackers times conditions.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as work_dir:
        clone, notes = Path(work_dir) / "clone", Path(work_dir) / "starts"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        shutil.copytree(ROOT / "tests/e2e/tiny", clone / "egs/tiny")
        (clone / "egs/tiny/corpus").symlink_to(clone / "egs/mini/corpus")
        environment = os.environ | {"VPEVAL_PYTHON": str(wrapper(Path(work_dir) / "bin", notes))}
        environment |= {"VPEVAL_MODELS": os.environ.get("VPEVAL_MODELS", str(ROOT / "models"))}
        for name in ("VPEVAL_READY", "PYTHONPATH", "VPEVAL_TESTS"):
            environment.pop(name, None)
        for title in ("new", "up to date"):
            notes.write_text("")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                ["./run.sh", *sys.argv[1:]], cwd=clone, env=environment, check=True, stdout=subprocess.DEVNULL
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                f"{title}: {len(notes.read_text().splitlines())} starts of Python, {seconds:.1f} s of CPU", flush=True
            )


def wrapper(folder: Path, notes: Path) -> Path:
    """A python3 that notes every start."""
    folder.mkdir()
    path = folder / "python3"
    path.write_text(f'#!/bin/sh\necho start >>{notes}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    main()
