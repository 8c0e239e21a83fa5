"""All figures in the order of a report, each with its title and what it shows."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from vpeval.core.errors import InputError
from vpeval.core.publish import claim
from vpeval.figures import bars, curves, legal_curves, listening, matrices, ranks, scatter, speakers, style, training
from vpeval.figures.data import Results
from vpeval.records.metrics import describe
from vpeval.results.headline import eer_of


@dataclass(frozen=True)
class Plot:
    """A figure: its file name, title, caption, what it needs, and the function that draws it or finds no data.

    A figure of the EER (`of_eer`) is drawn for one estimator, given as `eer`; its caption has a place for the name.
    """

    name: str
    title: str
    words: str
    needs: str
    function: Callable[..., Figure | None]
    of_eer: bool = False
    of_strongest: bool = False

    def caption(self, edition: str) -> str:
        """What the figure shows, with the EER of the edition."""
        title = describe(eer_of(edition)).title
        words = self.words.format(eer=f"{title}, the EER of VoicePrivacy {edition},") if self.of_eer else self.words
        return f"{words} {_STRONGEST}" if self.of_strongest else words

    def draw(self, results: Results, edition: str) -> Figure | None:
        """The figure in the common style; None where the data are absent."""
        chosen = {"eer": eer_of(edition)} if self.of_eer else {}
        return style.draw(self.name, lambda: self.function(results, **chosen))


_STRONGEST = "Of attackers who share an attack model, the strongest is shown."
_LISTENING = "a listening test (local/listening_test.py analyse)"
CATALOGUE = (
    Plot(
        "eer",
        "Equal error rate",
        "{eer} per set and attack model; whiskers are 95 % intervals over speakers. Higher is more private; 50 % is "
        "chance.",
        "verification records (stage 6)",
        bars.eer_bars,
        of_strongest=True,
        of_eer=True,
    ),
    Plot(
        "min_cllr",
        "Minimum log-likelihood-ratio cost",
        "Min Cllr per set and attack model, with 95 % intervals over speakers. 1 bit means that scores say nothing.",
        "verification records (stage 6)",
        bars.min_cllr_bars,
        of_strongest=True,
    ),
    Plot(
        "eer_by_attacker",
        "EER by attack model",
        "{eer} as a mean over all sets, women and men apart; circles are the sets. Darker bars are stronger attackers: "
        "what counts is the lowest bar of a system.",
        "verification records of an anonymised condition (stage 6)",
        bars.eer_by_attacker,
        of_strongest=True,
        of_eer=True,
    ),
    Plot(
        "legal",
        "Singling out, linkability and 1 − EER",
        "Success of the attacks over the number of speakers N, for test vectors of L utterances. Bands are 95 % "
        "intervals over speakers. Chance is that of the protocol: for singling out it is below the 37 % often quoted.",
        "legal metrics (stage 8)",
        legal_curves.legal_curves,
        of_strongest=True,
    ),
    Plot(
        "side_information",
        "What an attacker gains by knowing an attribute",
        "Success of the attacks over the number of speakers to choose among. Lines: plain, over N. Hollow marks: "
        "attackers who know an attribute of the person, which leaves so many of the largest N. Marks on the lines: the "
        "attribute excludes people as chance does; below them: the voice had told it already.",
        "legal metrics with side information (stage 8, spk2<attribute> tables)",
        legal_curves.side_information,
        of_strongest=True,
    ),
    Plot(
        "inference",
        "Inference of attributes",
        "Bits that speech discloses about attributes of a speaker whom the attacker never heard, with 95 % intervals; "
        "lines are the bits that there are to be learnt.",
        "inference (stage 8, spk2<attribute> tables)",
        bars.inference_bars,
        of_strongest=True,
    ),
    Plot(
        "srd",
        "Ranks of the true speaker",
        "How often the true speaker has which rank among N references, with the beta-binomial fit: a row per attacker, "
        "systems side by side. A flat histogram at 1/N discloses nothing; in the grey band are 95 % of the ranks of so "
        "many inputs if nothing is disclosed.",
        "rank histograms of similarity rank disclosure (stage 9)",
        ranks.rank_histograms,
    ),
    Plot(
        "linkability_speakers",
        "Linkability of single speakers",
        "Distribution over speakers of the probability to be linked. The mean hides speakers who are always found.",
        "per-speaker values of linkability (stage 8)",
        speakers.linkability_distributions,
        of_strongest=True,
    ),
    Plot(
        "jaccard",
        "Do the same speakers stay easy or hard to link?",
        "Jaccard overlap in % of the lists of the 10 % easiest and hardest speakers (with ties) between contexts.",
        "per-speaker values of linkability for two contexts (stage 8)",
        speakers.jaccard_heatmap,
        of_strongest=True,
    ),
    Plot(
        "jaccard_mean",
        "Mean overlap of easy and hard speakers",
        "Mean Jaccard overlap across contexts that differ in one circumstance; black marks are random lists.",
        "per-speaker values of linkability for two contexts (stage 8)",
        speakers.mean_jaccard,
        of_strongest=True,
    ),
    Plot(
        "zebra",
        "ZEBRA profiles",
        "Empirical cross-entropy over the prior. In brackets: expected disclosure in bits, worst case as log10 of the "
        "likelihood ratio, and its category (0, A best … F worst).",
        "ECE curves of verification (stage 6)",
        curves.zebra_profiles,
        of_strongest=True,
    ),
    Plot(
        "dsys",
        "Score distributions and linkability D_sys",
        "Scores of same and different speakers; the step line is the local linkability D of a histogram, the number "
        "D_sys from calibrated scores, which is 0 without information, where it was measured.",
        "scores (stage 6) and the trials of the data directories",
        curves.dsys_distributions,
        of_strongest=True,
    ),
    Plot(
        "det",
        "Detection error trade-off",
        "Misses over false alarms on normal-deviate axes. Curves nearer to the upper right are more private; the EER "
        "is on the dotted diagonal.",
        "DET curves of verification (stage 6)",
        curves.det_curves,
        of_strongest=True,
    ),
    Plot(
        "similarity_matrices",
        "Voice similarity matrices",
        "Similarity of all pairs of speakers. A dark diagonal means that speakers are recognised: unwanted between "
        "original and anonymised speech, wanted among anonymised voices where they should stay distinct.",
        "similarity matrices (stage 7)",
        matrices.similarity_matrices,
    ),
    Plot(
        "similarity",
        "Voice distinctiveness and de-identification",
        "Gain of voice distinctiveness (0 dB: as distinct as the original voices) and de-identification, with 95 % "
        "intervals over speakers.",
        "similarity records (stage 7)",
        bars.similarity_bars,
    ),
    Plot(
        "metrics",
        "One metric against another",
        "A point per set and attack model; {eer} where it says EER. Points off the common trend show what one metric "
        "sees and another does not.",
        "verification and similarity records (stages 6 and 7)",
        scatter.metric_scatter,
        of_eer=True,
    ),
    Plot(
        "listening_violins",
        "What listeners say",
        "Ratings of listeners as normalised ranks, similarity apart for pairs of the same and of different speakers. "
        "Numbers are means, bars medians; the dotted line is the median of the first system. Higher naturalness and "
        "intelligibility are more useful, lower similarity of the same speaker is more private.",
        _LISTENING,
        listening.violins,
    ),
    Plot(
        "listening_tests",
        "Are the differences real?",
        "p values of two-sided Mann-Whitney U tests between systems, not corrected; filled where they stay below 0.01 "
        "after Holm's correction for all tests of the four tables.",
        _LISTENING,
        listening.significance,
    ),
    Plot(
        "listening_det",
        "Detection error trade-off of listeners",
        "Listeners as detectors of original speech (by naturalness, intelligibility) and of the same speaker (by "
        "similarity). Curves nearer to the upper right: more natural, more intelligible, more private.",
        _LISTENING,
        listening.det_curves,
    ),
    Plot(
        "listening_det_sets",
        "Same or different speaker, set by set",
        "The detection of the same speaker by listeners' similarity ratings, for every set.",
        _LISTENING,
        listening.det_by_set,
    ),
    Plot(
        "listening_machine",
        "Ears against machines",
        "Metrics of the listeners' similarity ratings over those of the ignorant attacker; squares are original data. "
        "Both hold trials against original enrolment.",
        "a listening test and verification records of the ignorant attacker (stage 6)",
        listening.against_machine,
    ),
    Plot(
        "listening_linkability",
        "Voices placed by ear",
        "Distances between voices that listeners placed in a field, in units of the mean distance of a field, and the "
        "mean of the field that most listeners judged.",
        "a listening test with boards (local/listening_test.py analyse)",
        listening.linkability,
    ),
    Plot(
        "training",
        "Training of the attackers",
        "Numbers of the training logs over the epochs. An attacker that has not converged overestimates privacy.",
        "a training log of an attacker (stage 4)",
        training.attackers,
    ),
)


def write_figures(results: Results, out: Path, edition: str, formats: Sequence[str] = style.FORMATS) -> int:
    """Draw what there are data for into directory `out`, and remove what is left there of other data."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it reports on every glyph that it puts into a PDF
    claim(out, [f"{plot.name}.{kind}" for plot in CATALOGUE for kind in style.FORMATS])
    count, lacking = 0, defaultdict[str, list[str]](list)
    for plot in CATALOGUE:
        figure = plot.draw(results, edition)
        if figure is None:
            lacking[plot.needs].append(plot.name)
            for kind in style.FORMATS:
                (out / f"{plot.name}.{kind}").unlink(missing_ok=True)
            continue
        style.save(figure, out, plot.name, formats)
        count += 1
    if lacking:
        needs = "; ".join(f"{', '.join(names)} need {what}" for what, names in lacking.items())
        logging.info("figures left out: %s", needs)
    if not count:
        raise InputError("the records hold nothing to plot", results.tables[0])
    return count
