"""VoicePrivacy 2026: its ``result_for_rank`` is that of 2024 but for what it shows of ASV_eval, its a-a rows."""

from __future__ import annotations

from vpeval.editions.base import Edition, ResultFile
from vpeval.editions.vpc2024 import SET_NAMES, is_rank_file, read, render
from vpeval.records.names import ASV_EVAL, ASV_EVAL_ANON

EDITION = Edition(
    name="2026",
    eer="eer_threshold",
    text_rules="vpc2026",
    files=(
        ResultFile(
            "result_for_rank",
            is_rank_file,
            read,
            lambda records: render(records, ("aa",)),
            r"(?:track\d_)?result_for_rank",
            attacks=((ASV_EVAL, "aa"), (ASV_EVAL_ANON, "aa")),
        ),
    ),
    requires_uar=True,
    set_names=SET_NAMES,
)
"""Its ranking rules are not known."""
