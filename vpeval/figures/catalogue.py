"""All figures in the order of a report, each with its title and caption."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from matplotlib.figure import Figure

from vpeval.core.errors import InputError, refuse_unknown
from vpeval.core.publish import claim
from vpeval.editions.base import editions
from vpeval.editions.headline import eer_of
from vpeval.figures import (
    attacker_curves,
    bars,
    drawing,
    legal_charts,
    listening,
    scatter,
    similarity_charts,
    speaker_charts,
)
from vpeval.figures.run_results import Results, load_results, of_sets
from vpeval.records.metrics import describe
from vpeval.records.names import set_title


@dataclass(frozen=True)
class Plot:
    """A figure: file name, title, caption, required data, and the function that draws it or returns None.

    A figure of the EER (`uses_eer`) shows one estimator: its function has the parameter `eer`, its caption a field
    ``{eer}``. A figure of the sets of a metric (`by_set`) has a panel for every set and system: of several systems,
    there is one figure per set (`plots`). `paper` names the figures of papers that it draws. The comparison of several
    systems shows those for `many`.
    """

    name: str
    title: str
    words: str
    needs: str
    function: Callable[..., Figure | None]
    uses_eer: bool = False
    strongest_only: bool = False
    by_set: str = ""
    paper: str = ""
    many: bool = True

    def caption(self, edition: str) -> str:
        """The caption, with the EER of the edition."""
        title = describe(eer_of(edition)).title
        words = self.words.format(eer=f"{title}, the EER of VoicePrivacy {edition},") if self.uses_eer else self.words
        return " ".join([words, *([_STRONGEST] * self.strongest_only), *([f"After: {self.paper}."] * bool(self.paper))])

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


_MATRICES = (
    "Similarity of all pairs of speakers, original and anonymised. A dark diagonal means that speakers are recognised. "
    "Between original and anonymised speech, it shows a lack of privacy; among anonymised voices, it shows that they "
    "are distinct."
)
_DISCLOSURE = "Similarity rank disclosure"
_RANKS = (
    "Histograms of the rank of the true speaker among N references, with two representations on top of each other. "
    "Numbers are the maximum and the mean disclosure. A flat histogram at 1/N discloses nothing. The grey band holds "
    "95 % of the ranks of as many inputs if nothing is disclosed. Original speech has an axis of its own."
)
_STRONGEST = "Of several attackers with the same attack model, the figure shows the strongest."
_SUPPLEMENT = "VoicePrivacy 2020 supplement"
_VERIFICATION = "verification records of an anonymised condition (stage 6)"
_MANY = "legal metrics (stage 8) of more than three systems"
_FRAMEWORK, _REPRODUCTION = "Legally validated evaluation framework", "Speaker-Linkability"
_LEGAL = (
    "Success of the attacks over the number of speakers N, with L utterances per test vector; a curve per attacker. "
    "Bands are 95 % intervals over speakers, of the strongest attacker of each attack model. In brackets: names of the "
    "legal framework."
)
_LISTENING = "a listening test (local/listening_test.py analyse)"
_BOARDS = "a listening test with boards (local/listening_test.py analyse)"
CATALOGUE = (
    Plot(
        "eer",
        "Equal error rate",
        "{eer} of every system on the test sets, by attack model. Whiskers are 95 % intervals over speakers. Higher is "
        "more private; chance is 50 %.",
        "verification records (stage 6)",
        bars.eer_bars,
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 1",
    ),
    Plot(
        "min_cllr",
        "Minimum log-likelihood-ratio cost",
        "Min Cllr of every system on the test sets, by attack model, with 95 % intervals over speakers. At 1 bit, "
        "scores hold no information.",
        "verification records (stage 6)",
        bars.min_cllr_bars,
        strongest_only=True,
        paper=f"{_SUPPLEMENT}, Figure 2",
    ),
    Plot(
        "eer_attacks",
        "EER of systems under the strongest attack",
        "{eer} of the systems that the strongest attack was made on, on the test sets. Bars of stronger attack models "
        "are darker and stand inside those of weaker ones; the lowest of a system counts. The line is original speech.",
        "verification records of two attack models and two systems (stage 6)",
        bars.attack_bars,
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 15",
    ),
    Plot(
        "eer_mean",
        "Mean EER by attack model",
        "{eer} as a mean over all sets, for female and male speakers. Circles are single sets. Darker bars are "
        "stronger attack models. The lowest bar of a system counts.",
        "verification records of an anonymised condition (stage 6)",
        bars.mean_bars,
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 16",
    ),
    Plot(
        "legal",
        "Singling out, linkability and 1 − EER",
        f"{_LEGAL} Rows: singling out, linkability and 1 − EER, of every system.",
        "legal metrics (stage 8) of at most three systems; those of more are in legal_<metric>",
        legal_charts.legal_curves,
        paper=f"{_FRAMEWORK}, Figure 1; {_REPRODUCTION}, linkability",
    ),
    Plot(
        "legal_singling_out",
        "Singling out of many systems",
        f"{_LEGAL} A row per system.",
        _MANY,
        legal_charts.singling_out_curves,
        paper=f"{_FRAMEWORK}, Figure 1",
    ),
    Plot(
        "legal_linkability",
        "Linkability of many systems",
        f"{_LEGAL} A row per system.",
        _MANY,
        legal_charts.linkability_curves,
        paper=f"{_FRAMEWORK}, Figure 1; {_REPRODUCTION}, linkability",
    ),
    Plot(
        "legal_one_minus_eer",
        "1 − EER of many systems",
        f"{_LEGAL} A row per system.",
        _MANY,
        legal_charts.eer_curves,
        paper=f"{_FRAMEWORK}, Figure 1",
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
        f"{_RANKS} The encoders of the speaker embeddings were trained on original speech.",
        "rank histograms of similarity rank disclosure (stage 9)",
        similarity_charts.rank_histograms,
        paper=f"{_DISCLOSURE}, Figures 1 and 2",
    ),
    Plot(
        "srd_features",
        "Ranks of the true speaker by features",
        f"{_RANKS} Inputs are compared by histograms of features, such as F0 and discrete units.",
        "rank histograms of an attacker with histograms, such as f0 or units (stage 9)",
        similarity_charts.feature_ranks,
        paper=f"{_DISCLOSURE}, Figure 3",
    ),
    Plot(
        "srd_trained",
        "Ranks of the true speaker by encoders trained on anonymised speech",
        f"{_RANKS} The encoders were trained on anonymised speech.",
        "rank histograms of an encoder trained on anonymised speech, such as small_scratch (stage 9)",
        similarity_charts.trained_ranks,
        paper=f"{_DISCLOSURE}, Figure 4",
    ),
    Plot(
        "linkability_speakers",
        "Linkability of single speakers",
        "Share of the speakers who are linked with at most some probability, a curve per attacker. Some speakers may "
        "always be linked, whatever the mean is.",
        "per-speaker values of linkability (stage 8)",
        speaker_charts.linkability_distributions,
        paper=f"{_REPRODUCTION}, per-speaker score distribution",
    ),
    Plot(
        "jaccard",
        "Do the same speakers stay easy or hard to link?",
        "Jaccard overlap (%) of the lists of the easiest and of the hardest quarter of the speakers, across numbers of "
        "utterances, attackers and systems: mean over all pairs of contexts that differ in nothing else. Lists that "
        "are mostly ties are left out, as where everybody is always linked.",
        "per-speaker values of linkability in two contexts with lists that are not mostly ties (stage 8)",
        speaker_charts.jaccard_matrices,
        paper=f"{_REPRODUCTION}, Jaccard similarities across anonymizers, attackers and L",
    ),
    Plot(
        "jaccard_mean",
        "Mean overlap of easy and hard speakers",
        "Mean Jaccard overlap of contexts that differ in one circumstance. Black marks show the overlap of random "
        "lists. Lists that are mostly ties are left out.",
        "per-speaker values of linkability in two contexts with lists that are not mostly ties (stage 8)",
        speaker_charts.mean_jaccard,
        paper=f"{_REPRODUCTION}, mean Jaccard",
    ),
    Plot(
        "zebra",
        "ZEBRA profiles",
        "Empirical cross-entropy of calibrated scores over the prior, a curve per attacker: the farther below "
        "the dotted line, the more is disclosed. In brackets: expected disclosure in bits, worst-case disclosure as "
        "log10 of the likelihood ratio, and its category (0, then A best to F worst).",
        "ECE curves of verification (stage 6)",
        attacker_curves.zebra_profiles,
        by_set="zebra_population",
        paper=f"{_SUPPLEMENT}, Figures 3 to 6",
        many=False,
    ),
    Plot(
        "dsys",
        "Score distributions and linkability D_sys",
        "Scores of same and different speakers, a panel per attacker. The step line is the local linkability D of a "
        "histogram. D_sys is its mean over the scores of same speakers, as in the challenges, and biased upwards; the "
        "calibrated estimator takes likelihood ratios of PAV calibration instead, and is 0 without information.",
        "scores (stage 6) and the trials of the data directories",
        attacker_curves.dsys_distributions,
        by_set="dsys",
        paper=f"{_SUPPLEMENT}, Figure 7",
        many=False,
    ),
    Plot(
        "det",
        "Detection error trade-off",
        "Misses over false alarms on normal-deviate axes, a curve per attacker and those of original speech. Curves "
        "closer to the upper right are more private. A curve crosses the dotted diagonal at its EER.",
        "DET curves of verification (stage 6)",
        attacker_curves.det_curves,
        by_set="eer_threshold",
        many=False,
    ),
    Plot(
        "similarity_matrices",
        "Voice similarity matrices",
        f"{_MATRICES} The encoder is the first of those trained on original speech.",
        "similarity matrices (stage 7)",
        similarity_charts.similarity_matrices,
        by_set="g_vd",
        paper=f"{_SUPPLEMENT}, Figures 8 to 11",
        many=False,
    ),
    Plot(
        "similarity_encoders",
        "Voice similarity matrices by several encoders",
        f"{_MATRICES} Those of encoders trained on anonymised speech stand below those of the others.",
        "similarity matrices of two encoders, such as ecapa and small_scratch (stage 7)",
        similarity_charts.similarity_encoders,
        by_set="g_vd",
        paper=f"{_SUPPLEMENT}, Figure 12",
        many=False,
    ),
    Plot(
        "g_vd",
        "Gain of voice distinctiveness",
        "Gain of voice distinctiveness of every system on the test sets, with 95 % intervals over speakers. At 0 dB, "
        "voices are as distinct as the original ones.",
        "similarity records (stage 7)",
        bars.gain_bars,
        paper=f"{_SUPPLEMENT}, Figure 13",
    ),
    Plot(
        "deid",
        "De-identification",
        "De-identification of every system on the test sets, with 95 % intervals over speakers. At 100 %, anonymised "
        "voices are no more similar to those of their speakers than to others.",
        "similarity records (stage 7)",
        bars.deid_bars,
        paper=f"{_SUPPLEMENT}, Figure 14",
    ),
    Plot(
        "eer_min_cllr",
        "EER and min Cllr",
        "{eer} and min Cllr against every attack model. A point per system and set. Both rise with privacy.",
        _VERIFICATION,
        scatter.attack_scatter(scatter.EER, "min_cllr"),
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 17",
    ),
    Plot(
        "dsys_min_cllr",
        "Linkability D_sys and min Cllr",
        "D_sys and min Cllr against every attack model. A point per system and set. D_sys falls with privacy.",
        _VERIFICATION,
        scatter.attack_scatter(scatter.DSYS, "min_cllr"),
        strongest_only=True,
        paper=f"{_SUPPLEMENT}, Figure 18",
    ),
    Plot(
        "eer_cllr",
        "EER and Cllr",
        "{eer} and Cllr against every attack model. A point per system and set. Cllr also rises with bad calibration.",
        _VERIFICATION,
        scatter.attack_scatter(scatter.EER, "cllr"),
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 19",
    ),
    Plot(
        "eer_dsys",
        "EER and linkability D_sys",
        "{eer} and D_sys against every attack model. A point per system and set.",
        _VERIFICATION,
        scatter.attack_scatter(scatter.EER, scatter.DSYS),
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 20",
    ),
    Plot(
        "zebra_population_min_cllr",
        "Expected disclosure and min Cllr",
        "ZEBRA's expected disclosure and min Cllr against every attack model. A point per system and set.",
        _VERIFICATION,
        scatter.attack_scatter("zebra_population", "min_cllr"),
        strongest_only=True,
        paper=f"{_SUPPLEMENT}, Figure 21",
    ),
    Plot(
        "zebra_individual_min_cllr",
        "Worst-case disclosure and min Cllr",
        "ZEBRA's worst-case disclosure and min Cllr against every attack model. A point per system and set.",
        _VERIFICATION,
        scatter.attack_scatter("zebra_individual", "min_cllr"),
        strongest_only=True,
        paper=f"{_SUPPLEMENT}, Figure 22",
    ),
    Plot(
        "deid_metrics",
        "De-identification and other metrics",
        "De-identification against the gain of voice distinctiveness, and against {eer} and min Cllr of the ignorant "
        "attacker. A point per system and set.",
        "similarity records, and verification records of the ignorant attacker (stages 6 and 7)",
        scatter.deid_scatter,
        strongest_only=True,
        uses_eer=True,
        paper=f"{_SUPPLEMENT}, Figure 23",
    ),
    Plot(
        "listening_violins",
        "Ratings of listeners",
        "Ratings of listeners as normalised ranks. Similarity is shown for pairs of the same and of different "
        "speakers. Numbers are means, bars medians; the dotted line is the median of the first system. Higher "
        "naturalness and intelligibility are more useful; lower similarity of the same speaker is more private.",
        _LISTENING,
        listening.violins,
        paper=f"{_SUPPLEMENT}, Figure 24",
    ),
    Plot(
        "listening_tests",
        "Significance of the differences between systems",
        "Two-sided Mann-Whitney U tests between systems, with p values as they are where there is room. A triangle "
        "tells whether the system of the row is rated higher or lower than that of the column. Blue cells are "
        "significant after Holm's correction for all tests of the listening test, pale blue ones only before it.",
        _LISTENING,
        listening.significance,
        paper=f"{_SUPPLEMENT}, Tables 16 and 17",
    ),
    Plot(
        "listening_det",
        "Detection error trade-off of listeners",
        "Listeners as detectors of original speech (by naturalness, intelligibility) and of the same speaker (by "
        "similarity). Same-speaker pairs of a system are held against different-speaker pairs of original speech, "
        "different-speaker pairs of a system against same-speaker pairs of original speech, and both kinds of pairs of "
        "a system against each other. Curves closer to the upper right are more natural, more intelligible, more "
        "private. A curve crosses the dotted diagonal at its EER.",
        _LISTENING,
        listening.det_curves,
        paper=f"{_SUPPLEMENT}, Figure 25",
    ),
    Plot(
        "listening_det_sets",
        "Detection error trade-off of listeners, set by set",
        "The same tasks for every set: original speech by naturalness and intelligibility, the same speaker by "
        "similarity.",
        _LISTENING,
        listening.det_by_set,
        paper=f"{_SUPPLEMENT}, Figure 26",
    ),
    Plot(
        "listening_machine",
        "Listeners against the ignorant attacker",
        "Metrics of the similarity ratings over those of the ignorant attacker, a point per set and gender. Stars are "
        "original speech. Both compare trials with original enrolment.",
        "a listening test and verification records of the ignorant attacker (stage 6)",
        listening.against_machine,
        paper=f"{_SUPPLEMENT}, Figures 27 to 30",
    ),
    Plot(
        "listening_linkability",
        "Voices placed by listeners",
        "Distances between voices that listeners placed on a board, in units of the mean distance of a board, and how "
        "many are put to others of their speaker by clustering, with 95 % intervals over listeners.",
        _BOARDS,
        listening.linkability,
    ),
    Plot(
        "listening_maps",
        "Maps of voices by listeners",
        "The mean of the board that most listeners judged, for every system. A colour is a speaker.",
        _BOARDS,
        listening.maps,
        many=False,
    ),
    Plot(
        "training",
        "Training of the attackers",
        "Values of the training logs over the epochs. An attacker that has not converged overestimates privacy.",
        "a training log of an attacker (stage 4)",
        attacker_curves.attacker_training,
        many=False,
    ),
)


def table() -> str:
    """All figures as the table of docs/figures.md."""
    lines = ["| file | figure | paper | needs |", "|---|---|---|---|"]
    for plot in CATALOGUE:
        name = f"{plot.name}, {plot.name}-<set>" if plot.by_set else plot.name
        lines.append(f"| `{name}` | {plot.title} | {plot.paper or '–'} | {plot.needs.replace('<', '&lt;')} |")
    return "".join(f"{line}\n" for line in lines)


def plots(results: Results) -> list[Plot]:
    """The figures of some results: of several systems those of sets are one figure per set, called <name>-<set>."""
    found = []
    for plot in CATALOGUE:
        sets = dict.fromkeys(entry.record.set for entry in results.select(plot.by_set) if entry.record.files)
        found += [plot.of_set(name) for name in sets] if sets and len(results.anonymised) > 1 else [plot]
    return found


def draw_figures(
    places: Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    edition: str = "2020",
    formats: Sequence[str] = drawing.FORMATS,
) -> int:
    """Draw all figures that run directories or tables have data for into directory `out`; returns how many.

    `edition` is the challenge whose EER is shown.
    """
    refuse_unknown("edition", edition, editions())
    for kind in formats:
        refuse_unknown("format", kind, drawing.FORMATS)
    return write_figures(load_results(list(map(Path, places))), Path(out), edition, formats)


def write_figures(
    results: Results, out: Path, edition: str, formats: Sequence[str] = drawing.FORMATS, many: bool = False
) -> int:
    """Draw all figures with data, or those for `many` systems, into directory `out`; remove old files of the others."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs every glyph of a PDF
    results = of_sets(results)
    wanted = [plot for plot in plots(results) if plot.many or not many]
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
