"""How torch computes here: on which device, with how many threads, and repeatably wherever that is possible."""

from __future__ import annotations

import torch


def device() -> torch.device:
    """The GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_up(threads: int = 1) -> None:
    """Take a number of threads and, on the CPU, only operations that give the same bytes every time.

    GPUs have no such version of some operations that training needs (CTC, for one), so there they are not asked for.
    """
    torch.set_num_threads(threads)
    # use_deterministic_algorithms() does the same, but imports torch's compiler: more than a second in every job.
    torch.set_deterministic_debug_mode("error" if device().type == "cpu" else "default")
