"""How every metric is shown: its name, its unit, its digits, which direction is better, and its chance level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from vpeval.results.records import Record

Aspect = Literal["privacy", "utility"]


@dataclass(frozen=True)
class Measure:
    """A metric as it is shown.

    `scale` leads from the value of a record to the shown unit; `better` is +1 if the participant wants large values,
    -1 if small ones, 0 if neither; `chance` is the shown value where an attacker learns nothing.
    """

    title: str
    latex: str
    aspect: Aspect = "privacy"
    scale: float = 1
    digits: int = 3
    better: int = 0
    chance: float | None = None

    def show(self, value: float) -> str:
        """A value of a record in the shown unit."""
        return f"{self.scale * value:.{self.digits}f}" if math.isfinite(value) else str(value)


_LLR = r"C_\mathrm{llr}"
MEASURES = {
    "eer_kaldi": Measure("EER %", r"EER, \%", "privacy", 100, 2, +1, 50),
    "eer_threshold": Measure("EER (threshold) %", r"EER (threshold), \%", "privacy", 100, 2, +1, 50),
    "eer_rocch": Measure("EER (ROCCH) %", r"EER (ROCCH), \%", "privacy", 100, 2, +1, 50),
    "min_cllr": Measure("min Cllr", rf"${_LLR}^\mathrm{{min}}$", "privacy", 1, 3, +1, 1),
    "cllr": Measure("Cllr", rf"${_LLR}$"),
    "min_dcf": Measure("min DCF", "min DCF", "privacy", 1, 3, +1, 1),
    "dsys": Measure("D_sys", r"$D_\leftrightarrow^\mathrm{sys}$", "privacy", 1, 3, -1, 0),
    "zebra_population": Measure("ZEBRA population bit", "ZEBRA expected, bit", "privacy", 1, 3, -1, 0),
    "zebra_individual": Measure("ZEBRA individual", "ZEBRA worst case", "privacy", 1, 3, -1, 0),
    "deid": Measure("DeID %", r"DeID, \%", "privacy", 100, 1, +1, 100),
    "linkability": Measure("linkability %", r"Linkability, \%", "privacy", 100, 1, -1),
    "singling_out": Measure("singling out %", r"Singling out, \%", "privacy", 100, 1, -1),
    "one_minus_eer": Measure("1-EER %", r"$1-$EER, \%", "privacy", 100, 1, -1, 50),
    "srd_max": Measure("SRD MaxD bit", "MaxD", "privacy", 1, 2, -1, 0),
    "srd_mean": Measure("SRD MeanD bit", "MeanD", "privacy", 1, 2, -1, 0),
    "srd_idr": Measure("SRD IdR %", r"IdR, \%", "privacy", 100, 2, -1),
    "srd_rank_spread": Measure("SRD rank spread %", r"RS, \%", "privacy", 100, 1, +1),
    "g_vd": Measure("G_VD dB", r"$G_\mathrm{VD}$, dB", "utility", 1, 2, +1),
    "wer": Measure("WER %", r"WER, \%", "utility", 1, 2, -1),
    "cer": Measure("CER %", r"CER, \%", "utility", 1, 2, -1),
    "pitch_correlation": Measure("pitch correlation", r"$\rho^{F_0}$", "utility", 1, 3, +1),
    "uar": Measure("UAR %", r"UAR, \%", "utility", 1, 2, +1),
    "dnsmos_ovrl": Measure("DNSMOS overall", "DNSMOS overall", "utility", 1, 2, +1),
    "dnsmos_sig": Measure("DNSMOS signal", "DNSMOS signal", "utility", 1, 2, +1),
    "dnsmos_bak": Measure("DNSMOS background", "DNSMOS background", "utility", 1, 2, +1),
    "dnsmos_p808": Measure("DNSMOS P.808", "DNSMOS P.808", "utility", 1, 2, +1),
    "stoi": Measure("STOI", "STOI", "utility", 1, 3, +1),
    "estoi": Measure("ESTOI", "ESTOI", "utility", 1, 3, +1),
    "emotion_accuracy": Measure("accuracy %", r"Accuracy, \%", "utility", 1, 2, +1),
}
"""The known metrics, in the order of tables."""


def measure(metric: str) -> Measure:
    """How a metric is shown; an unknown one by its own name and value."""
    return MEASURES.get(metric, Measure(metric, metric.replace("_", r"\_")))


def rank(metric: str) -> tuple[int, str]:
    """The place of a metric in tables: known ones in their order, then others by name."""
    known = list(MEASURES)
    return (known.index(metric) if metric in known else len(known)), metric


def chance(record: Record) -> str:
    """The shown chance level of a record: with its finite data, if it states that floor, or else in theory."""
    kind = measure(record.metric)
    for name in ("floor", "chance"):
        if name in record.notes:
            return kind.show(float(record.notes[name]))
    return "" if kind.chance is None else f"{kind.chance:g}"


def interval(record: Record) -> str:
    """``[3.41,8.20]`` in the shown unit; empty where the record has none."""
    if record.lower is None or record.upper is None:
        return ""
    kind = measure(record.metric)
    return f"[{kind.show(record.lower)},{kind.show(record.upper)}]"
