from vpeval.data.directory import DataDir
from vpeval.data.trials import Trials, read_scores, read_trials, trial_speakers, write_scores
from vpeval.data.validate import Problem
from vpeval.data.validate import validate as find_problems

__all__ = [
    "DataDir",
    "Problem",
    "Trials",
    "find_problems",
    "read_scores",
    "read_trials",
    "trial_speakers",
    "write_scores",
]
