from pathlib import Path

from vpeval.core.errors import InputError


def test_the_message_begins_with_the_place_as_far_as_it_is_known() -> None:
    assert str(InputError("is empty; fill it")) == "is empty; fill it"
    assert str(InputError("is empty; fill it", Path("data/x/text"))) == "data/x/text: is empty; fill it"
    assert str(InputError("blank line; remove it", "data/x/text", 3)) == "data/x/text:3: blank line; remove it"
