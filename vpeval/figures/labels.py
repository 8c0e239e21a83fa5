"""How numbers are named and printed for people: metrics and sets."""

from __future__ import annotations

from dataclasses import dataclass

from vpeval.results.measures import measure
from vpeval.results.names import SetName


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


def set_title(name: str, gender: bool = True) -> str:
    """``mini_dev_trials_f`` → ``mini dev, female``."""
    parts = SetName.parse(name)
    if not parts:
        return name.replace("_", " ")
    title = " ".join(filter(None, (parts.corpus, parts.partition, parts.subset)))
    return f"{title}, {GENDERS[parts.gender]}" if gender and parts.gender else title


GENDERS = {"f": "female", "m": "male"}
