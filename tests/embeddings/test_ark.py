import pickle
import shutil
from pathlib import Path

import kaldi_native_io
import kaldiio
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from vpeval.core.errors import InputError
from vpeval.embeddings import ark
from vpeval.embeddings.ark import read_scp, read_vectors, write_rows, write_vectors

VECTORS = {utt: np.array([n + 1, -2.5, 1e-7], np.float32) for n, utt in enumerate(("b-1", "a-1", "A-1", "é-1"))}


@pytest.fixture
def scp(tmp_path: Path) -> Path:
    write_vectors(tmp_path, VECTORS)
    return tmp_path / "embedding.scp"


def complaint(scp: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_vectors(scp)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_vectors_are_sorted_in_the_c_locale_and_read_back_as_float32(scp: Path) -> None:
    found = read_vectors(scp)
    assert list(found) == ["A-1", "a-1", "b-1", "é-1"]
    for utt, vector in VECTORS.items():
        assert found[utt].dtype == np.float32
        np.testing.assert_array_equal(found[utt], vector)


def test_kaldiio_reads_what_was_written(scp: Path) -> None:
    by_scp, by_ark = kaldiio.load_scp(str(scp)), dict(kaldiio.load_ark(str(scp.with_suffix(".ark"))))
    assert set(by_scp) == set(by_ark) == set(VECTORS)
    for utt, vector in VECTORS.items():
        np.testing.assert_array_equal(by_scp[utt], vector)
        np.testing.assert_array_equal(by_ark[utt], vector)


def test_kaldi_native_io_reads_what_was_written(scp: Path) -> None:
    with kaldi_native_io.SequentialFloatVectorReader(f"scp:{scp}") as reader:
        found = {utt: np.array(vector) for utt, vector in reader}
    assert list(found) == ["A-1", "a-1", "b-1", "é-1"]
    with kaldi_native_io.RandomAccessFloatVectorReader(f"scp:{scp}") as reader:
        for utt, vector in VECTORS.items():
            np.testing.assert_array_equal(found[utt], vector)
            np.testing.assert_array_equal(reader[utt], vector)


def test_the_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    vectors = {"a": np.array([1, -2.5], np.float32), "é": np.array([3.0]), "b": np.array([4]), "c": np.array([], "f4")}
    write_vectors(tmp_path, vectors, home=Path("exp/dev"))
    assert (tmp_path / "embedding.ark").read_bytes() == (
        b"a \0BFV \4\2\0\0\0\0\0\x80?\0\0 \xc0"
        b"b \0BFV \4\1\0\0\0\0\0\x80@"
        b"c \0BFV \4\0\0\0\0"
        b"\xc3\xa9 \0BDV \4\1\0\0\0\0\0\0\0\0\0\x08@"
    )
    places = [f"{key} exp/dev/embedding.ark:{offset}\n" for key, offset in (("a", 2), ("b", 22), ("c", 38), ("é", 51))]
    assert (tmp_path / "embedding.scp").read_bytes() == "".join(places).encode()


def test_the_bytes_are_those_that_kaldi_writes(tmp_path: Path) -> None:
    vectors = {utt: VECTORS[utt] for utt in sorted(VECTORS)}
    write_vectors(tmp_path, vectors)
    with kaldi_native_io.FloatVectorWriter(f"ark,scp:{tmp_path}/theirs.ark,{tmp_path}/theirs.scp") as writer:
        for utt, vector in vectors.items():
            writer.write(utt, vector)
    assert (tmp_path / "embedding.ark").read_bytes() == (tmp_path / "theirs.ark").read_bytes()
    ours, theirs = ((tmp_path / f"{name}.scp").read_text() for name in ("embedding", "theirs"))
    assert ours == theirs.replace("theirs.ark", "embedding.ark")


def test_the_bytes_are_those_that_kaldiio_writes(tmp_path: Path) -> None:
    vectors = {utt: VECTORS[utt] for utt in sorted(VECTORS)} | {"é-2": np.array([1.0, 2.0, 3.0])}
    write_vectors(tmp_path, vectors)
    with open(tmp_path / "theirs.ark", "wb") as file:
        kaldiio.save_ark(file, vectors)
    assert (tmp_path / "embedding.ark").read_bytes() == (tmp_path / "theirs.ark").read_bytes()


def test_thousands_of_vectors_of_keys_of_any_length_are_read_in_any_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    keys = [f"{'x' * (n % 7)}{n}" for n in rng.permutation(9000).tolist()]
    matrix = rng.standard_normal((len(keys), 6), np.float32)
    write_rows(tmp_path, keys, matrix)
    index = read_scp(tmp_path / "embedding.scp")
    assert index.keys == keys
    np.testing.assert_array_equal(index.vectors(), matrix)
    order = rng.permutation(len(keys))
    np.testing.assert_array_equal(index.vectors(order), matrix[order])
    with kaldi_native_io.RandomAccessFloatVectorReader(f"scp:{tmp_path}/embedding.scp") as reader:
        np.testing.assert_array_equal(reader[keys[4321]], matrix[4321])


def test_an_scp_may_name_several_arks_of_several_kinds(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((40, 3)).astype(np.float32)
    write_rows(tmp_path, [f"a{n:02d}" for n in range(10)], matrix[:10], name="1")
    write_rows(tmp_path, [f"b{n:02d}" for n in range(10)], matrix[10:20].astype(np.float64), name="2")
    binary = {f"c{n:02d}": row for n, row in enumerate(matrix[20:30])}
    kaldiio.save_ark(str(tmp_path / "3.ark"), binary, scp=str(tmp_path / "3.scp"))
    text = {f"d{n:02d}": row for n, row in enumerate(np.round(matrix[30:], 3))}
    kaldiio.save_ark(str(tmp_path / "4.ark"), text, scp=str(tmp_path / "4.scp"), text=True)
    lines = "".join((tmp_path / f"{n}.scp").read_text() for n in (1, 2, 3, 4)).splitlines()
    mixed = [lines[i] for i in rng.permutation(40)]
    (tmp_path / "all.scp").write_text("".join(f"{line}\n" for line in mixed))
    found = read_vectors(tmp_path / "all.scp")
    rows = {"a": 0, "b": 10, "c": 20, "d": 30}
    for key, vector in found.items():
        np.testing.assert_allclose(vector, matrix[rows[key[0]] + int(key[1:])], atol=6e-4 if key[0] == "d" else 0)


def test_the_line_of_the_damage_is_named_whatever_order_is_asked_for(scp: Path) -> None:
    ark = scp.with_suffix(".ark")
    ark.write_bytes(ark.read_bytes().replace(b"b-1 \0BFV", b"b-1 \0BXX"))
    with pytest.raises(InputError, match=r"embedding\.scp:3: cannot read"):
        read_scp(scp).vectors(np.array([2, 0, 3, 1]))


def test_what_other_programs_wrote_is_read(tmp_path: Path) -> None:
    with kaldi_native_io.DoubleVectorWriter(f"ark,scp:{tmp_path}/x.ark,{tmp_path}/x.scp") as writer:
        writer.write("a-1", np.array([1.0, 2.0]))
    np.testing.assert_array_equal(read_vectors(tmp_path / "x.scp")["a-1"], np.array([1, 2], np.float32))


def test_the_scp_names_the_ark_where_it_will_be(tmp_path: Path) -> None:
    write_vectors(tmp_path, VECTORS, name="spk_mean", home=Path("exp/asv/dev"))
    assert (tmp_path / "spk_mean.scp").read_text().splitlines()[0] == "A-1 exp/asv/dev/spk_mean.ark:4"


def test_a_directory_that_was_moved_is_read_from_its_new_place(scp: Path, tmp_path: Path) -> None:
    home = tmp_path / "moved to here"
    home.mkdir()
    for file in (scp, scp.with_suffix(".ark")):
        shutil.move(file, home)
    assert set(read_vectors(home / "embedding.scp")) == set(VECTORS)


def test_tabs_crlf_and_blanks_in_paths_are_understood(tmp_path: Path) -> None:
    home = tmp_path / "my exp"
    home.mkdir()
    write_vectors(home, {"a-1": VECTORS["a-1"]})
    scp = home / "embedding.scp"
    scp.write_bytes(scp.read_bytes().replace(b"a-1 ", b"a-1\t").replace(b"\n", b"\r\n"))
    np.testing.assert_array_equal(read_vectors(scp)["a-1"], VECTORS["a-1"])


@pytest.mark.parametrize("line", ["a-1", "a-1 x.ark", "a-1 x.ark:", "a-1 x.ark:two", "a-1 :3", "a-1 x.ark:12[0:2]"])
def test_a_line_that_names_no_place_in_an_ark_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.scp").write_text(line + "\n")
    assert "x.scp:1: expected <utterance> <ark file>:<offset>" in complaint(tmp_path / "x.scp")


fragments = st.sampled_from(
    ["a", "b-1", " ", " ", "\n", " x.ark:", " x.ark:1\n", "7", "é", "\t", "\r", "\x1c", ":", "y.ark:"]
)


@given(st.lists(fragments, max_size=14).map("".join).map("k x.ark:4\n{}".format))
@example("k x.ark:4\n x.ark:1\n7")
@example("k x.ark:4\n x.ark:1\na 7")
@example("k x.ark:4\na x.ark:1\n7")
@example("k x.ark:4\n\n x.ark:1\n")
@example("k x.ark:4\r\na x.ark:1\r\n")
@example("k x.ark:4\na\tx.ark:1\n")
@example("k x.ark:4\na x.ark:1")
@example("k x.ark:4")
def test_the_quick_reader_of_an_scp_reads_what_the_other_reads_or_leaves_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.scp").write_text(content, newline="")
    quick = ark._read_one_ark(tmp_path / "x.scp")
    if quick is not None:
        keys, names, number, offset = ark._read_any_arks(tmp_path / "x.scp")
        assert (quick[0], quick[1]) == (keys, names)
        assert np.array_equal(quick[2], number) and np.array_equal(quick[3], offset)


@pytest.mark.parametrize(
    "content", ["k x.ark:4\n x.ark:1\n7", "k x.ark:4\n x.ark:1\n", "k x.ark:4\n\tx.ark:1\na x.ark:7\n"]
)
def test_a_line_without_a_key_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.scp").write_text(content)
    assert "x.scp:2: expected <utterance> <ark file>:<offset>" in complaint(tmp_path / "x.scp")


def test_an_offset_beyond_all_files_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "x.scp").write_text(f"a x.ark:4\nb x.ark:{10**20}\n")
    assert "x.scp:2: expected <utterance> <ark file>:<offset>" in complaint(tmp_path / "x.scp")


def test_an_ark_that_is_nowhere_is_named(scp: Path) -> None:
    scp.with_suffix(".ark").unlink()
    assert complaint(scp).endswith("embedding.ark is neither there nor next to the scp; extract the embeddings again")


def test_duplicate_keys_are_refused(scp: Path) -> None:
    lines = scp.read_text()
    scp.write_text(lines + lines.splitlines()[0] + "\n")
    assert "embedding.scp:5: 'A-1' appears twice; keep one line" in complaint(scp)


def test_an_empty_scp_is_refused(scp: Path) -> None:
    scp.write_text("")
    assert "embedding.scp: holds no vectors" in complaint(scp)


@pytest.mark.parametrize("utts", [1, 4])
def test_an_ark_that_is_cut_off_anywhere_is_refused(tmp_path: Path, utts: int) -> None:
    write_vectors(tmp_path, dict(list(VECTORS.items())[:utts]))
    ark = tmp_path / "embedding.ark"
    whole = ark.read_bytes()
    for size in range(len(whole)):
        ark.write_bytes(whole[:size])
        assert "embedding.ark" in complaint(tmp_path / "embedding.scp")


def test_a_damaged_ark_is_refused_at_the_line_of_the_damage(scp: Path) -> None:
    ark = scp.with_suffix(".ark")
    content = ark.read_bytes()
    ark.write_bytes(content.replace(b"b-1 \0BFV", b"b-1 \0BXX"))
    assert "embedding.scp:3: cannot read" in complaint(scp)


def test_an_offset_beside_the_mark_is_refused(scp: Path) -> None:
    scp.write_text(scp.read_text().replace(":4\n", ":5\n", 1))
    assert "embedding.scp:1: " in complaint(scp)


@pytest.mark.parametrize("content", [b"a-1 hello world\n", b"", bytes(100), b"RIFF" + bytes(100)])
def test_what_is_no_ark_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.ark").write_bytes(content)
    (tmp_path / "x.scp").write_text(f"a-1 {tmp_path / 'x.ark'}:4\n")
    assert "x.scp:1: " in complaint(tmp_path / "x.scp")


def test_a_matrix_is_no_vector(tmp_path: Path) -> None:
    kaldiio.save_ark(str(tmp_path / "x.ark"), {"a-1": np.ones((2, 3), np.float32)}, scp=str(tmp_path / "x.scp"))
    assert "x.scp:1: 'a-1' has dimension 2 x 3, expected a vector; extract it again" in complaint(tmp_path / "x.scp")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.ones(4), "'b-1' has dimension 4, expected dimension 3 as in the lines above; extract it again"),
        (np.zeros(3), "the vector of 'b-1' is all zero; extract it again"),
        (np.array([1, np.nan, 0]), "the vector of 'b-1' is not finite; extract it again"),
        (np.array([1, np.inf, 0]), "the vector of 'b-1' is not finite; extract it again"),
        (np.array([]), "'b-1' has dimension 0"),
    ],
)
def test_a_vector_that_cannot_be_an_embedding_is_named(tmp_path: Path, bad: np.ndarray, words: str) -> None:
    write_vectors(tmp_path, {**VECTORS, "b-1": bad})
    assert f"embedding.scp:3: {words}" in complaint(tmp_path / "embedding.scp")


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.text("abcXYZ019-_é", min_size=1),
        arrays.arrays(np.float32, 5, elements=st.floats(1, 2.0**100, width=32)),
        min_size=1,
        max_size=5,
    )
)
def test_every_bit_survives(tmp_path_factory: pytest.TempPathFactory, vectors: dict[str, np.ndarray]) -> None:
    directory = tmp_path_factory.mktemp("ark")
    write_vectors(directory, vectors)
    found = read_vectors(directory / "embedding.scp")
    assert list(found) == sorted(vectors, key=str.encode)
    assert all((found[utt] == vectors[utt]).all() for utt in vectors)


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("pwned"),)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.ark", b"PKL" + pickle.dumps(Evil())),
        ("touch pwned |", b"\0BFV \4\2\0\0\0garbage"),
        ("|touch pwned", b"\0BFV \4\2\0\0\0garbage"),
        ("x.ark", b"NPY\x10" + b"\x93NUMPY"),
        ("x.ark", b"RIFF....WAVEfmt "),
        ("x.ark", b"AUDIO\4abcd"),
        ("x.ark", b"\0BFV \4\xff\xff\xff\x7f"),
        ("x.ark", b"\0BCM 1"),
        ("x.ark", b"\0BFV \4\xff\xff\xff\xff" + bytes(8)),
        ("x.ark", b"\0BFM \4\xff\xff\xff\xff\4\2\0\0\0" + bytes(16)),
        ("x.ark", b"\0BDM \4\xff\xff\xff\x7f\4\xff\xff\xff\x7f" + bytes(16)),
        ("x.ark", b"\0B\4\1\0\0\0\4\1\0\0\0"),
        ("x.ark", b"[ 1 2"),
    ],
    ids=range(13),
)
def test_nothing_in_an_ark_or_its_name_runs(tmp_path: Path, monkeypatch, name: str, content: bytes) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    Path("x.scp").write_text(f"a-1 {name}:0\n")
    with pytest.raises(InputError, match=r"x\.scp:1: ") as found:
        read_vectors("x.scp")
    assert "\n" not in str(found.value)
    assert not Path("pwned").exists()
