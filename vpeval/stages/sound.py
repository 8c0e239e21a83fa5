"""Stage 10, melody and quality: how speech sounds beside its original."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Plan
from vpeval.stages.piece import RECORDS, RESAMPLES, gender_of


@dataclass(frozen=True)
class Pitch:
    """Pitch correlation of one trial set."""

    plan: Plan
    name: str

    @property
    def tracks(self) -> Step:
        """The F0 of the original speech, which all systems are compared with."""
        out = self.plan.exp / "f0" / self.name
        return Step(10, out, ("tracks.npz",), (self.plan.original(self.name),), {}, ("vpeval.audio.f0",))

    @property
    def step(self) -> Step:
        """Its records."""
        data = self.plan.original(self.name), self.plan.anonymised(self.name)
        return Step(
            stage=10,
            out=self.plan.run / f"pitch-{self.name}",
            files=(RECORDS,),
            inputs=(*data, self.tracks.out / "tracks.npz"),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **_tags(self.plan, self.name)},
            code=("vpeval.protocols.pitch", "vpeval.audio.f0"),
        )

    def track(self, out: Path) -> str:
        """Track the original speech."""
        from vpeval.audio.f0 import track_all, write_tracks
        from vpeval.data.directory import DataDir

        data = DataDir.load(self.plan.original(self.name))
        write_tracks(out / "tracks.npz", track_all(data.wav, self.plan.settings.nj))
        return f"F0 of {len(data.utts)} utterances"

    def make(self, out: Path) -> str:
        """Track the anonymised speech and correlate."""
        from vpeval.anon.anonymised_set import read_missing
        from vpeval.audio.f0 import read_tracks, track_all
        from vpeval.data.directory import DataDir
        from vpeval.protocols.pitch import refuse_other_utterances, score_pitch
        from vpeval.records.record import write_records

        original, anonymised = (DataDir.load(path) for path in self.step.inputs[:2])
        if read_missing(anonymised.path).utts:
            original = original.subset(anonymised.utts)
        refuse_other_utterances(original, anonymised)
        before = read_tracks(self.tracks.out / "tracks.npz")
        after = track_all(anonymised.wav, self.plan.settings.nj)
        records = score_pitch(original, anonymised, before, after, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(_tags(self.plan, self.name)) for record in records])
        return f"Pitch_correlation: mean={records[0].value:.4f} std={records[0].notes['std']:.4f}"


@dataclass(frozen=True)
class Quality:
    """DNSMOS and STOI of one trial set."""

    plan: Plan
    name: str

    @property
    def step(self) -> Step:
        """Its records."""
        return Step(
            stage=10,
            out=self.plan.run / f"quality-{self.name}",
            files=(RECORDS,),
            inputs=(self.plan.original(self.name), self.plan.anonymised(self.name)),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags},
            code=("vpeval.protocols.quality",),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        return {**_tags(self.plan, self.name), "condition": "a"}

    def make(self, out: Path) -> str:
        """Measure utterance by utterance."""
        from vpeval.data.directory import DataDir
        from vpeval.protocols.quality import score_quality
        from vpeval.records.record import write_records

        original, anonymised = (DataDir.load(path) for path in self.step.inputs)
        records = score_quality(anonymised, original, 0, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        shown = " ".join(f"{record.metric} {record.value:.3f}" for record in records)
        return shown or "no measure of quality is available"


def _tags(plan: Plan, name: str) -> dict[str, str]:
    gender = gender_of(plan.original(name))
    return {"recipe": plan.recipe.recipe, "system": plan.system, "set": name, "gender": gender}
