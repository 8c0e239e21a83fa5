"""The design of a listening test: which listener hears what, and in which order.

Every listener hears every system, the original data among them, equally often: in M blocks that contain every system
once, in the order of a row of a Williams square (a Latin square in which every system also follows every other equally
often; Williams, Experimental designs balanced for the estimation of residual effects, 1949). Half of the M pages of a
system are same-speaker, half are different-speaker pairs. Sets and genders (cells) rotate: over as many listeners as
there are cells, every system meets every cell equally often with either kind of pair; within a listener their numbers
differ by at most one per kind.

No listener hears an utterance twice, original or anonymised; a sentence is repeated only where no other is left. All
systems use the trials of a cell in the same order, which takes the speakers in turn, so that systems are compared on
the same trials and speakers are balanced.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.listening.material import Cell, Clip, Material, Trial
from vpeval.records.names import ORIGINAL

Kind = Literal["volume", "quietest", "rating", "tones", "board", "comment"]
Shape = Literal["plane", "line"]
TONE_COUNTS = range(3, 10)
QUIETEST = range(1, 4)
_ATTEMPTS = 20


@dataclass(frozen=True)
class DesignOptions:
    """The sizes of a test.

    `per_system` pages of each system for every listener; `boards` placing tasks with `board_spks` speakers of
    `board_utts` utterances; `attention` counting tasks; `headphones` rounds of the headphone check; every trial of a
    system should be rated by about `ratings` listeners.
    """

    listeners: int
    per_system: int = 4
    ratings: int = 5
    boards: int = 2
    board_spks: int = 4
    board_utts: int = 3
    attention: int = 2
    headphones: int = 3
    shape: Shape = "plane"

    def check(self) -> None:
        """Refuse sizes that cannot be balanced."""
        if self.per_system < 2 or self.per_system % 2:
            raise InputError(
                f"--per-system {self.per_system}: give an even number (half same-speaker, half different-speaker pages)"
            )
        if self.boards and (self.board_spks < 2 or self.board_utts < 2):
            raise InputError(
                "--board-spks and --board-utts: a board requires at least two speakers with two utterances each"
            )


@dataclass(frozen=True)
class Page:
    """A page at one position of a session; `truth` is the correct answer of a check."""

    listener: int
    position: int
    kind: Kind
    system: str = ""
    set: str = ""
    gender: str = ""
    label: str = ""
    clips: tuple[Clip, ...] = ()
    spks: tuple[str, ...] = ()
    truth: int = 0


@dataclass(frozen=True)
class _Slot:
    """A page before its trial is chosen."""

    system: str
    cell: Cell
    is_target: bool


def draw_design(material: Material, options: DesignOptions, seed: int = 0) -> list[Page]:
    """All pages of all listeners, in order; deterministic for the same material, options and seed."""
    options.check()
    drawer = _Drawer(material, options, seed)
    return [page for listener in range(options.listeners) for page in drawer.session(listener)]


def williams(systems: int) -> list[list[int]]:
    """Rows of a Williams square of an even number of systems, or of the pair of squares of an odd one.

    >>> williams(4)
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    first = [0]
    for step in range(1, systems):
        first.append(step // 2 + 1 if step % 2 else systems - step // 2)
    rows = [[(start + offset) % systems for offset in first] for start in range(systems)]
    return rows if systems % 2 == 0 else rows + [row[::-1] for row in rows]


class _Drawer:
    def __init__(self, material: Material, options: DesignOptions, seed: int) -> None:
        self.material, self.options, self.seed = material, options, seed
        self.cells = material.cells
        self.rows = williams(len(material.systems))
        self.pools = {
            (cell, kind): _balanced_order([t for t in material.trials[cell] if t.is_target is kind], seed, cell)
            for cell in self.cells
            for kind in (True, False)
        }
        size = self._pool_size()
        self.queues = {
            (system, cell, kind): deque(pool[:size])
            for system in material.systems
            for (cell, kind), pool in self.pools.items()
        }
        self.enroll_uses: Counter[tuple[str, str]] = Counter()
        self.boards = {cell: self._board_variants(cell) for cell in self.cells} if options.boards else {}
        self.volume = self._volume_clip()

    def _pool_size(self) -> int:
        """How many trials of a cell and kind to use: enough for one listener, and for the wanted ratings of each."""
        pages = self.options.per_system / 2 / len(self.cells)
        one_listener = 3 * pages * len(self.material.systems) + 2
        return int(np.ceil(max(one_listener, self.options.listeners * pages / self.options.ratings)))

    def _volume_clip(self) -> Clip:
        """An enrolment utterance that is used for nothing else, of the speaker with the most utterances."""
        found = (
            (len(utts), spk, name) for name, spks in self.material.enroll_utts.items() for spk, utts in spks.items()
        )
        _, spk, name = max(found, key=lambda each: each[:2])
        return Clip(ORIGINAL, name, self.material.enroll_utts[name][spk][-1])

    def session(self, listener: int) -> list[Page]:
        boards, used = self._draw_boards(listener)
        pages = [Page(listener, 0, "volume", clips=(self.volume,))]
        rng = generator(self.seed, "checks", listener)
        for _ in range(self.options.headphones):
            answer = int(rng.choice(list(QUIETEST)))
            pages.append(Page(listener, 0, "quietest", clips=(Clip("", "", f"quietest-{answer}"),), truth=answer))
        ratings = self._draw_ratings(listener, used)
        # Not among the first two pages or the last one, where everybody is attentive.
        places = range(min(2, len(ratings)), max(min(2, len(ratings)) + 1, len(ratings) - 1))
        checks = sorted(
            int(i) for i in rng.choice(list(places), min(self.options.attention, len(places)), replace=False)
        )
        for shift, place in enumerate(checks):
            answer = int(rng.choice(list(TONE_COUNTS)))
            check = Page(listener, 0, "tones", clips=(Clip("", "", f"tones-{answer}"),), truth=answer)
            ratings.insert(place + shift, check)
        pages += [*ratings, *boards, Page(listener, 0, "comment")]
        return [replace(page, position=position) for position, page in enumerate(pages)]

    def _slots(self, listener: int) -> list[_Slot]:
        slots = []
        half = self.options.per_system // 2
        for block in range(self.options.per_system):
            for s in self.rows[(listener + block) % len(self.rows)]:
                different = (block + s + listener) % 2
                place = listener + s * half + block // 2 + different
                slots.append(_Slot(self.material.systems[s], self.cells[place % len(self.cells)], not different))
        return slots

    def _draw_ratings(self, listener: int, used: set[str]) -> list[Page]:
        slots = self._slots(listener)
        for attempt in range(_ATTEMPTS):
            # Every attempt assigns trials in another order; the order of the pages stays.
            order = (
                np.arange(len(slots))
                if not attempt
                else generator(self.seed, listener, attempt).permutation(len(slots))
            )
            found = self._assign([slots[i] for i in order], set(used))
            if found is None:
                continue
            pages: dict[int, Page] = {}
            for i, (trial, enroll_utt) in zip(order, found, strict=True):
                slot, cell = slots[i], slots[i].cell
                queue = self.queues[slot.system, cell, slot.is_target]
                if trial in queue:
                    queue.remove(trial)
                queue.append(trial)
                self.enroll_uses[cell.enrolls, enroll_utt] += 1
                clips = (Clip(slot.system, cell.trials, trial.utt), Clip(ORIGINAL, cell.enrolls, enroll_utt))
                label = "target" if slot.is_target else "nontarget"
                page = Page(
                    listener,
                    0,
                    "rating",
                    slot.system,
                    cell.trials,
                    cell.gender,
                    label,
                    clips,
                    (trial.spk, trial.enroll),
                )
                pages[int(i)] = page
            return [pages[i] for i in range(len(slots))]
        raise InputError(
            f"too few utterances for {len(slots)} pages without repeating one (listener {listener + 1}); "
            "lower --per-system, --boards or the number of systems, or add sets"
        )

    def _assign(self, slots: Sequence[_Slot], used: set[str]) -> list[tuple[Trial, str]] | None:
        """A trial and an enrolment utterance for every page, none used before; None if that is not possible."""
        used.add(self.volume.utt)
        sentences: set[str] = set()
        found = []
        for slot in slots:
            choice = self._choose(slot, used, sentences)
            if choice is None:
                return None
            trial, enroll_utt = choice
            used |= {trial.utt, enroll_utt}
            sentences.add(self.material.text.get(trial.utt, trial.utt))
            found.append(choice)
        return found

    def _choose(self, slot: _Slot, used: set[str], sentences: set[str]) -> tuple[Trial, str] | None:
        queue = self.queues[slot.system, slot.cell, slot.is_target]
        enroll_utts = self.material.enroll_utts[slot.cell.enrolls]
        repeated = None
        for trials in (queue, self.pools[slot.cell, slot.is_target]):
            for trial in trials:
                if trial.utt in used:
                    continue
                utts = [utt for utt in enroll_utts[trial.enroll] if utt not in used]
                if not utts:
                    continue
                utt = min(utts, key=lambda utt: (self.enroll_uses[slot.cell.enrolls, utt], utt))
                if self.material.text.get(trial.utt, trial.utt) not in sentences:
                    return trial, utt
                repeated = repeated or (trial, utt)
            if repeated:
                return repeated
        return None

    def _board_variants(self, cell: Cell) -> list[tuple[Trial, ...]]:
        """Boards that share no utterance, each with `board_utts` utterances of `board_spks` speakers."""
        options = self.options
        by_spk: dict[str, list[Trial]] = {}
        for trial in sorted(self.material.trials[cell], key=lambda trial: trial.utt):
            utts = by_spk.setdefault(trial.spk, [])
            if all(trial.utt != other.utt for other in utts):
                utts.append(trial)
        rng = generator(self.seed, "boards", cell)
        queues = {spk: [by_spk[spk][i] for i in rng.permutation(len(by_spk[spk]))] for spk in sorted(by_spk)}
        wanted = -(
            -options.listeners * options.boards // (len(self.material.systems) * len(self.cells) * options.ratings)
        )
        variants: list[tuple[Trial, ...]] = []
        while len(variants) < max(wanted, options.boards):
            able = [spk for spk, queue in queues.items() if len(queue) >= options.board_utts]
            if len(able) < options.board_spks:
                break
            # Speakers with the most utterances left first, so that none runs out early.
            chosen = sorted(rng.permutation(able).tolist(), key=lambda spk: -len(queues[spk]))[: options.board_spks]
            variants.append(tuple(queues[spk].pop() for spk in chosen for _ in range(options.board_utts)))
        if not variants:
            raise InputError(
                f"{cell.trials}: a board requires {options.board_spks} speakers with {options.board_utts} utterances; "
                "lower --board-spks or --board-utts, or give --boards 0"
            )
        return variants

    def _draw_boards(self, listener: int) -> tuple[list[Page], set[str]]:
        pages: list[Page] = []
        used: set[str] = set()
        systems = self.material.systems
        for i in range(self.options.boards):
            turn = listener * self.options.boards + i
            cell = self.cells[(turn // len(systems) + i) % len(self.cells)]
            round_ = turn // (len(systems) * len(self.cells))
            start = round_ % len(self.boards[cell])
            variants = self.boards[cell][start:] + self.boards[cell][:start]
            free = [variant for variant in variants if not used & {trial.utt for trial in variant}]
            if not free:
                raise InputError(
                    f"{cell.trials} has too few utterances for {self.options.boards} boards without repeating one; "
                    "lower --boards, --board-spks or --board-utts"
                )
            system = systems[turn % len(systems)]
            points = [free[0][k] for k in generator(self.seed, "points", listener, i).permutation(len(free[0]))]
            used |= {trial.utt for trial in points}
            clips = tuple(Clip(system, cell.trials, trial.utt) for trial in points)
            spks = tuple(trial.spk for trial in points)
            pages.append(Page(listener, 0, "board", system, cell.trials, cell.gender, "", clips, spks))
        return pages, used


def _balanced_order(trials: Sequence[Trial], seed: int, cell: Cell) -> list[Trial]:
    """The trials in a seeded order that takes the speakers of the utterances in turn, and enrolled speakers evenly."""
    rng = generator(seed, "trials", cell, trials[0].is_target)
    queues: dict[str, dict[str, list[Trial]]] = {}
    for i in rng.permutation(len(trials)):
        queues.setdefault(trials[i].spk, {}).setdefault(trials[i].enroll, []).append(trials[i])
    enroll_uses: Counter[str] = Counter()
    utt_uses: Counter[str] = Counter()
    order = []
    spks = rng.permutation(sorted(queues)).tolist()
    while queues:
        for spk in spks:
            if spk not in queues:
                continue
            enrolls = queues[spk]
            enroll = min(enrolls, key=lambda name: enroll_uses[name])
            # The least used utterance: all utterances of a speaker come before one is repeated.
            trial = min(enrolls[enroll], key=lambda trial: utt_uses[trial.utt])
            enrolls[enroll].remove(trial)
            enroll_uses[enroll] += 1
            utt_uses[trial.utt] += 1
            order.append(trial)
            if not enrolls[enroll]:
                del enrolls[enroll]
            if not enrolls:
                del queues[spk]
    return order
