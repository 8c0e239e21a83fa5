"""The draw of a listening test: who hears what, and in which order.

Every listener hears every system, the original data among them, equally often: in M blocks, each of which has every
system once, in the order of a row of a Williams square (a Latin square in which every system also follows every other
equally often; Williams, Experimental designs balanced for the estimation of residual effects, 1949). Half of the M
pages of a system are same-speaker, half are different-speaker pairs. Sets and genders (cells) go round: over as many
listeners as there are cells, every system meets every cell equally often with either kind of pair; within a listener
their numbers differ by at most one per kind.

No listener hears an utterance twice, in whatever rendering; a sentence is repeated only where no other is left. All
systems go through the trials of a cell in the same order, which takes the speakers in turn, so that systems are
compared on the same trials and no speaker dominates.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
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
class Plan:
    """The sizes of a test.

    `per_system` pages of each system for every listener; `boards` placing tasks with `board_spks` speakers of
    `board_utts` utterances; `attention` counting tasks; `headphones` rounds of the headphone check; every trial of a
    system is meant to be judged by about `ratings` listeners.
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
                f"--per-system {self.per_system}: give an even number, for as many same-speaker pages as others"
            )
        if self.boards and (self.board_spks < 2 or self.board_utts < 2):
            raise InputError("a board needs at least two speakers with two utterances each to have both kinds of pairs")


@dataclass(frozen=True)
class Page:
    """What a listener is shown at one position; `truth` is the right answer of a check."""

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
class _Ask:
    """A page before its trial is chosen."""

    system: str
    cell: Cell
    is_target: bool


def draw_design(material: Material, plan: Plan, seed: int = 0) -> list[Page]:
    """All pages of all listeners, in order; the same for the same material, plan and seed."""
    plan.check()
    return [page for session in _Drawer(material, plan, seed).sessions() for page in session]


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
    def __init__(self, material: Material, plan: Plan, seed: int) -> None:
        self.material, self.plan, self.seed = material, plan, seed
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
        self.boards = {cell: self._board_variants(cell) for cell in self.cells} if plan.boards else {}
        self.volume = self._volume_clip()

    def sessions(self) -> Iterator[list[Page]]:
        for listener in range(self.plan.listeners):
            yield self._session(listener)

    def _pool_size(self) -> int:
        """How many trials of a cell and kind are used: enough for one listener, and for the wanted ratings of each."""
        pages = self.plan.per_system / 2 / len(self.cells)
        one_listener = 3 * pages * len(self.material.systems) + 2
        return int(np.ceil(max(one_listener, self.plan.listeners * pages / self.plan.ratings)))

    def _volume_clip(self) -> Clip:
        """An enrolment utterance that serves nothing else: the speaker with the most can spare one."""
        spare = max(
            ((len(utts), spk, name) for name, spks in self.material.enroll_utts.items() for spk, utts in spks.items()),
            key=lambda found: (found[0], found[1]),
        )
        return Clip(ORIGINAL, spare[2], self.material.enroll_utts[spare[2]][spare[1]][-1])

    def _session(self, listener: int) -> list[Page]:
        boards, heard = self._draw_boards(listener)
        pages = [Page(listener, 0, "volume", clips=(self.volume,))]
        rng = generator(self.seed, "checks", listener)
        for _ in range(self.plan.headphones):
            answer = int(rng.choice(list(QUIETEST)))
            pages.append(Page(listener, 0, "quietest", clips=(Clip("", "", f"quietest-{answer}"),), truth=answer))
        ratings = self._draw_ratings(listener, heard)
        # Not among the first two or last pages, where anyone is attentive.
        places = range(min(2, len(ratings)), max(min(2, len(ratings)) + 1, len(ratings) - 1))
        checks = sorted(int(i) for i in rng.choice(list(places), min(self.plan.attention, len(places)), replace=False))
        for shift, place in enumerate(checks):
            answer = int(rng.choice(list(TONE_COUNTS)))
            check = Page(listener, 0, "tones", clips=(Clip("", "", f"tones-{answer}"),), truth=answer)
            ratings.insert(place + shift, check)
        pages += [*ratings, *boards, Page(listener, 0, "comment")]
        return [replace(page, position=position) for position, page in enumerate(pages)]

    def _asks(self, listener: int) -> list[_Ask]:
        asks = []
        half = self.plan.per_system // 2
        for block in range(self.plan.per_system):
            for s in self.rows[(listener + block) % len(self.rows)]:
                different = (block + s + listener) % 2
                place = listener + s * half + block // 2 + different
                asks.append(_Ask(self.material.systems[s], self.cells[place % len(self.cells)], not different))
        return asks

    def _draw_ratings(self, listener: int, heard: set[str]) -> list[Page]:
        asks = self._asks(listener)
        for attempt in range(_ATTEMPTS):
            # Scarce material is dealt out differently in every attempt; the order of the pages is not touched.
            order = (
                np.arange(len(asks)) if not attempt else generator(self.seed, listener, attempt).permutation(len(asks))
            )
            found = self._deal([asks[i] for i in order], set(heard))
            if found is None:
                continue
            pages: dict[int, Page] = {}
            for i, (trial, enroll_utt) in zip(order, found, strict=True):
                ask, cell = asks[i], asks[i].cell
                queue = self.queues[ask.system, cell, ask.is_target]
                if trial in queue:
                    queue.remove(trial)
                queue.append(trial)
                self.enroll_uses[cell.enrolls, enroll_utt] += 1
                clips = (Clip(ask.system, cell.trials, trial.utt), Clip(ORIGINAL, cell.enrolls, enroll_utt))
                label = "target" if ask.is_target else "nontarget"
                page = Page(
                    listener, 0, "rating", ask.system, cell.trials, cell.gender, label, clips, (trial.spk, trial.enroll)
                )
                pages[int(i)] = page
            return [pages[i] for i in range(len(asks))]
        raise InputError(
            f"there are too few utterances for {len(asks)} pages without hearing one twice (listener {listener + 1}); "
            "lower --per-system, --boards or the number of systems, or add sets"
        )

    def _deal(self, asks: Sequence[_Ask], heard: set[str]) -> list[tuple[Trial, str]] | None:
        """A trial and an enrolment utterance for every page, none heard before; None where that fails."""
        heard.add(self.volume.utt)
        sentences: set[str] = set()
        found = []
        for ask in asks:
            choice = self._choose(ask, heard, sentences)
            if choice is None:
                return None
            trial, enroll_utt = choice
            heard |= {trial.utt, enroll_utt}
            sentences.add(self.material.text.get(trial.utt, trial.utt))
            found.append(choice)
        return found

    def _choose(self, ask: _Ask, heard: set[str], sentences: set[str]) -> tuple[Trial, str] | None:
        queue = self.queues[ask.system, ask.cell, ask.is_target]
        enroll_utts = self.material.enroll_utts[ask.cell.enrolls]
        repeated = None
        for trials in (queue, self.pools[ask.cell, ask.is_target]):
            for trial in trials:
                if trial.utt in heard:
                    continue
                utts = [utt for utt in enroll_utts[trial.enroll] if utt not in heard]
                if not utts:
                    continue
                utt = min(utts, key=lambda utt: (self.enroll_uses[ask.cell.enrolls, utt], utt))
                if self.material.text.get(trial.utt, trial.utt) not in sentences:
                    return trial, utt
                repeated = repeated or (trial, utt)
            if repeated:
                return repeated
        return None

    def _board_variants(self, cell: Cell) -> list[tuple[Trial, ...]]:
        """Sets of points for a board that share no utterance, each of different speakers with as many utterances."""
        plan = self.plan
        spoken: dict[str, list[Trial]] = {}
        for trial in sorted(self.material.trials[cell], key=lambda trial: trial.utt):
            utts = spoken.setdefault(trial.spk, [])
            if all(trial.utt != other.utt for other in utts):
                utts.append(trial)
        rng = generator(self.seed, "boards", cell)
        queues = {spk: [spoken[spk][i] for i in rng.permutation(len(spoken[spk]))] for spk in sorted(spoken)}
        wanted = -(-plan.listeners * plan.boards // (len(self.material.systems) * len(self.cells) * plan.ratings))
        variants: list[tuple[Trial, ...]] = []
        while len(variants) < max(wanted, plan.boards):
            able = [spk for spk, queue in queues.items() if len(queue) >= plan.board_utts]
            if len(able) < plan.board_spks:
                break
            # Speakers with the most utterances left first, so that nobody is used up early.
            chosen = sorted(rng.permutation(able).tolist(), key=lambda spk: -len(queues[spk]))[: plan.board_spks]
            variants.append(tuple(queues[spk].pop() for spk in chosen for _ in range(plan.board_utts)))
        if not variants:
            raise InputError(
                f"{cell.trials} has not {plan.board_spks} speakers with {plan.board_utts} utterances for a board; "
                "lower --board-spks or --board-utts, or give --boards 0"
            )
        return variants

    def _draw_boards(self, listener: int) -> tuple[list[Page], set[str]]:
        pages: list[Page] = []
        heard: set[str] = set()
        systems = self.material.systems
        for i in range(self.plan.boards):
            turn = listener * self.plan.boards + i
            cell = self.cells[(turn // len(systems) + i) % len(self.cells)]
            round_ = turn // (len(systems) * len(self.cells))
            variants = self.boards[cell]
            free = [
                variants[(round_ + k) % len(variants)]
                for k in range(len(variants))
                if not heard & {trial.utt for trial in variants[(round_ + k) % len(variants)]}
            ]
            if not free:
                raise InputError(
                    f"{cell.trials} has too few utterances for {self.plan.boards} boards without hearing one twice; "
                    "lower --boards, --board-spks or --board-utts"
                )
            system = systems[turn % len(systems)]
            points = [free[0][k] for k in generator(self.seed, "points", listener, i).permutation(len(free[0]))]
            heard |= {trial.utt for trial in points}
            clips = tuple(Clip(system, cell.trials, trial.utt) for trial in points)
            spks = tuple(trial.spk for trial in points)
            pages.append(Page(listener, 0, "board", system, cell.trials, cell.gender, "", clips, spks))
        return pages, heard


def _balanced_order(trials: Sequence[Trial], seed: int, cell: Cell) -> list[Trial]:
    """The trials in a seeded order that takes the speakers of the utterances in turn, and enrolled speakers evenly."""
    rng = generator(seed, "trials", cell, trials[0].is_target)
    queues: dict[str, dict[str, list[Trial]]] = {}
    for i in rng.permutation(len(trials)):
        queues.setdefault(trials[i].spk, {}).setdefault(trials[i].enroll, []).append(trials[i])
    uses: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    order = []
    spks = rng.permutation(sorted(queues)).tolist()
    while queues:
        for spk in spks:
            if spk not in queues:
                continue
            enrolls: Mapping[str, list[Trial]] = queues[spk]
            enroll = min(enrolls, key=lambda name: uses[name])
            # The utterance that was tried least: a speaker's other utterances come before the same one again.
            trial = min(enrolls[enroll], key=lambda trial: tried[trial.utt])
            queues[spk][enroll].remove(trial)
            uses[enroll] += 1
            tried[trial.utt] += 1
            order.append(trial)
            if not queues[spk][enroll]:
                del queues[spk][enroll]
            if not queues[spk]:
                del queues[spk]
    return order
