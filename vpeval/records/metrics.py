"""What every metric is to its readers: the one description that tables, figures, report and documentation use.

A new metric is an entry of `METRICS` beside the function that computes it. Values of records are not in the unit that
is shown: `scale` leads from one to the other (an EER of 0.0766 is shown as 7.66 %).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from vpeval.results.formats.tex import escape

Aspect = Literal["privacy", "utility"]
VERIFICATION, LEGAL, INFERENCE, SRD = "Speaker verification", "Legal criteria", "Inference", "Similarity ranks"
SIMILARITY, UTILITY, SPEAKERS, OTHER = "Voice similarity", "Utility", "Easy and hard speakers", "Other"
GROUPS = (VERIFICATION, LEGAL, INFERENCE, SRD, SIMILARITY, UTILITY, SPEAKERS, OTHER)
"""The groups of metrics, in the order of tables."""


@dataclass(frozen=True)
class Metric:
    """A metric as it is shown.

    `better` is +1 if a participant wants large values, -1 if small ones, 0 if neither. `chance` is the value (as in
    records) where nothing is disclosed; None where there is no such value or where it depends on the data, in which
    case the record states it.
    """

    name: str
    title: str
    explanation: str
    latex: str
    unit: str = ""
    scale: float = 1
    digits: int = 3
    better: int = 0
    chance: float | None = None
    aspect: Aspect = "privacy"
    group: str = OTHER

    @property
    def label(self) -> str:
        """Title and unit, as a row of a table is called."""
        return f"{self.title} {self.unit}".rstrip()

    @property
    def axis(self) -> str:
        """Title and unit, as an axis is labelled."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def show(self, value: float) -> str:
        """A value of a record in the shown unit, in plain text.

        >>> describe("eer_kaldi").show(0.07142)
        '7.14'
        """
        return f"{self.scale * value:.{self.digits}f}" if math.isfinite(value) else str(value)

    def typeset(self, value: float) -> str:
        """The same with a minus sign and an infinity sign."""
        return self.show(value).replace("-", "−").replace("inf", "∞")


_PERCENT: dict[str, Any] = {"unit": "%", "scale": 100.0}
_EER: dict[str, Any] = {**_PERCENT, "digits": 2, "better": +1, "chance": 0.5}
_SHARE: dict[str, Any] = {**_PERCENT, "digits": 1, "better": -1}
_BITS: dict[str, Any] = {"unit": "bit", "digits": 2, "better": -1, "chance": 0.0}
_MOS: dict[str, Any] = {"aspect": "utility", "digits": 2, "better": +1}
_LLR = r"C_\mathrm{llr}"


def _metric(name: str, title: str, explanation: str, latex: str = "", **look: Any) -> Metric:
    return Metric(name, title, explanation, latex or title, **look)


_BY_GROUP = {
    VERIFICATION: (
        _metric(
            "eer_kaldi",
            "EER (Kaldi)",
            "The smallest k/Nt at which the k-th target score exceeds its opposite nontarget score, as Kaldi's "
            "compute-eer has it; the EER of VoicePrivacy 2020 and 2022, a multiple of 1/Nt that can exceed 50 %.",
            r"EER (Kaldi), \%",
            **_EER,
        ),
        _metric(
            "eer_threshold",
            "EER (threshold)",
            "The mean of false alarms and misses at the threshold where they are closest; the EER of VoicePrivacy 2024 "
            "and 2026.",
            r"EER (threshold), \%",
            **_EER,
        ),
        _metric(
            "eer_rocch",
            "EER (ROCCH)",
            "Where the convex hull of the ROC crosses equal error rates, at most 50 %; the ROCCH-EER of the challenges "
            "and the EER of the legal framework.",
            r"EER (ROCCH), \%",
            **_EER,
        ),
        _metric(
            "strongest_attack",
            "Strongest attack",
            "The least mean EER over the sets of a partition of all attacks that were tried on a system; its interval "
            "accounts for the choice of the best of several, which is made anew for resampled speakers.",
            r"Strongest attack, \%",
            **_EER,
        ),
        _metric(
            "min_cllr",
            "min Cllr",
            "The cost of the scores after perfect calibration (PAV, ties pooled), from 0 to 1.",
            rf"${_LLR}^\mathrm{{min}}$",
            unit="bit",
            better=+1,
            chance=1.0,
        ),
        _metric(
            "cllr",
            "Cllr",
            "The cost of the scores taken as natural log-likelihood ratios, from 0 without limit, and 1 for ratios "
            "that say nothing; cosines are no ratios, so that it says little about them unless they are calibrated.",
            rf"${_LLR}$",
            unit="bit",
        ),
        _metric(
            "min_dcf",
            "min DCF",
            "The minimum normalised detection cost at the prior p of a target, from 0 to 1.",
            better=+1,
            chance=1.0,
        ),
        _metric(
            "dsys",
            "D_sys",
            "The linkability of the score distributions (Gomez-Barrero et al.), from 0 to 1; the estimator is biased "
            "upwards, so read it against its value at shuffled labels.",
            r"$D_\leftrightarrow^\mathrm{sys}$",
            better=-1,
            chance=0.0,
        ),
        _metric(
            "dsys_calibrated",
            "D_sys, calibrated",
            "The same linkability from the likelihood ratios of PAV calibration, less what they give to strangers: 1 "
            "for separated scores and 0 for indistinguishable ones, whatever their number.",
            r"$D_\leftrightarrow^\mathrm{sys}$, calibrated",
            better=-1,
            chance=0.0,
        ),
        _metric(
            "dsys_null",
            "D_sys, shuffled labels",
            "What D_sys gives for these numbers of trials where there is nothing to be learnt: its labels are "
            "shuffled.",
            r"$D_\leftrightarrow^\mathrm{sys}$, shuffled",
        ),
        _metric(
            "zebra_population",
            "ZEBRA population",
            "The disclosure in bits that is expected over all priors, from 0 to 0.721 (1/ln 4).",
            "ZEBRA expected, bit",
            unit="bit",
            better=-1,
            chance=0.0,
        ),
        _metric(
            "zebra_individual",
            "ZEBRA individual",
            "The worst-case strength of evidence as log10 of a likelihood ratio, with its category from 0 and A (best) "
            "to F; bounded by the number of trials.",
            "ZEBRA worst case",
            unit="log10 LR",
            better=-1,
            chance=0.0,
        ),
    ),
    LEGAL: (
        _metric(
            "singling_out",
            "Singling out",
            "How often a threshold that is meant to isolate one of N speakers isolates exactly one, with L utterances "
            "of each.",
            r"Singling out, \%",
            **_SHARE,
        ),
        _metric(
            "linkability",
            "Linkability",
            "How often the nearest one of N enrolled speakers is the right one, with L utterances to test.",
            r"Linkability, \%",
            **_SHARE,
        ),
        _metric(
            "one_minus_eer",
            "1-EER (ROCCH)",
            "1 minus the ROCCH-EER, on the same vectors as the legal metrics.",
            r"$1-$EER, \%",
            **{**_SHARE, "chance": 0.5},
        ),
        _metric(
            "singling_out_side",
            "Singling out, side info",
            "Singling out by an attacker who knows an attribute of the person and looks only at those of the N who "
            "share it; the details name the attribute and the number of its groups.",
            r"Singling out, side information, \%",
            **_SHARE,
        ),
        _metric(
            "linkability_side",
            "Linkability, side info",
            "Linkability by an attacker who knows an attribute of the person and looks only at those of the N enrolled "
            "speakers who share it; the details name the attribute and the number of its groups.",
            r"Linkability, side information, \%",
            **_SHARE,
        ),
        _metric(
            "singling_out_extrapolated",
            "Singling out, extrapolated",
            "Singling out among more speakers than there are, by a line over log N of the logit of what it has beyond "
            "chance; not measured.",
            r"Singling out, extrapolated, \%",
            **_SHARE,
        ),
        _metric(
            "linkability_extrapolated",
            "Linkability, extrapolated",
            "Linkability among more speakers than there are, by a beta-binomial fitted to the ranks of the true "
            "speakers; not measured.",
            r"Linkability, extrapolated, \%",
            **_SHARE,
        ),
        _metric(
            "singling_out_extrapolation_error",
            "Singling out, error of extrapolation",
            "What the extrapolation from smaller numbers of speakers says about the largest one, less what was "
            "measured there.",
            r"Singling out, error of extrapolation, \%",
            **{**_PERCENT, "digits": 1},
        ),
        _metric(
            "linkability_extrapolation_error",
            "Linkability, error of extrapolation",
            "What the extrapolation from smaller numbers of speakers says about the largest one, less what was "
            "measured there.",
            r"Linkability, error of extrapolation, \%",
            **{**_PERCENT, "digits": 1},
        ),
    ),
    INFERENCE: (
        _metric(
            "inference_bits",
            "Inference, information",
            "The bits about an attribute of a speaker (quantities: about its third) that an attacker who never heard "
            "the speaker gets from L utterances: entropy less cross-entropy of calibrated posteriors, 0 if that is "
            "negative.",
            "Inference, bit",
            **_BITS,
        ),
        _metric(
            "inference_accuracy",
            "Inference, balanced accuracy",
            "How often an attribute is inferred rightly from L utterances, every value of it counting the same.",
            r"Inference, \%",
            **_SHARE,
        ),
        _metric(
            "inference_correlation",
            "Inference, rank correlation",
            "Spearman's correlation over speakers of a quantity with what is predicted from L utterances.",
            r"Inference, $\rho$",
            digits=2,
            better=-1,
            chance=0.0,
        ),
        _metric(
            "attributes_found",
            "Found by inferred attributes",
            "How often a random one of those of N speakers who have all attributes that were inferred from L "
            "utterances is the person.",
            r"Found by attributes, \%",
            **_SHARE,
        ),
        _metric(
            "attributes_alone",
            "Unique by inferred attributes",
            "How often the person is the only one of N speakers with all attributes that were inferred from L "
            "utterances.",
            r"Unique by attributes, \%",
            **_SHARE,
        ),
        _metric(
            "attributes_left",
            "Left by inferred attributes",
            "How many of N speakers have all attributes that were inferred from L utterances, rightly or wrongly.",
            "Left by attributes",
            unit="speakers",
            digits=1,
        ),
    ),
    SRD: (
        _metric("srd_max", "SRD max. disclosure", "The bits that the most telling rank discloses.", "MaxD", **_BITS),
        _metric("srd_mean", "SRD mean disclosure", "The bits that a rank discloses on average.", "MeanD", **_BITS),
        _metric(
            "srd_idr",
            "SRD identification rate",
            "How often the true speaker has the first rank.",
            r"IdR, \%",
            **{**_SHARE, "digits": 2},
        ),
        _metric(
            "srd_rank_spread",
            "SRD rank spread",
            "The share of the ranks that the true speaker has more often than by chance.",
            r"RS, \%",
            **{**_SHARE, "better": +1},
        ),
    ),
    SIMILARITY: (
        _metric(
            "deid",
            "DeID",
            "De-identification: 100 % where an anonymised voice resembles its original no more than any other, 0 where "
            "nothing has changed.",
            r"DeID, \%",
            **{**_SHARE, "better": +1, "chance": 1.0},
        ),
        _metric(
            "g_vd",
            "G_VD",
            "The gain of voice distinctiveness: 0 dB where anonymised voices are as distinct as the original ones.",
            r"$G_\mathrm{VD}$, dB",
            unit="dB",
            digits=2,
            better=+1,
            aspect="utility",
        ),
        _metric(
            "d_diag",
            "D_diag",
            "How far the diagonal of a voice similarity matrix stands out; DeID and G_VD are made of it.",
            r"$D_\mathrm{diag}$",
        ),
    ),
    UTILITY: (
        _metric(
            "wer",
            "WER",
            "The word error rate of the recogniser: errors over words of the reference.",
            r"WER, \%",
            unit="%",
            digits=2,
            better=-1,
            aspect="utility",
        ),
        _metric(
            "cer",
            "CER",
            "The character error rate of the recogniser: errors over characters of the reference.",
            r"CER, \%",
            unit="%",
            digits=2,
            better=-1,
            aspect="utility",
        ),
        _metric(
            "pitch_correlation",
            "Pitch correlation",
            "The correlation of the F0 of original and anonymised speech, averaged over utterances.",
            r"$\rho^{F_0}$",
            better=+1,
            aspect="utility",
        ),
        _metric(
            "uar",
            "UAR",
            "The unweighted average recall of emotions.",
            r"UAR, \%",
            unit="%",
            digits=2,
            better=+1,
            aspect="utility",
        ),
        _metric(
            "emotion_accuracy",
            "Emotion accuracy",
            "The recall of one emotion.",
            r"Accuracy, \%",
            unit="%",
            digits=2,
            better=+1,
            aspect="utility",
        ),
        _metric("dnsmos_ovrl", "DNSMOS overall", "Overall quality as DNSMOS P.835 predicts it, from 1 to 5.", **_MOS),
        _metric("dnsmos_sig", "DNSMOS signal", "Quality of the speech as DNSMOS P.835 predicts it.", **_MOS),
        _metric("dnsmos_bak", "DNSMOS background", "Quality of the background as DNSMOS P.835 predicts it.", **_MOS),
        _metric("dnsmos_p808", "DNSMOS P.808", "Overall quality as DNSMOS P.808 predicts it, from 1 to 5.", **_MOS),
        _metric(
            "stoi",
            "STOI",
            "Short-time objective intelligibility of anonymised speech with its original as the reference.",
            better=+1,
            aspect="utility",
        ),
        _metric("estoi", "ESTOI", "The extended version of STOI.", better=+1, aspect="utility"),
    ),
    SPEAKERS: (
        _metric("jaccard_easy", "Overlap, easy", "The Jaccard overlap of the lists of easy speakers of two contexts."),
        _metric("jaccard_hard", "Overlap, hard", "The Jaccard overlap of the lists of hard speakers of two contexts."),
        _metric("jaccard_easy_mean", "Mean overlap, easy", "The mean overlap of easy speakers over pairs of contexts."),
        _metric("jaccard_hard_mean", "Mean overlap, hard", "The mean overlap of hard speakers over pairs of contexts."),
    ),
}
METRICS = {metric.name: replace(metric, group=group) for group, metrics in _BY_GROUP.items() for metric in metrics}
"""The known metrics by name, in the order of tables."""

_RANKS = {name: place for place, name in enumerate(METRICS)}
_DIFFERENCE = "_difference"


def describe(name: str) -> Metric:
    """How a metric is shown; ``<metric>_difference`` as the metric, an unknown one by its own name and value.

    >>> describe("wer_difference").label, describe("new_thing").title
    ('WER, difference %', 'new thing')
    """
    if name in METRICS:
        return METRICS[name]
    base = METRICS.get(name.removesuffix(_DIFFERENCE))
    if base:
        words = f"Of two systems on the same data. {base.explanation}"
        title, latex = f"{base.title}, difference", rf"$\Delta$ {base.latex}"
        return replace(base, name=name, title=title, explanation=words, latex=latex, chance=None)
    return Metric(name, name.replace("_", " "), "", escape(name))


def rank(name: str) -> tuple[int, str]:
    """The place of a metric in tables: known ones in their order, then others by name."""
    return _RANKS.get(name, len(_RANKS)), name
