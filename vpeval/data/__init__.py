"""Kaldi data directories: reading, checking, fixing, cutting, and trial lists.

What is offered here is described in docs/library.md.
"""

from vpeval.core.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "DataDir": "directory.DataDir",
        "Problem": "validate.Problem",
        "Trials": "trials.Trials",
        "find_problems": "validate.validate",
        "read_scores": "trials.read_scores",
        "read_trials": "trials.read_trials",
        "trial_speakers": "trials.trial_speakers",
        "write_scores": "trials.write_scores",
    },
)
