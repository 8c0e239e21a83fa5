"""A demonstration with simulated listeners on the embedded corpus, which says so everywhere."""

from __future__ import annotations

import hashlib
import logging
import subprocess
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.listening.design import Plan
from vpeval.listening.folder import ListeningTest
from vpeval.listening.material import choose_partition, load_material, recipe_pairs
from vpeval.listening.prepare import Wording, prepare
from vpeval.listening.simulate import Habits, Quality, simulate_answers
from vpeval.listening.store import Store
from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.eer import eer_rocch, eer_threshold
from vpeval.metrics.scores import pool
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, write_records

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
QUALITIES = {
    ORIGINAL: Quality(8.5, 9.2, 8.4, 2.6, 0.9),
    "mcadams": Quality(4.2, 6.6, 5.2, 3.1, 0.55),
    "vtln": Quality(6.6, 8.4, 7.0, 2.9, 0.75),
}
"""What the simulated listeners are made to think; invented."""

SEPARATION = {ORIGINAL: 4.0, "mcadams": 1.4, "vtln": 2.6}
"""How far a simulated attacker tells speakers apart, in standard deviations; invented as well."""

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
    # Nothing is secret here, and the same seed shall give the same bytes.
    key = hashlib.sha256(f"demonstration {seed}".encode()).digest()
    test = prepare(out / "test", material, plan, wording, seed, key, simulated=True)
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


def write_machine(runs: Path, test: ListeningTest, seed: int) -> None:
    """Numbers of an invented attacker, so that the comparison with machines has something to show."""
    for system in test.settings.systems:
        for set_, gender in sorted({(p.set, p.gender) for p in test.pages.values() if p.kind == "rating"}):
            rng = generator(seed, "machine", system, set_)
            scores = pool(rng.normal(SEPARATION[system], 1, 200) - 1, rng.normal(-1, 1, 1000))
            values = {"eer_threshold": eer_threshold(scores).value, "eer_rocch": eer_rocch(scores).value}
            values |= {"cllr": cllr(scores), "min_cllr": min_cllr(scores)}
            tags = {"recipe": test.settings.recipe, "system": system, "set": set_, "gender": gender}
            tags |= {"attacker": "SIMULATED", "condition": "oo" if system == ORIGINAL else "oa"}
            records = [Record(name, value).tagged(tags) for name, value in values.items()]
            write_records(runs / system / f"ASV-simulated-{set_}" / "records.jsonl", records)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{command[0]} failed: {last}")
