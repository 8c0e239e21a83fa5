"""Similarity rank disclosure on embeddings: how high the true speaker ranks among references.

Every utterance of the input directory is an input; a speaker's reference is the mean over the speaker's utterances in
the reference directory, vectors as they are: neither is scaled to length one before. The vectors may be speaker
embeddings (cosine) or normalised histograms of F0 or of discrete units (Euclidean). Attackers with a PLDA back end that
was trained for them rank by its log-likelihood ratios, under their own names: so every run with such a back end also
has the ranks of an attacker who was trained on anonymised speech.

An input is an utterance, or for histograms a stretch of speech as in the paper (`vpeval.embeddings.symbols`).

Which speech: Chandra et al. use the enrolment and trial utterances of the test partition, pooled and split again into
references and inputs; ``run.sh --srd-sets test`` does so, and by default all sets of a recipe are pooled. The rank of
every input is kept next to the records (``<stem>.inputs.npz``), to compare two systems on the same speakers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vpeval.asv.backend import Comparison, Cosine, read_comparison
from vpeval.core.errors import InputError, TooFew
from vpeval.core.files import atomic_path
from vpeval.data.layout import first_few
from vpeval.embeddings.speaker_vectors import Embeddings, read_embeddings, read_pooled, split
from vpeval.embeddings.symbols import read_symbols, split_stretches
from vpeval.measures.base import RECORDS, AttackResult, Input, Measure, Resampling, Scorer, Scores, SpeakerValue, option
from vpeval.metrics.intervals import NO_INTERVAL
from vpeval.metrics.ranks import Ranks, Ties, count_rivals
from vpeval.metrics.srd import Disclosure, Estimator, disclosure, floor, intervals
from vpeval.metrics.vectors import Similarity
from vpeval.records.metrics import BITS, KEY, LINKABILITY, SHARE, SRD, SUMMARY, Metric, Success
from vpeval.records.record import Record

if TYPE_CHECKING:
    from vpeval.plan.plan import Plan

METRICS = (
    Metric(
        "srd_max", "SRD max. disclosure", "The bits that the most telling rank discloses.", "MaxD", **BITS, group=SRD
    ),
    Metric("srd_mean", "SRD mean disclosure", "The bits that a rank discloses on average.", "MeanD", **BITS, group=SRD),
    Metric(
        "srd_idr",
        "SRD identification rate",
        "How often the true speaker has the first rank.",
        r"IdR, \%",
        **{**SHARE, "digits": 2},
        group=SRD,
        range=(0.0, 1.0),
        shown=(KEY, SUMMARY),
        criterion=LINKABILITY,
        success=Success("Identified", "ranks the right one of {N} speakers first"),
        key_place=5,
    ),
    Metric(
        "srd_rank_spread",
        "SRD rank spread",
        "The share of the ranks that the true speaker has more often than by chance.",
        r"RS, \%",
        **{**SHARE, "better": +1},
        group=SRD,
        range=(0.0, 1.0),
    ),
)
log = logging.getLogger(__name__)
DISCLOSURES = {"srd_max": "max_d", "srd_mean": "mean_d", "srd_idr": "idr", "srd_rank_spread": "rank_spread"}
"""The metrics, by the fields of `vpeval.metrics.srd.Disclosure`."""
_ESTIMATORS: tuple[Estimator, ...] = ("empirical", "beta-binomial")
LLR = "llr"
"""The similarity by the log-likelihood ratios of a back end."""


@dataclass(frozen=True)
class RankedInputs:
    """Ranks, and the names of the speakers whom they number."""

    ranks: Ranks
    speakers: tuple[str, ...]

    def write(self, path: str | PathLike[str]) -> None:
        """Write npz, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file,
                first=self.ranks.first.astype(np.int32),
                last=self.ranks.last.astype(np.int32),
                owner=self.ranks.owner.astype(np.int32),
                references=np.array(self.ranks.n_references),
                speakers=np.array(self.speakers, dtype=str),
            )

    @classmethod
    def read(cls, path: str | PathLike[str]) -> RankedInputs:
        """Read what `write` wrote."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                first, last, owner = (stored[name].astype(np.int64) for name in ("first", "last", "owner"))
                references, speakers = int(stored["references"]), tuple(stored["speakers"].tolist())
        except FileNotFoundError:
            raise InputError("is missing, though the table names it; run the scorer again", path) from None
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(f"holds no ranks ({error}); run the scorer again", path) from None
        return cls(Ranks(first, last, owner, len(speakers), references), speakers)


@dataclass(frozen=True)
class Options(Resampling):
    """How vectors are compared, and what ties count."""

    similarity: Similarity = option("cosine", "of embeddings, or of histograms", choices=("cosine", "euclidean"))
    ties: Ties = option("mid", "spread over the tied ranks, or take the last", choices=("mid", "strict"))


def score_srd(
    references: Embeddings, inputs: Embeddings, options: Options, backend: Comparison | None = None
) -> Scores:
    """MaxD, MeanD, IdR and RS, empirical and beta-binomial; references without inputs are distractors.

    Vectors are compared by a back end where there is one, else as the options say.
    """
    comparison = backend or Cosine(options.similarity)
    similarity, ties = LLR if backend else options.similarity, options.ties
    place = references.find(inputs)
    n = len(references.speakers)
    if n < 2:
        raise TooFew("similarity ranks need at least two reference speakers", references.directory / "utt2spk")
    known, heard = comparison.enroll(references, np.arange(n)), comparison.test(inputs.vectors)
    rivals = count_rivals(known, heard, place[inputs.owners], comparison.similarity)
    ranks = Ranks.from_rivals(rivals, inputs.owners, len(inputs.speakers), n, ties)

    params = {"N": n, "L": 1, "similarity": similarity, "ties": ties}
    counts = {"inputs": len(inputs.utts), "input_speakers": len(inputs.speakers), "reference_speakers": n}
    records = [
        record
        for estimator in _ESTIMATORS
        for record in _records(ranks, estimator, {**params, "estimator": estimator}, counts, options)
    ]
    per_speaker = [
        SpeakerValue(metric, speaker, n, "1", value)
        for metric, values in (("srd_idr", ranks.identified), ("srd_rank", ranks.means))
        for speaker, value in zip(inputs.speakers, values.tolist(), strict=True)
    ]
    histogram = ranks.histograms(np.ones((1, ranks.n_speakers)))[0].tolist()
    return Scores(records, per_speaker, histogram, RankedInputs(ranks, tuple(inputs.speakers)))


def split_pool(pooled: Embeddings, n_inputs: int, seed: int) -> tuple[Embeddings, Embeddings]:
    """References and inputs, disjoint in utterances; speakers with too few utterances for both are left out."""
    halves = split(pooled, n_inputs, seed)
    kept = len(pooled.speakers) - len(halves.left_out)
    if kept < 2:
        most = int(sorted(pooled.counts)[-2]) - 1 if len(pooled.speakers) > 1 else 0
        lack = f"fewer than two speakers have more than {n_inputs} utterances, as many as inputs are asked for"
        remedy = f"try {most} (--srd-inputs of run.sh)" if most else "rank disclosure cannot be measured"
        raise TooFew(f"{lack}; {remedy}", pooled.directory)
    log.info("%d inputs of %d speakers; %d speakers left out", len(halves.inputs), kept, len(halves.left_out))
    return pooled.select(halves.references), pooled.select(halves.inputs)


def split_sets(directories: Sequence[Path], n_inputs: int, seed: int, unit: str = "") -> tuple[Embeddings, Embeddings]:
    """References and inputs of pooled embedding directories: utterances, or stretches of speech."""
    pooled = read_pooled(tuple(directories))
    if not unit:
        return split_pool(pooled, n_inputs, seed)
    references, inputs, left_out = split_stretches(pooled, read_symbols(directories), unit, n_inputs, seed)
    if left_out:
        log.warning(
            "warning: %d speakers have less than %s of speech in %d utterances and are left out (%s)",
            *(len(left_out), unit, n_inputs, first_few(left_out)),
        )
    return references, inputs


def _records(
    ranks: Ranks,
    estimator: Estimator,
    params: dict[str, object],
    counts: dict[str, int],
    options: Options,
) -> list[Record]:
    n, resamples, seed = ranks.n_references, options.resamples, options.seed
    value = disclosure(ranks.histograms(np.ones((1, ranks.n_speakers))), estimator)
    ends = intervals(ranks, estimator, resamples, seed) if resamples else {}
    null: Disclosure = floor(counts["inputs"], n, estimator, seed=seed)
    chance = {"srd_idr": 1 / n}
    records = []
    for metric, field in DISCLOSURES.items():
        nothing = getattr(null, field)
        notes = {
            "chance": chance.get(metric, 0.0),
            "floor": float(nothing.mean()),
            "floor_95": float(np.quantile(nothing, 0.95)),
        }
        record = Record(metric, float(getattr(value, field)[0]), params=params, counts=counts, notes=notes)
        records.append(record.with_interval(ends.get(field, NO_INTERVAL)))
    return records


def _score_files(inputs: Mapping[str, Any], options: Options, out: Path) -> Scores:
    references, heard = (read_embeddings(inputs[name]) for name in ("reference_dir", "input_dir"))
    return score_srd(references, heard, options, _backend(inputs["backend"]))


def _backend(path: str | Path | None) -> Comparison | None:
    return read_comparison(str(path)) if path else None


SCORER = Scorer(
    (
        Input("--backend", "compare by the LLRs of this PLDA back end, whatever --similarity says", "NPZ"),
        Input("reference-dir"),
        Input("input-dir"),
    ),
    Options,
    _score_files,
    takes_params=True,
)


@dataclass(frozen=True)
class DisclosureResult(AttackResult):
    """One encoder by its embeddings alone, whatever back ends use them; or one back end by its scores."""

    stage = 9

    @property
    def out(self) -> Path:
        """One directory for each encoder or back end and condition."""
        return self.directory("srd")

    @property
    def tags(self) -> dict[str, str]:
        """Of the sets that are ranked."""
        return {**super().tags, "set": self.plan.srd_label}

    @property
    def backend(self) -> Path | None:
        """The back end that was trained for the attacker; one that comes with an encoder is left aside."""
        return self.attack.backend if self.attack.attacker.trains_backend else None

    @property
    def sets(self) -> tuple[Path, ...]:
        """The sets whose utterances become references and inputs."""
        return tuple(self.attack.attacked(name) for name in self.plan.srd_sets)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The sets, and the back end."""
        return (*self.sets, *([self.backend] if self.backend else []))

    @property
    def options(self) -> Mapping[str, object]:
        """Inputs of every speaker, and how vectors are compared."""
        similarity = LLR if self.backend else self.attack.attacker.similarity
        return {"inputs": self.plan.srd_inputs, "similarity": similarity, **self.notes}

    @property
    def unit(self) -> str:
        """What an input is; a back end compares utterances."""
        return "" if self.backend else self.plan.srd_unit(self.attack.attacker)

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack, what of speech its encoder represents, and what the scores of a back end are."""
        names = {name: value for name, value in self.attack.notes.items() if name != "scoring" or self.backend}
        unit = {"input": self.unit} if self.unit else {}
        return {**names, "representation": self.attack.attacker.representation, **unit}

    def make(self, out: Path) -> str:
        """Rank every input among the references."""
        drawn = self.resampling
        options = Options(drawn.resamples, drawn.seed, self.attack.attacker.similarity)
        references, inputs = split_sets(self.sets, self.plan.srd_inputs, drawn.seed, self.unit)
        scores = score_srd(references, inputs, options, _backend(self.backend))
        scores.write(out / RECORDS, self.tags, notes=self.notes)
        return f"{len(scores.records)} numbers"

    def commands(self) -> list[list[str]]:
        """Split the pooled utterances, then rank."""
        references, inputs = (str(self.out / name) for name in ("references", "inputs"))
        split = ["local/split_embeddings.py", "--n-inputs", str(self.plan.srd_inputs)]
        split += ["--unit", self.unit] if self.unit else []
        split += ["--seed", str(self.resampling.seed), *map(str, self.sets), references, inputs]
        compared = ["--backend", str(self.backend)] if self.backend else []
        compared = compared or ["--similarity", self.attack.attacker.similarity]
        words = [*compared, *self.tag_words(), *self.param_words()]
        return [split, ["local/score_srd.py", *words, references, inputs, str(self.out / RECORDS)]]


def _results(plan: Plan) -> list[DisclosureResult]:
    trained = [attack for attack in plan.single_attacks if attack.attacker.keeps_encoder]
    attacks = (*plan.encoder_attacks, *trained)
    return [DisclosureResult(plan, attack) for attack in attacks if attack.condition in ("oo", "aa")]


MEASURE = Measure("disclosure", 9, _results)
