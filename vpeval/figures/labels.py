"""How numbers are named and printed for people: metrics, attack models, sets."""

from __future__ import annotations

from dataclasses import dataclass

from vpeval.asv.attackers import Attacker
from vpeval.records import Record
from vpeval.results.measures import measure
from vpeval.results.names import CONDITIONS, SetName


@dataclass(frozen=True)
class Metric:
    """How a metric is called here; its scale, digits and chance level are those of `vpeval.results.measures`."""

    name: str
    title: str
    group: str
    unit: str = ""
    explanation: str = ""

    @property
    def axis(self) -> str:
        """Title with unit, as an axis is labelled."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def scale(self) -> float:
        """What a value is multiplied with to be shown in its unit."""
        return measure(self.name).scale

    @property
    def better(self) -> int:
        """+1 where higher values are better, -1 where lower ones are, 0 where neither."""
        return measure(self.name).better

    @property
    def chance(self) -> float | None:
        """The value at which an attacker learns nothing, not scaled."""
        level = measure(self.name).chance
        return None if level is None else level / self.scale

    def number(self, value: float) -> str:
        """A value in the unit of the metric, without the unit."""
        return measure(self.name).show(value).replace("-", "−").replace("inf", "∞")


_VERIFICATION, _LEGAL, _SRD = "Speaker verification", "Legal criteria", "Similarity ranks"
_SIMILARITY, _UTILITY, _OTHER = "Voice similarity", "Utility", "Other"
GROUPS = (_VERIFICATION, _LEGAL, _SRD, _SIMILARITY, _UTILITY, _OTHER)
_WORDS = {
    _VERIFICATION: {
        "eer_kaldi": (
            "EER, Kaldi",
            "%",
            "k/Nt of Kaldi's compute-eer; VoicePrivacy 2020 and 2022 result files",
        ),
        "eer_threshold": ("EER, threshold", "%", "closest error rates over all thresholds; VoicePrivacy 2024 and 2026"),
        "eer_rocch": ("EER, ROCCH", "%", "on the convex hull of the ROC; the EER of the legal framework"),
        "min_cllr": ("min Cllr", "bit", "cost of the scores after perfect calibration"),
        "cllr": ("Cllr", "bit", "cost of the scores taken as log-likelihood ratios"),
        "zebra_population": ("ZEBRA population", "bit", "expected disclosure, at most 0.721"),
        "zebra_individual": ("ZEBRA individual", "log10 LR", "worst-case disclosure, with its category"),
        "dsys": ("D_sys", "", "linkability of score distributions; without information it is as with shuffled labels"),
        "dsys_null": ("D_sys, shuffled labels", "", "the level of D_sys without information"),
        "min_dcf": ("min DCF", "", "normalised detection cost"),
    },
    _LEGAL: {
        "linkability": ("Linkability", "%", "linked to the right one of N speakers, with L utterances"),
        "singling_out": ("Singling out", "%", "isolated as the only one of N speakers, with L utterances"),
        "one_minus_eer": ("1 − EER, ROCCH", "%", "beside the legal metrics, over the same N and L"),
    },
    _SRD: {
        "srd_max": ("Max. disclosure", "bit", "of the most telling rank"),
        "srd_mean": ("Mean disclosure", "bit", "averaged over the ranks"),
        "srd_idr": ("Identification rate", "%", "true speaker on rank 1"),
        "srd_rank_spread": ("Rank spread", "%", "share of the ranks that are taken more often than by chance"),
    },
    _SIMILARITY: {
        "d_diag": ("D_diag", "", "diagonal dominance of a similarity matrix"),
        "g_vd": ("G_VD", "dB", "gain of voice distinctiveness; 0 is as distinct as the original voices"),
        "deid": ("DeID", "%", "de-identification"),
    },
    _UTILITY: {
        "wer": ("WER", "%", "word error rate"),
        "cer": ("CER", "%", "character error rate"),
        "uar": ("UAR", "%", "unweighted average recall of emotions"),
        "emotion_accuracy": ("Emotion accuracy", "%", "recall of one emotion"),
        "pitch_correlation": ("Pitch correlation", "", "of original and anonymised F0"),
    },
}
METRICS = {
    name: Metric(name, title, group, unit, explanation)
    for group, metrics in _WORDS.items()
    for name, (title, unit, explanation) in metrics.items()
}


def metric(name: str) -> Metric:
    """How the metric called `name` is shown; one that is not known keeps its own name."""
    return METRICS.get(name) or Metric(name, name.replace("_", " "), _OTHER)


UNPROTECTED, IGNORANT, LAZY, SEMI = "unprotected", "ignorant", "lazy-informed", "semi-informed"
SIMILAR = "similar-system"
ATTACK_MODELS = (UNPROTECTED, IGNORANT, LAZY, SIMILAR, SEMI)
"""From the weakest to the strongest, in the vocabulary of the VoicePrivacy challenges, which has none for SIMILAR."""

LEGAL_NAMES = {UNPROTECTED: "Original", IGNORANT: "Ignorant", SIMILAR: "Semi-Informed", SEMI: "Informed"}
"""The names of the same attack models in the legal framework; it has none for the lazy-informed one."""


def attack_model(record: Record, attacker: Attacker | None = None) -> str:
    """Which attack a record is about; empty where it is about none (utility, similarity matrices).

    It is the one that the record states, else that of its `attacker` where that is known, else what condition and name
    of the attacker tell (``ASV_eval_anon`` was trained on anonymised speech).
    """
    if record.condition not in CONDITIONS:
        return ""
    if stated := record.params.get("attack_model"):
        name = str(stated)
    elif attacker:
        name, _ = attacker.attack(record.condition, record.system)
    else:
        informed = SEMI if "anon" in record.attacker.lower() else LAZY
        name = {"oo": UNPROTECTED, "oa": IGNORANT, "aa": informed}[record.condition]
    return SIMILAR if name == "none" else name


def set_title(name: str, gender: bool = True) -> str:
    """``mini_dev_trials_f`` → ``mini dev, female``."""
    parts = SetName.parse(name)
    if not parts:
        return name.replace("_", " ")
    title = " ".join(filter(None, (parts.corpus, parts.partition, parts.subset)))
    return f"{title}, {GENDERS[parts.gender]}" if gender and parts.gender else title


GENDERS = {"f": "female", "m": "male"}
