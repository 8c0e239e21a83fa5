"""Every fault of tests/inject_cluster_faults.py: the batch ends by itself or by the same command, with the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.inject_cluster_faults import FAULTS, Fault, can_mount, run

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=fault.what, marks=() if fault.short else pytest.mark.nightly) for fault in FAULTS],
)
def test_a_batch_survives(fault: Fault, make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    if "cannot write" in fault.what and not can_mount():
        pytest.skip("needs the right to mount")
    run(fault, make_cluster(cpus=4), tmp_path)
