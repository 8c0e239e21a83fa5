import json
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vpeval.asr.kaldi_chain import Vocabulary, from_challenge, from_vosk, read_vocabulary, write_acceptor, write_carpa
from vpeval.asr.lm import write_arpa
from vpeval.asr.lm_estimation import estimate
from vpeval.asr.recognizers import load_recognizer, own_language_models
from vpeval.asr.vosk import to_pcm
from vpeval.audio.io import read_audio
from vpeval.core import models
from vpeval.core.errors import InputError

ROOT = Path(__file__).parents[2]
TEXT = [["A", "B", "A"], ["B", "A"], ["A", "A", "C"], ["B"], ["C", "B"]]
WORDS = Vocabulary({"<eps>": 0, "a": 1, "b": 2, "c": 3, "<UNK>": 4, "#0": 5}, "<UNK>")


def read_acceptor(path):
    """States with their final weights and arcs (label, weight, target), and the start."""
    content = path.read_bytes()
    assert content[4:31] == struct.pack("<i", 6) + b"vector" + struct.pack("<i", 8) + b"standard" + content[26:31]
    version, flags, _, start, states, arcs = struct.unpack_from("<iiQqqq", content, 26)
    assert (version, flags) == (2, 0)
    at, graph = 26 + 40, []
    for _ in range(states):
        final, count = struct.unpack_from("<fq", content, at)
        leaving = [struct.unpack_from("<iifi", content, at + 12 + 16 * n) for n in range(count)]
        assert all(taken == given for taken, given, _, _ in leaving)
        assert leaving == sorted(leaving, key=lambda arc: arc[0])
        graph.append((final, [(label, weight, target) for label, _, weight, target in leaving]))
        at += 12 + 16 * count
    assert at == len(content)
    assert sum(len(leaving) for _, leaving in graph) == arcs
    return start, graph


def cheapest(graph, state, labels):
    """Weight of a word sequence where a shorter context is taken only if the word is not there, as back-off means."""
    total = 0.0
    for label in labels:
        while not (found := [arc for arc in graph[state][1] if arc[0] == label]):
            [(_, weight, state)] = [arc for arc in graph[state][1] if arc[0] == 0]
            total += weight
        total += found[0][1]
        state = found[0][2]
    while graph[state][0] == float("inf"):
        [(_, weight, state)] = [arc for arc in graph[state][1] if arc[0] == 0]
        total += weight
    return total + graph[state][0]


@pytest.mark.parametrize(("order", "min_count"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1)])
def test_an_acceptor_weighs_sentences_as_its_model_does(tmp_path, order, min_count):
    lm = estimate(TEXT, order, min_count)
    assert write_acceptor(tmp_path / "G.fst", lm, WORDS) == 0
    start, graph = read_acceptor(tmp_path / "G.fst")
    for sentence in ("A B A", "C", "B B B", "A C A C", "A A A A B"):
        words = sentence.split()
        labels = [WORDS.number(word) for word in words]
        assert cheapest(graph, start, labels) == pytest.approx(-lm.sentence(words), abs=1e-4)


def test_words_that_a_recogniser_lacks_are_left_out_and_counted(tmp_path):
    lm = estimate([*TEXT, ["D", "A"], ["D", "D"]], 3)
    assert write_acceptor(tmp_path / "G.fst", lm, WORDS) == 1
    start, graph = read_acceptor(tmp_path / "G.fst")
    assert cheapest(graph, start, [1, 2]) == pytest.approx(-lm.sentence(["A", "B"]), abs=1e-4)


class Carpa:
    """A G.carpa file, asked as Kaldi asks it."""

    def __init__(self, path):
        content = path.read_bytes()
        head = b"\0B<ConstArpaLm> <LmInfo> "
        assert content.startswith(head)
        self.bos, self.eos, self.unk, self.order = (
            struct.unpack_from("<i", content, len(head) + 5 * n + 1)[0] for n in range(4)
        )
        at = content.index(b"<LmStates> \x08") + 12
        size = struct.unpack_from("<q", content, at)[0]
        self.block = np.frombuffer(content, "<i4", size, at + 8)
        at = content.index(b"</LmStates> <LmUnigram> \4") + 25
        count = struct.unpack_from("<i", content, at)[0]
        self.unigrams = np.frombuffer(content, "<i8", count, at + 4)
        assert content.endswith(b"</LmUnigram> <LmOverflow> \4\0\0\0\0</LmOverflow> </ConstArpaLm> ")

    def float(self, at):
        return float(self.block[at : at + 1].view("<f4")[0])

    def child(self, state, word):
        pairs = self.block[state + 3 : state + 3 + 2 * self.block[state + 2]].reshape(-1, 2)
        assert (np.diff(pairs[:, 0]) > 0).all()
        found = np.flatnonzero(pairs[:, 0] == word)
        if not len(found):
            return None, None
        info = int(pairs[found[0], 1])
        if info % 2 == 0:
            return float(np.array([info], "<i4").view("<f4")[0]), None
        return self.float(state + info // 2), state + info // 2

    def state(self, history):
        if not history or not self.unigrams[history[0]]:
            return None
        state = int(self.unigrams[history[0]]) - 1
        for word in history[1:]:
            _, state = self.child(state, word)
            if state is None:
                return None
        return state

    def logprob(self, word, history):
        if not history:
            return self.float(int(self.unigrams[word]) - 1)
        backoff = 0.0
        if (state := self.state(history)) is not None:
            found, _ = self.child(state, word)
            if found is not None:
                return found
            backoff = self.float(state + 1)
        return backoff + self.logprob(word, history[1:])

    def sentence(self, labels):
        history, total = [self.bos], 0.0
        for label in [*labels, self.eos]:
            keep = self.order - 1
            total += self.logprob(label, history[-keep:] if keep else [])
            history.append(label)
        return total


@pytest.mark.parametrize(("order", "min_count"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1)])
def test_a_carpa_file_gives_sentences_the_probability_of_its_model(tmp_path, order, min_count):
    lm = estimate(TEXT, order, min_count)
    write_carpa(tmp_path / "G.carpa", lm, WORDS)
    carpa = Carpa(tmp_path / "G.carpa")
    assert (carpa.unk, carpa.order) == (4, order)
    for sentence in ("A B A", "C", "B B B", "A C A C", "A A A A B"):
        words = sentence.split()
        assert carpa.sentence([WORDS.number(word) for word in words]) == pytest.approx(lm.sentence(words), abs=1e-4)


def write_challenge(folder, large=True):
    """The layout of the challenge's asr_eval, with files of no content."""
    for name in ("final.ie", "final.dubm", "final.mat", "global_cmvn.stats", "online_cmvn.conf"):
        path = folder / "extractor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (folder / "extractor/splice_opts").write_text("--left-context=3 --right-context=3\n")
    (folder / "final.mdl").write_text("input-node name=ivector dim=100\n")
    (folder / "frame_subsampling_factor").write_text("3\n")
    for name in ("graph_tgsmall/phones", "lang_test_tgsmall", "lang_test_tglarge"):
        (folder / name).mkdir(parents=True)
    (folder / "graph_tgsmall/HCLG.fst").write_text("graph")
    (folder / "graph_tgsmall/words.txt").write_text("<eps> 0\nA 1\n")
    (folder / "graph_tgsmall/phones/silence.csl").write_text("1:2:3\n")
    (folder / "graph_tgsmall/phones/word_boundary.int").write_text("1 singleton\n")
    (folder / "lang_test_tgsmall/G.fst").write_text("small")
    if large:
        (folder / "lang_test_tglarge/G.carpa").write_text("large")
    return folder


def tree(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_layout_of_the_challenge_becomes_what_vosk_loads(tmp_path):
    source = write_challenge(tmp_path / "asr_eval")
    assert from_challenge(source, tmp_path / "out") == ["small", "large"]
    plain = {
        "am/final.mdl",
        "conf/mfcc.conf",
        "conf/model.conf",
        "graph/HCLG.fst",
        "graph/words.txt",
        "graph/phones/word_boundary.int",
        "ivector/final.ie",
        "ivector/final.dubm",
        "ivector/final.mat",
        "ivector/global_cmvn.stats",
        "ivector/online_cmvn.conf",
        "ivector/splice.conf",
    }
    assert tree(tmp_path / "out/small") == plain
    assert tree(tmp_path / "out/large") == plain | {"rescore/G.fst", "rescore/G.carpa"}
    assert (tmp_path / "out/small/ivector/splice.conf").read_text() == "--left-context=3\n--right-context=3\n"
    assert "--endpoint.silence-phones=1:2:3\n" in (tmp_path / "out/large/conf/model.conf").read_text()
    assert "--num-ceps=40" in (tmp_path / "out/small/conf/mfcc.conf").read_text()
    assert (tmp_path / "out/large/rescore/G.carpa").read_text() == "large"
    assert from_challenge(source, tmp_path / "out") == ["small", "large"], "its own output gives way"


def test_without_the_large_model_there_is_the_small_one_only(tmp_path):
    assert from_challenge(write_challenge(tmp_path / "asr_eval", large=False), tmp_path / "out") == ["small"]
    (tmp_path / "conf.yaml").write_text("recognizer: kaldi_chain\ndirectory: out\n")
    assert own_language_models(tmp_path / "conf.yaml") == ("small",)


@pytest.mark.parametrize(
    "name",
    [
        "final.mdl",
        "graph_tgsmall/HCLG.fst",
        "graph_tgsmall/words.txt",
        "graph_tgsmall/phones/silence.csl",
        "extractor/final.ie",
        "extractor/splice_opts",
        "lang_test_tgsmall/G.fst",
    ],
)
def test_a_missing_file_is_named_and_nothing_is_left_behind(tmp_path, name):
    source = write_challenge(tmp_path / "asr_eval")
    (source / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: no such file; it is needed for"):
        from_challenge(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["asr_eval"]


def test_a_network_with_i_vectors_needs_its_extractor(tmp_path):
    source = write_challenge(tmp_path / "asr_eval")
    for path in (source / "extractor").iterdir():
        path.unlink()
    (source / "extractor").rmdir()
    with pytest.raises(InputError, match="takes i-vectors, but there is no extractor/"):
        from_challenge(source, tmp_path / "out")


def test_another_frame_rate_than_vosk_has_is_refused(tmp_path):
    source = write_challenge(tmp_path / "asr_eval")
    (source / "frame_subsampling_factor").write_text("1\n")
    with pytest.raises(InputError, match=r"frame_subsampling_factor: is 1; Vosk"):
        from_challenge(source, tmp_path / "out")


def test_a_directory_of_the_user_is_not_replaced(tmp_path):
    source = write_challenge(tmp_path / "asr_eval")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter1").write_text("words")
    with pytest.raises(InputError, match="was not made by this toolkit"):
        from_challenge(source, tmp_path / "thesis")
    assert (tmp_path / "thesis/chapter1").read_text() == "words"


def test_a_directory_without_recogniser_says_how_to_make_one(tmp_path):
    (tmp_path / "conf.yaml").write_text("recognizer: kaldi_chain\ndirectory: nowhere\n")
    pytest.importorskip("vosk")
    with pytest.raises(InputError, match=r"nowhere: holds no recogniser; make it with utils/make_kaldi_chain.py"):
        load_recognizer(tmp_path / "conf.yaml")


def test_a_model_that_vosk_cannot_load_is_one_line(tmp_path, capfd):
    pytest.importorskip("vosk")
    from_challenge(write_challenge(tmp_path / "asr_eval"), tmp_path / "out")
    (tmp_path / "conf.yaml").write_text("recognizer: kaldi_chain\ndirectory: out\n")
    with pytest.raises(InputError, match="out/small: Vosk cannot load it"):
        load_recognizer(tmp_path / "conf.yaml")


@pytest.mark.parametrize("content", [b"", b"RIFF", struct.pack("<i", 2125659606) + b"\x05\0\0\0ngram"])
def test_a_graph_without_words_is_refused(tmp_path, content):
    (tmp_path / "Gr.fst").write_bytes(content)
    with pytest.raises(InputError, match=r"Gr.fst: is no (whole )?FST"):
        read_vocabulary(tmp_path)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The small English model for Vosk with a graph of its own, made of sentences of the corpus."""
    vosk = pytest.importorskip("vosk")
    source = models.fetch(models.find_model("vosk_small_en"))
    rows = [line.split("\t") for line in (ROOT / "egs/mini/corpus/utterances.tsv").read_text().splitlines()]
    sentences = [row[-1].upper().replace(".", "").replace("?", "").split() for row in rows[1:400]]
    small, large = estimate(sentences, 2, 3), estimate(sentences, 3)
    folder = tmp_path_factory.mktemp("chain")
    from_vosk(source, small, large, folder / "out")
    write_arpa(folder / "small.arpa", small)
    (folder / "conf.yaml").write_text("recognizer: kaldi_chain\ndirectory: out\n")
    return vosk, folder, small, large


def audio(number):
    paths = sorted((ROOT / "egs/mini/corpus/audio").rglob("*.opus"))
    return read_audio(str(paths[number]))


@pytest.mark.e2e
def test_the_large_model_changes_scores_by_what_it_says(chain):
    vosk, folder, small, large = chain
    vosk.SetLogLevel(-1)
    loaded = {lm: vosk.Model(str(folder / "out" / lm)) for lm in ("small", "large")}
    compared = 0
    for number in (3, 400, 800):
        scores = {}
        for lm, model in loaded.items():
            recogniser = vosk.KaldiRecognizer(model, 16000)
            recogniser.SetMaxAlternatives(5)
            recogniser.AcceptWaveform(to_pcm(audio(number)).tobytes())
            alternatives = json.loads(recogniser.FinalResult())["alternatives"]
            scores[lm] = {one["text"].strip(): one["confidence"] for one in alternatives}
        for text in scores["small"].keys() & scores["large"].keys():
            words = text.upper().split()
            wanted = 0.9 * (large.sentence(words) - small.sentence(words))
            assert scores["large"][text] - scores["small"][text] == pytest.approx(wanted, abs=0.5)
            compared += 1
    assert compared >= 3


@pytest.mark.e2e
def test_a_recogniser_with_two_language_models_decodes_to_two_texts(chain, tmp_path):
    _, folder, small, _ = chain
    data = tmp_path / "data"
    data.mkdir()
    paths = sorted((ROOT / "egs/mini/corpus/audio").rglob("*.opus"))[:2]
    (data / "wav.scp").write_text("".join(f"a-{n} {path}\n" for n, path in enumerate(paths)))
    (data / "utt2spk").write_text("a-0 a\na-1 a\n")
    (data / "spk2utt").write_text("a a-0 a-1\n")
    line = [ROOT / "steps/decode.py", "--nj", "1", folder / "conf.yaml", tmp_path / "out", data]
    done = subprocess.run(list(map(str, line)), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    texts = {name: (tmp_path / "out/data" / name).read_text() for name in ("text", "text_small", "text_large")}
    assert texts["text"] == texts["text_large"]
    known = {word.lower() for word in small.words}
    assert {word for line in texts["text_small"].splitlines() for word in line.split()[1:]} <= known
    assert len(texts["text_small"].split()) > 6
