"""All figures in the order of a report, each with its title and caption."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure

from vpeval.core.errors import InputError
from vpeval.core.publish import claim
from vpeval.editions.headline import eer_of
from vpeval.figures import attacker_curves, bars, drawing, legal_charts, listening, scatter, similarity_charts
from vpeval.figures.run_results import Results
from vpeval.records.metrics import describe
from vpeval.records.names import set_title


@dataclass(frozen=True)
class Plot:
    """A figure: file name, title, caption, required data, and the function that draws it or returns None.

    A figure of the EER (`uses_eer`) shows one estimator: its function has the parameter `eer`, its caption a field
    ``{eer}``. A figure of the sets of a metric (`by_set`) has a panel for every set and system: of many systems, there
    is one figure per set (`plots`).
    """

    name: str
    title: str
    words: str
    needs: str
    function: Callable[..., Figure | None]
    uses_eer: bool = False
    strongest_only: bool = False
    by_set: str = ""

    def caption(self, edition: str) -> str:
        """The caption, with the EER of the edition."""
        title = describe(eer_of(edition)).title
        words = self.words.format(eer=f"{title}, the EER of VoicePrivacy {edition},") if self.uses_eer else self.words
        return f"{words} {_STRONGEST}" if self.strongest_only else words

    def draw(self, results: Results, edition: str) -> Figure | None:
        """The figure in the common style, or None without data."""
        options = {"eer": eer_of(edition)} if self.uses_eer else {}
        return drawing.draw(self.name, lambda: self.function(results, **options))

    def of_set(self, name: str) -> Plot:
        """The figure of one set."""

        def function(results: Results, **options: str) -> Figure | None:
            return self.function(results.of_set(name), **options)

        file = re.sub(r"[^\w.-]", "_", f"{self.name}-{name}")
        return replace(self, name=file, title=f"{self.title}: {set_title(name)}", function=function)


_STRONGEST = "Of several attackers with the same attack model, the figure shows the strongest."
_LISTENING = "a listening test (local/listening_test.py analyse)"
CATALOGUE = (
    Plot(
        "eer",
        "Equal error rate",
        "{eer} per set and attack model. Whiskers are 95 % intervals over speakers. Higher is more private; chance is "
        "50 %.",
        "verification records (stage 6)",
        bars.eer_bars,
        strongest_only=True,
        uses_eer=True,
    ),
    Plot(
        "min_cllr",
        "Minimum log-likelihood-ratio cost",
        "Min Cllr per set and attack model, with 95 % intervals over speakers. At 1 bit, scores hold no information.",
        "verification records (stage 6)",
        bars.min_cllr_bars,
        strongest_only=True,
    ),
    Plot(
        "eer_by_attacker",
        "EER by attack model",
        "{eer} as a mean over all sets, for female and male speakers. Circles are single sets. Darker bars are "
        "stronger attack models. The lowest bar of a system counts.",
        "verification records of an anonymised condition (stage 6)",
        bars.eer_by_attacker,
        strongest_only=True,
        uses_eer=True,
    ),
    Plot(
        "legal",
        "Singling out, linkability and 1 − EER",
        "Success of the attacks over the number of speakers N, with L utterances per test vector. Bands are 95 % "
        "intervals over speakers. Chance is that of the protocol; for singling out it is below the often cited 37 %.",
        "legal metrics (stage 8)",
        legal_charts.legal_curves,
        strongest_only=True,
    ),
    Plot(
        "side_information",
        "Attackers who know an attribute",
        "Success of the attacks over the number of candidate speakers. Lines: without side information, over N. Hollow "
        "marks: the attacker knows an attribute, which leaves this many candidates of the largest N. Marks on the "
        "lines: the attribute helps as much as fewer speakers do. Marks below: the voice already discloses it.",
        "legal metrics with side information (stage 8, spk2<attribute> tables)",
        legal_charts.side_information,
        strongest_only=True,
    ),
    Plot(
        "inference",
        "Inference of attributes",
        "Bits that speech discloses about attributes of a speaker who is unknown to the attacker, with 95 % intervals. "
        "Lines show the entropy of the attribute, which is the maximum.",
        "inference (stage 8, spk2<attribute> tables)",
        bars.inference_bars,
        strongest_only=True,
    ),
    Plot(
        "srd",
        "Ranks of the true speaker",
        "Histogram of the rank of the true speaker among N references, with the beta-binomial fit: a row per attacker, "
        "systems side by side. A flat histogram at 1/N discloses nothing. The grey band holds 95 % of the ranks of as "
        "many inputs if nothing is disclosed.",
        "rank histograms of similarity rank disclosure (stage 9)",
        similarity_charts.rank_histograms,
    ),
    Plot(
        "linkability_speakers",
        "Linkability of single speakers",
        "Distribution over speakers of the probability to be linked. Some speakers may always be linked, whatever the "
        "mean is.",
        "per-speaker values of linkability (stage 8)",
        legal_charts.linkability_distributions,
        strongest_only=True,
    ),
    Plot(
        "jaccard",
        "Do the same speakers stay easy or hard to link?",
        "Jaccard overlap (%) between contexts of the lists of the 10 % easiest and the 10 % hardest speakers, with "
        "ties.",
        "per-speaker values of linkability in two contexts (stage 8)",
        legal_charts.jaccard_heatmap,
        strongest_only=True,
    ),
    Plot(
        "jaccard_mean",
        "Mean overlap of easy and hard speakers",
        "Mean Jaccard overlap of contexts that differ in one circumstance. Black marks show the overlap of random "
        "lists.",
        "per-speaker values of linkability in two contexts (stage 8)",
        legal_charts.mean_jaccard,
        strongest_only=True,
    ),
    Plot(
        "zebra",
        "ZEBRA profiles",
        "Empirical cross-entropy over the prior. In brackets: expected disclosure in bits, worst-case disclosure as "
        "log10 of the likelihood ratio, and its category (0, then A best to F worst).",
        "ECE curves of verification (stage 6)",
        attacker_curves.zebra_profiles,
        strongest_only=True,
        by_set="zebra_population",
    ),
    Plot(
        "dsys",
        "Score distributions and linkability D_sys",
        "Scores of same and different speakers. The step line is the local linkability D of a histogram. The number is "
        "D_sys, from calibrated scores where it was measured; without information it is 0.",
        "scores (stage 6) and the trials of the data directories",
        attacker_curves.dsys_distributions,
        strongest_only=True,
        by_set="dsys",
    ),
    Plot(
        "det",
        "Detection error trade-off",
        "Misses over false alarms on normal-deviate axes. Curves closer to the upper right are more private. A curve "
        "crosses the dotted diagonal at its EER.",
        "DET curves of verification (stage 6)",
        attacker_curves.det_curves,
        strongest_only=True,
        by_set="eer_threshold",
    ),
    Plot(
        "similarity_matrices",
        "Voice similarity matrices",
        "Similarity of all pairs of speakers. A dark diagonal means that speakers are recognised. Between original and "
        "anonymised speech, it shows a lack of privacy; among anonymised voices, it shows that they are distinct.",
        "similarity matrices (stage 7)",
        similarity_charts.similarity_matrices,
        by_set="g_vd",
    ),
    Plot(
        "similarity",
        "Voice distinctiveness and de-identification",
        "Gain of voice distinctiveness (at 0 dB, voices are as distinct as the original ones) and de-identification, "
        "with 95 % intervals over speakers.",
        "similarity records (stage 7)",
        bars.similarity_bars,
    ),
    Plot(
        "metrics",
        "One metric against another",
        "A point per set and attack model; EER means {eer} here. Points away from the common trend show where two "
        "metrics disagree.",
        "verification and similarity records (stages 6 and 7)",
        scatter.metric_scatter,
        uses_eer=True,
    ),
    Plot(
        "listening_violins",
        "Ratings of listeners",
        "Ratings of listeners as normalised ranks. Similarity is shown for pairs of the same and of different "
        "speakers. Numbers are means, bars medians; the dotted line is the median of the first system. Higher "
        "naturalness and intelligibility are more useful; lower similarity of the same speaker is more private.",
        _LISTENING,
        listening.violins,
    ),
    Plot(
        "listening_tests",
        "Significance of the differences between systems",
        "Uncorrected p values of two-sided Mann-Whitney U tests between systems. Cells are filled if p is below 0.01 "
        "after Holm's correction for all tests of the four tables.",
        _LISTENING,
        listening.significance,
    ),
    Plot(
        "listening_det",
        "Detection error trade-off of listeners",
        "Listeners as detectors of original speech (by naturalness, intelligibility) and of the same speaker (by "
        "similarity). Curves closer to the upper right are more natural, more intelligible, more private.",
        _LISTENING,
        listening.det_curves,
    ),
    Plot(
        "listening_det_sets",
        "Same or different speaker, set by set",
        "Detection of the same speaker by the similarity ratings of listeners, for every set.",
        _LISTENING,
        listening.det_by_set,
    ),
    Plot(
        "listening_machine",
        "Listeners against the ignorant attacker",
        "Metrics of the similarity ratings over those of the ignorant attacker. Squares are original speech. Both "
        "compare trials with original enrolment.",
        "a listening test and verification records of the ignorant attacker (stage 6)",
        listening.against_machine,
    ),
    Plot(
        "listening_linkability",
        "Voices placed by listeners",
        "Distances between voices that listeners placed on a board, in units of the mean distance of a board, and the "
        "mean of the board that most listeners judged.",
        "a listening test with boards (local/listening_test.py analyse)",
        listening.linkability,
    ),
    Plot(
        "training",
        "Training of the attackers",
        "Values of the training logs over the epochs. An attacker that has not converged overestimates privacy.",
        "a training log of an attacker (stage 4)",
        attacker_curves.attacker_training,
    ),
)


def plots(results: Results) -> list[Plot]:
    """The figures of some results: of many systems those of sets are one figure per set, called <name>-<set>."""
    found = []
    for plot in CATALOGUE:
        sets = dict.fromkeys(entry.record.set for entry in results.select(plot.by_set))
        several = len(results.anonymised) > drawing.FEW_SYSTEMS and sets
        found += [plot.of_set(name) for name in sets] if several else [plot]
    return found


def write_figures(results: Results, out: Path, edition: str, formats: Sequence[str] = drawing.FORMATS) -> int:
    """Draw all figures with data into directory `out`, and remove old files of the others."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs every glyph of a PDF
    wanted = plots(results)
    names = {plot.name for plot in (*CATALOGUE, *wanted)}
    names |= {path.stem for plot in CATALOGUE if plot.by_set for path in out.glob(f"{plot.name}-*.*")}
    claim(out, [f"{name}.{kind}" for name in sorted(names) for kind in drawing.FORMATS])
    count, omitted = 0, defaultdict[str, list[str]](list)
    for plot in wanted:
        figure = plot.draw(results, edition)
        if figure is None:
            omitted[plot.needs].append(plot.name)
            continue
        drawing.save(figure, out, plot.name, formats)
        names.remove(plot.name)
        count += 1
    for name in names:
        for kind in drawing.FORMATS:
            (out / f"{name}.{kind}").unlink(missing_ok=True)
    if omitted:
        needs = "; ".join(f"{', '.join(names)} need {what}" for what, names in omitted.items())
        logging.info("figures without data: %s", needs)
    if not count:
        raise InputError("the records hold nothing to plot", results.tables[0])
    return count
