"""Stages: loops over the plan. A stage is a function of the plan; run.sh names it."""

from vpeval.core.lazy import Deferred

STAGES = {
    "data": Deferred("vpeval.stages.setup", "prepare_data"),
    "models": Deferred("vpeval.stages.setup", "fetch_models"),
    "preparation": Deferred("vpeval.stages.setup", "prepare_anonymiser"),
    "anonymisation": Deferred("vpeval.stages.anonymisation", "run"),
    "attackers": Deferred("vpeval.stages.attackers", "train"),
    "embeddings": Deferred("vpeval.stages.attackers", "embed"),
    "verification": Deferred("vpeval.stages.scoring", "verify"),
    "similarity": Deferred("vpeval.stages.scoring", "compare_voices"),
    "legal": Deferred("vpeval.stages.scoring", "measure_legal_criteria"),
    "disclosure": Deferred("vpeval.stages.scoring", "measure_disclosure"),
    "utility": Deferred("vpeval.stages.utility", "run"),
    "results": Deferred("vpeval.stages.results", "run"),
    "submission": Deferred("vpeval.stages.submission", "run"),
}
"""The stages by name, imported when they run."""
