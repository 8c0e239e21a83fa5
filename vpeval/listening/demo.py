"""A demonstration with simulated listeners on the embedded corpus, which says so everywhere."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.listening.design import Plan
from vpeval.listening.folder import ListeningTest
from vpeval.listening.material import choose_partition, load_material, recipe_pairs
from vpeval.listening.prepare import Wording, prepare
from vpeval.listening.simulate import Habits, Quality, simulate_answers
from vpeval.listening.store import Store
from vpeval.results.names import ORIGINAL

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
QUALITIES = {
    ORIGINAL: Quality(8.5, 9.2, 8.4, 2.6, 0.9),
    "mcadams": Quality(4.2, 6.6, 5.2, 3.1, 0.55),
    "vtln": Quality(6.6, 8.4, 7.0, 2.9, 0.75),
}
"""What the simulated listeners are made to think; invented."""

_CARELESS = 2


def run_demo(out: Path, listeners: int, seed: int) -> ListeningTest:
    """Prepare a test of the embedded corpus under `out` and fill in the answers of simulated listeners."""
    if out.exists() and any(out.iterdir()):
        raise InputError("is not empty; choose another place for the demonstration", out)
    recipe, pairs = recipe_pairs(ROOT / "egs/mini/recipe.conf")
    pairs = choose_partition(pairs, "test")
    data = out.resolve() / "data"
    log.info("preparing the embedded corpus")
    _run("egs/mini/prepare.sh", "egs/mini/corpus", str(data))
    systems = [system for system in QUALITIES if system != ORIGINAL]
    for system in systems:
        log.info("anonymising it with %s", system)
        for _, trials in pairs:
            hook = f"local/anon/{system}/anonymize.py"
            _run(
                "steps/anonymize.sh",
                "--log-dir",
                str(out.resolve() / "log"),
                hook,
                f"{data}/{trials}",
                f"{data}/{trials}_{system}",
            )
    material = load_material(data, recipe, pairs, systems)
    wording = Wording("Demonstration of a listening test", "Nobody: this is a demonstration with simulated listeners")
    plan = Plan(listeners)
    test = prepare(out / "test", material, plan, wording, seed, simulated=True)
    store = Store(test.database)
    careless = min(_CARELESS, listeners // 4)
    with store.transaction():
        for listener in range(listeners):
            store.enrol(listener)
            store.consent(listener, test.settings.consent)
        for answer in simulate_answers(test, QUALITIES, Habits(), seed, careless):
            store.add(answer)
    store.close()
    return test


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{command[0]} failed: {last}")
