"""Lists of sizes such as ``20,100,all``, as the scorers take them on the command line."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.embeddings.speaker_vectors import Embeddings


@dataclass(frozen=True)
class Sizes:
    """Sizes to evaluate; `chosen` says that the participant asked for them, so that none may be dropped silently."""

    option: str
    numbers: tuple[int, ...]
    everything: bool
    chosen: bool

    def up_to(self, limit: int, what: str) -> list[int]:
        """The sizes that fit into `limit`, ascending, ``all`` being `limit`; a chosen one that does not is an error."""
        too_large = [n for n in self.numbers if n > limit]
        if too_large and self.chosen:
            raise InputError(f"{self.option} {too_large[0]}: there are only {limit} {what}; ask for at most {limit}")
        fitting = {n for n in self.numbers if n <= limit}
        return sorted(fitting | {limit} if self.everything or not self.chosen else fitting)


def parse_sizes(option: str, given: str | None, default: str, least: int = 1, has_all: bool = True) -> Sizes:
    """Parse the value of `option` (None: not given, so `default` holds); `has_all` says that ``all`` is a size.

    >>> parse_sizes("--n-enroll", None, "20,100,all").up_to(50, "enrolment speakers")
    [20, 50]
    """
    items = (default if given is None else given).split(",")
    for item in items:
        number = item.isascii() and item.isdigit() and int(item) >= least
        if not number and not (has_all and item == "all"):
            wanted = f"a whole number of at least {least}" + (" or 'all'" if has_all else "")
            shown = default if given is None else given
            raise InputError(f"{option} {shown}: '{item}' is not {wanted}; separate several by commas")
    numbers = sorted({int(item) for item in items if item != "all"})
    return Sizes(option, tuple(numbers), "all" in items, given is not None)


@dataclass(frozen=True)
class Conversation:
    """A number L of utterances per vector (None: all of a speaker) and the speakers who have enough of them."""

    n_utts: int | None
    who: Counts


def conversations(
    sizes: Sizes, test: Embeddings, among: Counts, vectors: int = 1, speakers: int = 1
) -> list[Conversation]:
    """For every L in `sizes` the speakers `among` all with utterances for `vectors` vectors.

    A chosen L for which there are less than `speakers` is an error; one of the default list is left out with a notice.
    """
    found = []
    for n_utts in sizes.numbers:
        who = among[test.counts[among] >= vectors * n_utts]
        if len(who) >= speakers:
            found.append(Conversation(n_utts, who))
            continue
        lack = f"L = {n_utts} needs {speakers} speaker(s) with {vectors * n_utts} utterances, but there are {len(who)}"
        if sizes.chosen:
            raise InputError(f"{lack}; choose a smaller number for {sizes.option}", test.directory)
        logging.info("%s: %s; it is left out", test.directory, lack)
    if sizes.everything:
        found.append(Conversation(None, among))
    if not found:
        raise InputError(f"too few utterances for any L; give a smaller number to {sizes.option}", test.directory)
    return found
