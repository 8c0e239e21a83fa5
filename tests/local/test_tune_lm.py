import pytest
from in_process import call

DEV = "u1 -10 good bay\nu1 -20 good day\nu2 -5 bad days\nu2 -4 bad day s\n"


@pytest.fixture
def run(tmp_path):
    """Run a script in a directory with transcripts, a language model made of them, and n-best lists."""
    (tmp_path / "text").write_text("t1 GOOD DAY\nt2 GOOD DAY\nt3 BAD DAYS\n")
    (tmp_path / "ref").write_text("u1 GOOD DAY\nu2 BAD DAYS\n")
    (tmp_path / "dev").write_text(DEV)
    (tmp_path / "test").write_text("v1 -10 good hay\nv1 -14 good day\n")

    def run(name, *arguments):
        return call(name, *arguments, cwd=tmp_path)

    done = run("../steps/make_lm.py", "--order", "2", "lm/small.arpa", "text")
    assert done.stdout == "lm/small.arpa: 13 n-grams up to order 2, 4 words\n"
    return run


def test_weights_of_the_tuned_set_choose_the_words_of_the_scored_set(run, tmp_path):
    done = run("tune_lm.py", "lm/small.arpa", "ref", "dev", "test", "out/text")
    assert (done.returncode, done.stdout) == (0, "7_0.0\n")
    assert (tmp_path / "out/text").read_text() == "v1 GOOD DAY\n"


def test_a_range_that_ends_too_early_is_pointed_out(run, caplog):
    run("tune_lm.py", "--lmwt", "0:1", "lm/small.arpa", "ref", "dev", "dev", "out")
    assert "the best LM weight 1 is the last one tried; widen --lmwt" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lm/small.arpa", "text", "dev", "test", "out"], "dev: hypothesis 'u1' has no reference"),
        (["nothing.arpa", "ref", "dev", "test", "out"], "nothing.arpa: no such language model"),
        (["ref", "ref", "dev", "test", "out"], "ref: is not a whole ARPA language model"),
        (["--lmwt", "9:7", "lm/small.arpa", "ref", "dev", "test", "out"], "expected a range like 7:17"),
        (["--wip", "a", "lm/small.arpa", "ref", "dev", "test", "out"], "expected numbers parted by commas"),
        (["lm/small.arpa", "ref", "dev", "ref", "out"], "ref:1: is no hypothesis"),
    ],
)
def test_a_mistake_is_one_message_and_leaves_no_file(run, tmp_path, arguments, message):
    done = run("tune_lm.py", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_text_without_words_gives_no_model(run, tmp_path):
    (tmp_path / "empty").write_text("u1\n")
    done = run("../steps/make_lm.py", "x.arpa", "empty")
    assert (done.returncode, done.stderr) == (1, "make_lm.py: empty: has no words to estimate a language model from\n")
