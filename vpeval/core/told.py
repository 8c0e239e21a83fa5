"""How the library says that there was nothing to do: scripts make one line of all of it."""

from __future__ import annotations

import logging


def skipped(log: logging.Logger, count: int, what: str) -> None:
    """So many `what` (a word in the plural) are up to date."""
    if count:
        log.info("%d %s up to date, skipped", count, what, extra={"skipped": (what, count)})


class Skipped(logging.Filter):
    """Collects these messages, for one line at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Let everything else pass."""
        found = getattr(record, "skipped", None)
        if found is None:
            return True
        what, count = found
        self._counts[what] = self._counts.get(what, 0) + count
        return False

    def line(self) -> str:
        """All in one line; nothing where nothing was skipped."""
        counts = ", ".join(f"{count} {what}" for what, count in self._counts.items())
        return f"{counts} up to date, skipped" if counts else ""
