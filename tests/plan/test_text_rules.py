"""Text rules fit the recogniser, unless the recipe names them."""

from pathlib import Path

import pytest

from vpeval.plan.plan import Settings, make_plan

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("more", "settings", "rules"),
    [
        ("edition=2024\n", {}, "vpc2020"),
        ("edition=2024\n", {"asr": "vosk_small"}, "vpc2020"),
        ("edition=2024\n", {"asr": "speechbrain"}, "vpc2024"),
        ("edition=2024\ntext_rules=vpc2024\n", {}, "vpc2024"),
        ("edition=2026\n", {}, "vpc2026"),
        ("", {"edition": "2024"}, "vpc2020"),
    ],
)
def test_rules_that_change_nothing_need_a_recogniser_that_spells_as_the_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, settings: dict[str, str], rules: str
) -> None:
    (tmp_path / "egs/toy").mkdir(parents=True)
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    monkeypatch.chdir(tmp_path)
    text = 'recipe=toy\nasv_pairs="x_dev_enrolls:x_dev_trials_f"\nasr_sets=\nattackers=ecapa\nlegal_sizes=all\n'
    (tmp_path / "egs/toy/recipe.conf").write_text(text + more)
    plan = make_plan(Settings(recipe="toy", **settings))
    assert plan.text_rules == plan.ranked["text_rules"] == rules
