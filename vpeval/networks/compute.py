"""torch: on which device and with how many threads it computes, repeatably where possible, and weights in files.

Files of weights are read as tensors only: code in them is never run.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import torch

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path

T = TypeVar("T")


def device() -> torch.device:
    """The GPU if there is one; of several processes that torchrun started here, each has its own.

    Without the number SpeechBrain's Brain would take the first GPU in every process.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    rank = os.environ.get("LOCAL_RANK")
    if rank is None:
        return torch.device("cuda")
    if int(rank) >= torch.cuda.device_count():
        raise InputError(
            f"process {rank} on this machine has no GPU of its own, as {torch.cuda.device_count()} are visible; start "
            "one process for each (--num-processes and --num-gpus of steps/train_asv.sh)"
        )
    return torch.device("cuda", int(rank))


def set_up(threads: int = 1) -> None:
    """Take a number of threads and, on the CPU, only operations that give the same bytes every time.

    GPUs have no such version of some operations that training needs (CTC, for one), so they are not required there.
    """
    torch.set_num_threads(threads)
    # use_deterministic_algorithms() does the same, but imports torch's compiler: more than a second in every job.
    torch.set_deterministic_debug_mode("error" if device().type == "cpu" else "default")


def load_weights(network: torch.nn.Module, path: Path) -> None:
    """Fill a network; anything but tensors that fit it is an InputError, and no code in the file is ever run."""
    fill(network, load_state(path), path)


def fill(network: torch.nn.Module, state: Any, path: Path) -> None:
    """Fill a network with tensors that were read from `path`; those of another network are an InputError."""
    try:
        network.load_state_dict(state)
    except (RuntimeError, AttributeError, TypeError, KeyError) as error:
        reason = str(error).strip().splitlines()[-1].strip() if str(error) else type(error).__name__
        raise InputError(f"does not fit the network of its configuration ({reason})", path) from None


def load_state(path: Path) -> dict[str, Any]:
    """The tensors of a file by name; anything else in it is an InputError."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError("no such file of weights; put it there, or train the encoder", path) from None
    except pickle.UnpicklingError:
        raise InputError("holds more than weights and was not loaded; use a file of tensors only", path) from None
    except (RuntimeError, EOFError, AttributeError, TypeError, KeyError, ValueError) as error:
        reason = str(error).strip().splitlines()[-1].strip() if str(error) else type(error).__name__
        raise InputError(f"is no file of weights ({reason})", path) from None
    if not isinstance(state, dict):
        raise InputError(f"holds a {type(state).__name__} instead of weights by name", path)
    return state


def read_size(kind: type[T], state: dict[str, Any], path: Path) -> T:
    """The size of a network, which is stored with its weights as a dataclass of whole numbers or lists of them."""
    size = state.get("size")
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass
    if not isinstance(size, dict) or set(size) != names or not all(map(_is_size, size.values())):
        raise InputError("does not say the size of its network; train it again", path)
    return kind(**size)


def _is_size(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_size, value))
    return isinstance(value, int) and value > 0


def save_weights(network: torch.nn.Module, path: Path) -> None:
    """Write the weights of a network, atomically."""
    with atomic_path(path) as temporary:
        torch.save({name: tensor.cpu() for name, tensor in network.state_dict().items()}, temporary)
