"""What sets must hold: Tables 1 to 6 of the VoicePrivacy 2020 evaluation plan, and Table 1 of the legal paper.

Speakers, utterances, target and nontarget trials, hours; enrolment, training and pool sets by gender.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

from vpeval.data.directory import DataDir
from vpeval.data.layout import GENDERS


@dataclass(frozen=True)
class Counts:
    """Speakers, utterances and trials of a set or of one gender of it; None: not counted."""

    speakers: int
    utts: int | None
    targets: int | None = None
    nontargets: int | None = None
    hours: float | None = None

    def cells(self) -> list[str]:
        """The numbers as cells of a table."""
        numbers = ["–" if n is None else f"{n:,}" for n in (self.speakers, self.utts, self.targets, self.nontargets)]
        return [*numbers, "–" if self.hours is None else f"{self.hours:,.{0 if self.hours >= 10 else 1}f}"]


@dataclass(frozen=True)
class Row:
    """A line of the comparison."""

    name: str
    gender: str
    expected: Counts
    found: Counts

    @property
    def agrees(self) -> bool:
        """Whether everything that is counted there is as expected; papers round hours, and decoders differ."""
        pairs = zip(_numbers(self.expected), _numbers(self.found), strict=True)
        counted = all(expected is None or expected == found for expected, found in pairs)
        hours, found = self.expected.hours, self.found.hours
        return counted and (hours is None or found is None or abs(found - hours) <= max(1, _HOURS * hours))

    @property
    def is_binding(self) -> bool:
        """Whether official lists must give these numbers; those of Common Voice depend on its version."""
        return not self.name.startswith("commonvoice_")


_HOURS = 0.01
"""By how much of the expected hours a set may differ."""

EXPECTED: dict[tuple[str, str], Counts] = {
    ("libri_dev_enrolls", "f"): Counts(15, 167),
    ("libri_dev_enrolls", "m"): Counts(14, 176),
    ("libri_dev_trials_f", "f"): Counts(20, 1018, 704, 14566),
    ("libri_dev_trials_m", "m"): Counts(20, 960, 644, 12796),
    ("libri_test_enrolls", "f"): Counts(16, 254),
    ("libri_test_enrolls", "m"): Counts(13, 184),
    ("libri_test_trials_f", "f"): Counts(20, 734, 548, 11196),
    ("libri_test_trials_m", "m"): Counts(20, 762, 449, 9457),
    ("vctk_dev_enrolls", "f"): Counts(15, 300),
    ("vctk_dev_enrolls", "m"): Counts(15, 300),
    ("vctk_dev_trials_f_common", "f"): Counts(15, 344, 344, 4810),
    ("vctk_dev_trials_m_common", "m"): Counts(15, 351, 351, 4911),
    ("vctk_dev_trials_f", "f"): Counts(15, 5422, 1781, 13219),
    ("vctk_dev_trials_m", "m"): Counts(15, 5255, 2015, 12985),
    ("vctk_test_enrolls", "f"): Counts(15, 300),
    ("vctk_test_enrolls", "m"): Counts(15, 300),
    ("vctk_test_trials_f_common", "f"): Counts(15, 346, 346, 4838),
    ("vctk_test_trials_m_common", "m"): Counts(15, 354, 354, 4952),
    ("vctk_test_trials_f", "f"): Counts(15, 5328, 1944, 13056),
    ("vctk_test_trials_m", "m"): Counts(15, 5420, 1742, 13258),
    ("train-clean-360", "f"): Counts(439, None),
    ("train-clean-360", "m"): Counts(482, None),
    ("train-clean-360", ""): Counts(921, 104014, hours=363.6),
    ("train-clean-100", "f"): Counts(125, None),
    ("train-clean-100", "m"): Counts(126, None),
    ("train-clean-100", ""): Counts(251, 28539, hours=100),
    ("train-other-500", "f"): Counts(564, None),
    ("train-other-500", "m"): Counts(602, None),
    ("train-other-500", ""): Counts(1166, 148688, hours=497),
    ("voxceleb", "f"): Counts(2912, None),
    ("voxceleb", "m"): Counts(4451, None),
    ("voxceleb", ""): Counts(7363, 1281762, hours=2794),
    ("libritts_train_clean_100", "f"): Counts(123, None),
    ("libritts_train_clean_100", "m"): Counts(124, None),
    ("libritts_train_clean_100", ""): Counts(247, 33236, hours=54),
    ("libritts_train_other_500", "f"): Counts(560, None),
    ("libritts_train_other_500", "m"): Counts(600, None),
    ("libritts_train_other_500", ""): Counts(1160, 205044, hours=310),
    ("commonvoice_a", "f"): Counts(5601, None),
    ("commonvoice_a", "m"): Counts(16423, None),
    ("commonvoice_a", ""): Counts(22024, 234945, hours=323),
    ("commonvoice_b", "f"): Counts(1354, None),
    ("commonvoice_b", "m"): Counts(3595, None),
    ("commonvoice_b", ""): Counts(4949, 996971, hours=1409),
}
"""By set and gender; the empty gender is both together."""


def compare(data: DataDir, name: str | None = None) -> list[Row]:
    """The lines of the plan about a set, with what the set holds; none where the plan says nothing."""
    name = name or data.name
    return [
        Row(name, gender, EXPECTED[name, gender], count(data, gender))
        for gender in ("", *GENDERS)
        if (name, gender) in EXPECTED
    ]


def count(data: DataDir, gender: str = "") -> Counts:
    """Count one gender of a set, or all of it."""
    genders = data.spk_tables.get("spk2gender", {})
    speakers = {spk for spk in data.speakers if not gender or genders.get(spk) == gender}
    utts = sum(spk in speakers for spk in data.utt2spk.values())
    hours = None
    if "utt2dur" in data.utt_tables:
        hours = sum(seconds for utt, seconds in data.utt2dur.items() if data.utt2spk[utt] in speakers) / 3600
    if data.trials is None:
        return Counts(len(speakers), utts, hours=hours)
    labels = Counter(label for _, utt, label in data.trials if data.utt2spk[utt] in speakers)
    return Counts(len(speakers), utts, labels["target"], labels["nontarget"], hours)


def render(rows: Iterable[Row]) -> str:
    """The table of expected and found numbers; where they differ, the line ends with a mark.

    What none of the sets is expected to have a number of has no column.
    """
    rows = list(rows)
    expected = list(zip(*(row.expected.cells() for row in rows), strict=True))
    shown = [any(cell != "–" for cell in column) for column in expected]
    names = compress(("speakers", "utts", "target", "nontarget", "hours"), shown)
    head = ["set", "gender", *(word for name in names for word in (name, "found")), ""]
    body = []
    for row in rows:
        pairs = compress(zip(row.expected.cells(), row.found.cells(), strict=True), shown)
        mark = "" if row.agrees else "differs"
        body.append([row.name, row.gender or "f+m", *(cell for pair in pairs for cell in pair), mark])
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    lines = []
    for line in (head, *body):
        cells = [
            cell.ljust(width) if i < 2 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _numbers(counts: Counts) -> tuple[int | None, ...]:
    return counts.speakers, counts.utts, counts.targets, counts.nontargets
