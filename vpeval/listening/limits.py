"""How often somebody may ask: a token bucket for everyone who comes, kept in memory only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

_MOST = 100_000


@dataclass
class RateLimit:
    """At most `rate` requests a second on average, and `burst` at once; a rate of 0 is no limit.

    >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
    >>> [limit.wait("somebody") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, who: str) -> float:
        """Seconds until `who` may come again; 0: now, and this visit counts."""
        if not self.rate:
            return 0.0
        now = self.clock()
        left, then = self._buckets.pop(who, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.rate)
        allowed = left >= 1
        self._buckets[who] = (left - allowed, now)
        if len(self._buckets) > _MOST:
            # Those who have not come for longest stand first.
            del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else (1 - left) / self.rate
