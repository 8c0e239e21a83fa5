"""Where results come from: digests of the anonymised data and of the models behind a number, and who made the data.

Digests are of content, so that the same run has the same ones on any machine. A trained model is known by what it was
trained from, which decides what it becomes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from vpeval.anon.hook_program import Provenance, read_provenance
from vpeval.asv.attackers import PRETRAINED, Attacker
from vpeval.core.errors import InputError
from vpeval.core.models import read_models
from vpeval.networks.configs import config_files, stored_model
from vpeval.plan.plan import Plan, attacker_conf
from vpeval.records.names import ORIGINAL
from vpeval.records.record import DATA_DIGEST, MODEL_DIGEST, Record

_LENGTH = 32


def with_origin(plan: Plan, records: Iterable[Record]) -> list[Record]:
    """The records with the digests of what they were made from; those of the system say who anonymised the data."""
    models = {name: digest for name, digest in _models(plan).items() if digest}
    data = {name: data_digest(plan, plan.sets_of(name)) for name in {record.set for record in records}}
    made = made_by(plan)
    noted = []
    for record in records:
        notes = {MODEL_DIGEST: models[record.model]} if record.model in models else {}
        if record.system != ORIGINAL and data[record.set]:
            notes |= {DATA_DIGEST: data[record.set], **made}
        noted.append(record.with_notes(notes) if notes else record)
    return noted


def refuse_other_data(plan: Plan, records: Iterable[Record]) -> None:
    """Raise an InputError if records were not made from the anonymised data that are there now."""
    for record in records:
        digest = record.notes.get(DATA_DIGEST)
        if record.system == plan.system and digest and digest != data_digest(plan, plan.sets_of(record.set)):
            raise InputError(
                f"its {record.metric} of {record.set} was measured on other data than those of {plan.system} that are "
                "there now; run stages 5 to 11 again",
                plan.run,
            )


def made_by(plan: Plan) -> dict[str, str]:
    """Who made the data of the system under test, in the words of records and manifests."""
    made = next(filter(None, (read_provenance(plan.anonymised(name)) for name in plan.recipe.eval_sets)), None)
    return _words(made) if made else {}


def data_digest(plan: Plan, names: Sequence[str]) -> str:
    """One digest for the anonymised audio of some sets; empty where nobody noted what it was."""
    made = [read_provenance(plan.anonymised(name)) for name in names]
    return _digest([one.audio for one in made if one]) if made and all(made) else ""


def _words(made: Provenance) -> dict[str, str]:
    return {
        "anonymiser": made.hook,
        "anon_options": made.options,
        "anonymiser_sha256": made.sha256,
        "anon_level": made.level,
        "anon_seed": str(made.seed),
    }


def _models(plan: Plan) -> dict[str, str]:
    """Digests of attackers and recognisers by their names in records; of those that several share, that of all."""
    found = {attacker.name: _attacker(plan, attacker) for attacker in plan.singles}
    found[plan.asr] = _pretrained(Path("conf/asr") / f"{plan.asr}.yaml")
    return found


def _attacker(plan: Plan, attacker: Attacker) -> str:
    start = _pretrained(attacker_conf(attacker.start))
    if attacker.mode == PRETRAINED:
        return start
    system = attacker.training_system(plan.system)
    made = [] if system == ORIGINAL else [read_provenance(plan.anonymised(n, system)) for n in plan.recipe.train_sets]
    if not all(made):
        return ""
    profile = Path("conf/asv/train") / f"{attacker.profile}.yaml"
    data = [one.audio for one in made if one] or list(plan.recipe.train_sets)
    return _digest([start, attacker.mode, _content([profile]), plan.settings.seed, data])


def _pretrained(conf: Path) -> str:
    """Of an encoder or recogniser: its configuration, files next to it, and the hashes of what the store holds."""
    known, model = read_models(), stored_model(conf)
    return _digest([_content(config_files(conf)), dict(known[model].files) if model in known else {}])


def _content(paths: Iterable[Path]) -> list[str]:
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_LENGTH]
