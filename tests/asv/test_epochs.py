import pytest

from vpeval.asv.epochs import add_epoch, read_epochs
from vpeval.core.errors import InputError


def test_an_epoch_takes_the_place_of_what_an_interrupted_training_left(tmp_path):
    for epoch, loss in ((1, 3.0), (2, 2.5), (3, 2.0), (2, 1.5)):
        add_epoch(tmp_path / "log", {"epoch": epoch, "loss": loss})
    assert read_epochs(tmp_path / "log") == [{"epoch": 1, "loss": 3.0}, {"epoch": 2, "loss": 1.5}]


def test_epochs_are_read_with_all_their_numbers(tmp_path):
    (tmp_path / "log").write_text('{"epoch": 1, "loss": 2.5, "name": "x"}\n{"epoch": 2, "loss": 2}\n')
    assert read_epochs(tmp_path / "log") == [{"epoch": 1, "loss": 2.5}, {"epoch": 2, "loss": 2}]


@pytest.mark.parametrize("line", ["{", "3", '{"loss": 1}'])
def test_a_bad_epoch_is_an_error_with_its_line(tmp_path, line):
    (tmp_path / "log").write_text(f'{{"epoch": 1}}\n{line}\n')
    with pytest.raises(InputError, match="log:2: "):
        read_epochs(tmp_path / "log")
