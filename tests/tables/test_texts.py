"""Columns of texts: TF-IDF words of any script, CSR up to the estimator, beside names that identify rows."""

import itertools
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from table_files import read_table

from nmlsdr.tables import TableEncoder
from nmlsdr.tables._plan import Plan
from nmlsdr.tables._planner import Choices
from nmlsdr.tables._text import MOST_WORDS, count_words, find_words, mean_length, shared_by_names, weigh_words, words_of

pandas = pytest.importorskip("pandas")


def phrases(parts, between=" "):
    """All texts of one of the first, one of the second and one of the third parts; a line has parts of one place."""
    return [between.join(chosen) for chosen in itertools.product(*(line.split(" | ") for line in parts))]


ENGLISH = phrases(
    (
        "old engine | new engine | rusty pump | blue valve | broken seal",
        "leaks oil near | was replaced after | makes noise beside | failed under",
        "the left bearing | the main shaft | a worn gear | the housing",
    )
)


def column_of(encoder, name):
    return next(column for column in encoder.plan_.columns if column.name == name)


def fitted(**columns):
    table = pandas.DataFrame(columns)
    encoder = TableEncoder()
    return encoder, encoder.fit_transform(table)


# ---------------------------------------------------------------- words


def test_words_of_a_text_are_those_of_the_vectoriser():
    """The same words and weights as `TfidfVectorizer` gives by its own pattern of a word."""
    texts = [*ENGLISH, "Engine 12 x 7b", "ENGINE 12", "", "zinc"]
    peer = TfidfVectorizer(min_df=2, sublinear_tf=True)
    expected = peer.fit_transform(texts)
    words, idf = find_words(texts)
    assert words == tuple(peer.get_feature_names_out())
    np.testing.assert_array_equal(idf, peer.idf_)
    weights = weigh_words(texts, words, idf)
    assert sparse.isspmatrix_csr(weights) or weights.format == "csr"
    np.testing.assert_allclose(weights.toarray(), expected.toarray(), rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A grey cat, 2 dogs", ["grey", "cat", "dogs"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σίσυφοσ", "σίσυφοσ"]),
        ("المحرك القديم", ["المحرك", "القديم"]),
        ("मोटर पुरानी है", ["मोटर", "पुरानी", "है"]),
        ("자동차 엔진", ["자동차", "엔진"]),
        ("猫", ["猫"]),
        ("灰色の猫", ["灰色", "灰色の", "色の", "色の猫", "の猫"]),
        ("第3回 PUMP故障", ["第", "回", "pump", "故障"]),
        ("รถเก่า", ["รถ", "รถเ", "ถเ", "ถเก", "เก", "เก่", "ก่", "ก่า", "่า"]),
        ("", []),
    ],
)
def test_words_of_every_script(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("libfoo2-dev", ["libfoo", "dev"]),
        ("ReportFinal_v2.docx", ["report", "final", "docx"]),
        ("IMG_0031.JPG", ["img", "jpg"]),
        ("HTTPServer", ["http", "server"]),
        ("A-0001", []),
        ("報告書_2020", ["報告", "報告書", "告書"]),
    ],
)
def test_names_are_split_into_their_words(name, words):
    assert [word for word in words_of(name, are_names=True) if len(word) > 1] == words


def test_a_word_needs_two_rows_and_the_most_frequent_stay(monkeypatch):
    monkeypatch.setattr("nmlsdr.tables._text.MOST_WORDS", 3)
    words, _ = find_words(["grey cat"] * 5 + ["blue cat"] * 3 + ["red dog"] * 2 + ["once"])
    assert words == ("blue", "cat", "grey")
    assert find_words(["once", "twice"]) == ((), ())
    assert find_words(["", ""]) == ((), ())
    assert MOST_WORDS == 50_000


def test_counts_of_words_are_plain_words():
    assert count_words(["cat"]) == "1 word"
    assert count_words(["灰色", "灰色の"]) == "2 pairs and triples of letters"
    assert count_words(["cat", "dog", "灰色"]) == "2 words and 1 pair or triple of letters"


# ---------------------------------------------------------------- the plan


GERMAN = phrases(
    (
        "Der alte Motor | Die neue Pumpe | Das blaue Ventil",
        "verliert Öl an | steht still bei | klappert unter",
        "der Welle | dem Gehäuse | großer Hitze | Last",
    )
)
GREEK = phrases(
    (
        "Ο παλιός κινητήρας | Η νέα αντλία | Η μπλε βαλβίδα",
        "χάνει λάδι στον | σταματά κοντά στον | κάνει θόρυβο στον",
        "άξονα | θάλαμο | σωλήνα | χώρο",
    )
)
ARABIC = phrases(
    (
        "المحرك القديم | المضخة الجديدة | الصمام الأزرق",
        "يسرب الزيت قرب | يتوقف عند | يصدر صوتا تحت",
        "العمود | الغلاف | الحمل | الأنبوب",
    )
)
RUSSIAN = phrases(
    (
        "Старый двигатель | Новый насос | Синий клапан",
        "теряет масло у | стоит возле | шумит под",
        "вала | корпуса | нагрузкой | трубы",
    )
)
KOREAN = phrases(
    (
        "낡은 엔진이 | 새 펌프가 | 파란 밸브가",
        "기름을 흘려 | 멈춰서 | 소리를 내서",
        "수리가 필요합니다 | 교체했습니다 | 확인해 주세요 | 사용할 수 없습니다",
    )
)
JAPANESE = phrases(
    (
        "古いエンジン | 新しいポンプ | 青い弁",
        "から油が漏れて | が停止して | の音がして",
        "困ります。 | 修理しました。 | 交換が必要です。 | います。",
    ),
    between="",
)
CHINESE = phrases(
    (
        "旧发动机 | 新水泵 | 蓝色阀门",
        "昨天漏油 | 突然停止运转 | 发出噪音",
        "需要修理。 | 已经更换。 | 请检查。 | 无法使用。",
    ),
    between="",
)
THAI = phrases(
    (
        "เครื่องยนต์เก่า | ปั๊มใหม่ | วาล์วสีฟ้า",
        "น้ำมันรั่ว | หยุดทำงาน | มีเสียงดัง",
        "ต้องซ่อม | เปลี่ยนแล้ว | โปรดตรวจสอบ | ใช้ไม่ได้",
    ),
    between="",
)
MIXED = [f"{a} {b}" for a, b in zip(ENGLISH, JAPANESE * 3, strict=False)]
NAMES = phrases(("scan | photo | map", "north | south | river | harbour", "tif | jpg | png"), "_")
FILES = [f"{name}-{i:03}" for i, name in enumerate(NAMES)]
TABLES = {
    "English": (ENGLISH, "words"),
    "German": (GERMAN, "words"),
    "Greek": (GREEK, "words"),
    "Arabic": (ARABIC, "words"),
    "Russian": (RUSSIAN, "words"),
    "Korean": (KOREAN, "words"),
    "Japanese": (JAPANESE, "pairs and triples of letters"),
    "Chinese": (CHINESE, "pairs and triples of letters"),
    "Thai": (THAI, "pairs and triples of letters"),
    "mixed": (MIXED, "words and"),
}


@pytest.mark.parametrize("language", TABLES)
def test_the_plan_names_words_or_pairs_and_triples(language, run, tmp_path):
    texts, unit = TABLES[language]
    lines = [f"{i / 7:.3f},{text},{'ab'[i % 2]}" for i, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("size,description,tags\n" + "\n".join(lines) + "\n", encoding="utf-8")
    plan = run("plan", "t.csv", "--label-list", "tags").out
    (line,) = (line for line in plan.splitlines() if line.split()[0] == "description")
    assert line.split()[1] == "words"
    assert "text, " in line
    assert unit in line
    assert ("pairs" in line) == (language in ("Japanese", "Chinese", "Thai", "mixed"))


def test_names_whose_words_recur_identify_rows_and_are_words(run):
    encoder, X = fitted(file=FILES, size=np.arange(len(FILES)) % 5 / 2)
    column = column_of(encoder, "file")
    assert (column.kind, column.is_identifier, encoder.plan_.identifier) == ("words", True, "file")
    assert column.reason == f"the identifier: a different text in every row; names, {len(column.words)} words"
    assert {"north", "river", "photo", "jpg"} <= {*column.words}
    assert sparse.issparse(X)


@pytest.mark.parametrize(
    "names",
    [
        [f"{i}" for i in range(0, 900, 7)],
        [f"A-{i:04}" for i in range(200)],
        [f"sample-{i:04}" for i in range(200)],
        [f"patient_{i:03}" for i in range(200)],
    ],
)
def test_a_running_number_is_no_word(names):
    assert not shared_by_names(dict.fromkeys(names, 1))


def test_random_codes_are_no_words(rng):
    digits = np.array([*"0123456789abcdef"])
    codes = ["".join(digits[rng.integers(0, 16, 32)]) for _ in range(2000)]
    assert not shared_by_names(dict.fromkeys(codes, 1))

    encoder, X = fitted(key=codes, size=np.arange(2000) % 17)
    assert column_of(encoder, "key").kind == "identifier"
    assert not sparse.issparse(X)


def test_the_identifier_is_read_again_by_a_plan(tmp_path):
    lines = "".join(f"{name},{i % 3},{'ab'[i % 2]}\n" for i, name in enumerate(FILES))
    (tmp_path / "t.csv").write_text("file,size,tags\n" + lines)
    table = read_table(tmp_path / "t.csv", plan=Choices(), label_list="tags")
    again = read_table(tmp_path / "t.csv", plan=table.plan, label_list="tags")
    assert table.ids == again.ids == FILES
    np.testing.assert_array_equal(table.data.toarray(), again.data.toarray())
    named = read_table(tmp_path / "t.csv", plan=Choices(), label_list="tags", id_column="file")
    assert named.ids == FILES
    assert not sparse.issparse(named.data)


def test_short_texts_of_few_values_stay_categories():
    encoder, X = fitted(ward=["north wing", "south wing", "east wing"] * 20, size=np.arange(60) % 7)
    assert column_of(encoder, "ward").kind == "category"
    assert isinstance(X, np.ndarray)


# ---------------------------------------------------------------- features


def test_features_beside_texts_are_those_of_a_table_without_them():
    columns = {
        "size": ["1,5", "n/a", "2,5", "0,0"] * 20,
        "wood": ["oak", "ash", "", "oak"] * 20,
        "seen": ["2020-01-02", "2021-05-06", "", "2020-07-01"] * 20,
        "tags": ["a;b", "b", "a", "c;a"] * 20,
        "old": ["yes", "no", "yes", "no"] * 20,
    }
    encoder, X = fitted(**{"note": ENGLISH, **columns, "more": ENGLISH[::-1]})
    plain, expected = fitted(**columns)
    assert sparse.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float64
    place = {name: j for j, name in enumerate(encoder.get_feature_names_out())}
    chosen = [place[name] for name in plain.get_feature_names_out()]
    np.testing.assert_array_equal(X[:, chosen].toarray(), expected)
    note = [j for name, j in place.items() if name.startswith("note: ")]
    np.testing.assert_allclose(sparse.linalg.norm(X[:, note], axis=1), 1)
    assert "note: engine" in place
    assert "more: engine" in place
    table = pandas.DataFrame({"note": ENGLISH, **columns, "more": ENGLISH[::-1]})
    np.testing.assert_array_equal(encoder.transform(table).toarray(), X.toarray())
    np.testing.assert_array_equal(encoder.transform(table[3:5]).toarray(), X[3:5].toarray())


def test_a_missing_text_has_no_words_and_new_words_are_ignored():
    texts = [*ENGLISH[:-3], "", "n/a", "keine Angabe"]
    encoder, X = fitted(note=texts, size=np.arange(len(texts)) / 3)
    assert "keine" not in column_of(encoder, "note").words
    assert X[-3:, :-1].nnz == 0
    new = encoder.transform(pandas.DataFrame({"note": ["zebra stripes", "the engine"], "size": [1.0, 2.0]}))
    assert new[[0], :-1].nnz == 0
    assert new[[1], :-1].nnz == 2


def test_a_plan_with_words_is_data():
    encoder, _ = fitted(note=ENGLISH, file=[f"{a}-{i}" for i, a in enumerate(["scan-north", "map-south"] * 40)])
    plan = encoder.plan_
    assert Plan.from_json(plan.to_json()) == plan
    column_record = json.loads(plan.to_json())["columns"][0]
    assert column_record["words"] == list(plan.columns[0].words)
    assert all(isinstance(weight, float) for weight in column_record["idf"])


@pytest.mark.parametrize("order", [1, 2])
def test_the_order_of_rows_changes_no_word(order):
    first, _ = fitted(note=ENGLISH, size=np.arange(len(ENGLISH)))
    rows = np.random.default_rng(order).permutation(len(ENGLISH))
    shuffled_encoder, _ = fitted(note=[ENGLISH[i] for i in rows], size=rows)
    assert first.plan_.columns[0] == shuffled_encoder.plan_.columns[0]


def test_a_third_of_the_letters_of_names_is_enough():
    assert shared_by_names(dict.fromkeys(["foo-xqz", "foo-bnm", "lkjhgf"], 1))  # 6 of 18
    assert not shared_by_names(dict.fromkeys(["foo-xqz", "foo-bnm", "lkjhgfd"], 1))


@pytest.mark.parametrize(("texts", "length"), [([], 0.0), (["one more word"], 3.0), (["a b", "a"], 1.5)])
def test_the_mean_length_is_that_of_all_texts(texts, length):
    assert mean_length(texts) == length
