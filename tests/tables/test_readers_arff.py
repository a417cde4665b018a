"""The ARFF and XML readers: what files of the wild hold, and one clear sentence for every wrong one."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from table_files import read_table

from nmlsdr.datasets import load_mulan
from nmlsdr.tables import DataFileError
from nmlsdr.tables._arff import unquote
from nmlsdr.tables._label_names import read_labels

XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="y"></label></labels>'
HEAD = "@relation r\n@attribute x numeric\n@attribute n {3,1,2}\n@attribute y {0,1}\n@data\n"


@pytest.fixture
def load(tmp_path):
    """Write an ARFF file and an XML file, and read them."""

    def load(arff, xml=XML, *, packed=False, **how):
        for name, text in (("a.arff", arff), ("a.xml", xml)):
            data = text.encode() if isinstance(text, str) else text
            (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
        return load_mulan(tmp_path / "a.arff", tmp_path / "a.xml", **how)

    return load


@pytest.fixture
def refused(load):
    """Check that a file is refused in one sentence with these words."""

    def refused(words, arff, xml=XML, **how):
        with pytest.raises(DataFileError) as error_info:
            load(arff, xml, **how)
        message = str(error_info.value)
        for word in words:
            assert word in message
        assert message.endswith(".")
        assert "\n" not in message
        assert len(message) < 500

    return refused


def test_a_dense_arff_file_is_read(load):
    for packed in (False, True):
        read = load(HEAD + "1.5,3,1\n-2e1,1,0\n", packed=packed)
        assert isinstance(read.data, np.ndarray)
        assert read.data.dtype == np.float64
        assert read.data.tolist() == [[1.5, 3], [-20, 1]]
        assert read.target.tolist() == [[1], [0]]
        assert read.target.dtype == np.int64
        assert read.feature_names == ["x", "n"]
        assert read.label_names == ["y"]


def test_sparse_omits_the_first_declared_value(load):
    head = "@relation r\n@attribute x real\n@attribute n {3,1,2}\n@attribute w {YES,NO}\n@attribute v {no,yes}\n"
    read = load(head + "@attribute y {1,0}\n@data\n{0 2.5,1 2,2 NO,3 yes,4 0}\n{}\n{ 3 yes }\n{1 1, 0 0}\n")
    assert isinstance(read.data, sparse.csr_array)
    assert read.data.dtype == np.float64
    # x omitted: 0; n: 3, declared first; w: YES = 1; v: no = 0; y: 1
    assert read.data.toarray().tolist() == [[2.5, 2, 0, 1], [0, 3, 1, 0], [0, 3, 1, 1], [0, 1, 1, 0]]
    assert read.target.tolist() == [[0], [1], [1], [1]]
    assert read.data.has_canonical_format
    assert (read.data.data != 0).all()


def test_nominal_values_are_codes_not_positions(load):
    read = load(
        "@relation r\n@attribute a {10,2,-1}\n@attribute b {YES,NO}\n@attribute y {1,0}\n@data\n2,NO,0\n-1,YES,1\n"
    )
    assert read.data.tolist() == [[2, 0], [-1, 1]]
    assert read.target.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("\n", "\r\n") + "1,3,1\r\n",
        HEAD + "1,3,1",
        HEAD + "1, 3 ,\t1\n",
        "% hello\n\n" + HEAD + "% a comment\n\n1,3,1\n  % another\n",
        HEAD.upper().replace("X", "x").replace(" N ", " n ").replace(" Y ", " y ") + "1,3,1\n",
        HEAD.replace("@attribute ", "@ATTRIBUTE\t ").replace(" numeric", "\t\tNumeric % unit: m") + "1,3,1\n",
        HEAD.replace("{3,1,2}", "{ 3 , 1 ,\t2 } % codes").replace(" {0,1}", "{0,1}") + "1,3,1\n",
        HEAD.replace("x numeric", "'x' integer").replace(" n ", ' "n" ').replace("{0,1}", "{'0','1'}") + "1,3,'1'\n",
        "\ufeff" + HEAD + "1,3,1\n",
    ],
    ids=["CRLF", "no final newline", "blanks", "comments", "upper case", "tabs", "list with blanks", "quotes", "BOM"],
)
def test_unusual_but_valid_arff_files_are_read(load, text):
    read = load(text)
    assert read.feature_names == ["x", "n"]
    assert read.data.tolist() == [[1, 3]]
    assert read.target.tolist() == [[1]]


def test_sparse_file_with_crlf_and_no_final_newline(load):
    read = load((HEAD + "{0 1,2 1}\n{1 2}").replace("\n", "\r\n"))
    assert read.data.toarray().tolist() == [[1, 3], [0, 2]]
    assert read.target.tolist() == [[1], [0]]


def test_unusual_names_of_attributes_are_read(load):
    names = [
        "-",
        "/",
        "0;",
        "1/2/01",
        "'Swainson\\'s Thrush'",
        '"a \\"b\\" {c}, d"',
        "back\\slash",
        "don't",
        "'100 %'",
        "@data",
    ]
    head = "@relation 'a: -C 45'\n" + "".join(f"@attribute {name} numeric\n" for name in names)
    read = load(head + "@attribute y {0,1}\n@data\n" + "1," * len(names) + "0\n")
    assert read.feature_names == [
        "-",
        "/",
        "0;",
        "1/2/01",
        "Swainson's Thrush",
        'a "b" {c}, d',
        "back\\slash",
        "don't",
        "100 %",
        "@data",
    ]


def test_label_with_a_quoted_name(load):
    xml = '<labels><label name="Swainson\'s Thrush"/></labels>'
    read = load("@relation r\n@attribute 'Swainson\\'s Thrush' {0,1}\n@attribute x real\n@data\n1,2\n", xml)
    assert read.label_names == ["Swainson's Thrush"]
    assert read.data.tolist() == [[2]]


def test_labels_are_in_the_order_of_the_arff_file(load):
    xml = '<labels><label name="b"><label name="c"/></label><label name="a"/></labels>'
    read = load(
        "@relation r\n@attribute a {0,1}\n@attribute x real\n@attribute c {0,1}\n@attribute b {0,1}\n@data\n1,5,1,0\n",
        xml,
    )
    assert read.label_names == ["a", "c", "b"]
    assert read.target.tolist() == [[1, 1, 0]]


def test_quoted_values_are_read(load):
    head = (
        "@relation r\n@attribute k {'a, b','it\\'s',\"{1 2}\"}\n@attribute x real\n@attribute y {'no','yes'}\n@data\n"
    )
    read = load(head + "'a, b','1.5',\"yes\"\n'it\\'s', 2 ,'no'\n\"{1 2}\",3,no\n", drop=["k"])
    assert read.data.tolist() == [[1.5], [2], [3]]
    assert read.target.tolist() == [[1], [0], [0]]
    read = load(head + "{0 'it\\'s', 1 '1.5', 2 'yes'}\n{0 '{1 2}'}\n", drop=["k"])
    assert read.data.toarray().tolist() == [[1.5], [0]]
    assert read.target.tolist() == [[1], [0]]


def test_dropped_columns_of_an_arff_file_are_not_checked_and_n_rows_stops_early(load):
    head = "@relation r\n@attribute id string\n@attribute when date 'yyyy'\n@attribute k {a,'b c'}\n@attribute x real\n"
    head += "@attribute y {0,1}\n@data\n"
    read = load(head + "'a, b',1999,a,1,0\n?,?,'b c',2,1\nr3,x,a,3,nonsense\n", drop=["id", "when", "k"], n_rows=2)
    assert read.data.tolist() == [[1], [2]]
    assert read.feature_names == ["x"]


@pytest.mark.parametrize("cell", ["?", "", "nan", "NaN", "inf", "-Infinity", "1e999", "1_0", "abc", "'1 2'", "0x10"])
def test_a_cell_that_is_not_a_number_is_refused(refused, cell):
    refused(["a.arff, line 7", "column 'x'"], HEAD + f"1,3,0\n{cell},3,1\n")
    if cell:
        refused(["a.arff, line 7", "column 'x'"], HEAD + f"{{0 1}}\n{{0 {cell},2 1}}\n")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,3,1\n1,4,1\n", ["line 7", "column 'n'", "'4'", "declared"]),
        ("1,?,1\n", ["line 6", "column 'n'", "missing"]),
        ("1,3,?\n", ["line 6", "column 'y'", "missing"]),
        ("1,3,2\n", ["line 6", "column 'y'", "'2'"]),
        ("1,3\n", ["line 6", "2 values", "3 attributes"]),
        ("1,3,1,1\n", ["line 6", "4 values"]),
        ("1,3,1\n{0 1}\n", ["line 7", "mixed"]),
        ("{0 1}\n1,3,1\n", ["line 7", "mixed"]),
        ("{0 1,0 2}\n", ["line 6", "index 0", "twice"]),
        ("{0 1,2 1,0 1}\n", ["line 6", "index 0", "twice"]),
        ("{0 '1',0 '2'}\n", ["line 6", "index 0", "twice"]),
        ("{2 1,2 1}\n", ["line 6", "index 2", "twice"]),
        ("{3 1}\n", ["line 6", "index 3", "3 attributes"]),
        ("{-1 1}\n", ["line 6", "sparse row"]),
        ("{0 1 2 1}\n", ["line 6", "sparse row"]),
        ("{0 1\n", ["line 6", "sparse row"]),
        ("{0 1} 2\n", ["line 6", "sparse row"]),
        ("{0 1},{2 1}\n", ["line 6", "sparse row"]),
        ("{0}\n", ["line 6", "sparse row"]),
        ("{1 ?}\n", ["line 6", "column 'n'"]),
        ("{2 ?}\n", ["line 6", "column 'y'", "missing"]),
        ("'1,3,1\n", ["line 6", "quote"]),
        ("'1'2,3,1\n", ["line 6", "close each quote"]),
        ("'1''2',3,1\n", ["line 6", "close each quote"]),
        ("{0 '1'2}\n", ["line 6", "sparse row"]),
        ("1,3,don't\n", ["line 6", "quote"]),
        ("1,3,\0001\n", ["line 6", "NUL"]),
        ("{" + "1" * 5000 + " 1}\n", ["line 6", "sparse row"]),
        ("1,3,{1}\n", ["line 6"]),
        ("", ["a.arff", "0 rows"]),
        ("% only a comment\n\n", ["a.arff", "0 rows"]),
    ],
)
def test_a_row_of_the_wrong_form_is_refused(refused, rows, words):
    refused(words, HEAD + rows)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("", ["line 1", "@data"]),
        ("@relation r\n@attribute x numeric\n", ["line 2", "@data"]),
        ("@relation r\n@data\n1\n", ["line 2", "no @attribute"]),
        ("hello\n", ["line 1", "'hello'"]),
        ("@relation r\n@attribute x\n@data\n", ["line 2", "type"]),
        ("@relation r\n@attribute 'x numeric\n@data\n", ["line 2"]),
        ("@relation r\n@attribute x complex\n@data\n", ["line 2", "'complex'"]),
        ("@relation r\n@attribute x {a,b\n@data\n", ["line 2", "column 'x'"]),
        ("@relation r\n@attribute x {}\n@data\n", ["line 2", "column 'x'"]),
        ("@relation r\n@attribute x {1,,2}\n@data\n", ["line 2", "column 'x'"]),
        ("@relation r\n@attribute x {1,2,1}\n@data\n", ["line 2", "twice"]),
        ("@relation r\n@attribute x {1} {2}\n@data\n", ["line 2", "follows"]),
        (
            "@relation r\n@attribute x real\n@attribute x real\n@attribute y {0,1}\n@data\n",
            ["line 3", "'x'", "twice", "line 2"],
        ),
        ("@relation r\n@attribute x string\n@attribute y {0,1}\n@data\na,1\n", ["line 2", "column 'x'", "drop"]),
        ("@relation r\n@attribute x {red,blue}\n@attribute y {0,1}\n@data\nred,1\n", ["line 2", "'red'", "drop"]),
        ("@relation r\n@attribute x real\n@data\n1\n", ["a.arff", "'y'", "no column"]),
        ("@relation r\n@attribute y {0,1}\n@attribute 'y' {0,1}\n@data\n1,1\n", ["line 3", "'y'", "twice"]),
        ("@relation r\n@attribute y {0,1}\n@data\n1\n", ["0 features"]),
        ("@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n1,a\n", ["line 3", "column 'y'"]),
    ],
)
def test_a_wrong_arff_header_is_refused(refused, head, words):
    refused(words, head)


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("", ["a.xml", "not well-formed"]),
        ("<labels>\n<label name='y'>", ["a.xml, line 2", "not well-formed"]),
        ("<labels></labels>", ["a.xml", "no label"]),
        ("<labels><label/></labels>", ["a.xml, line 1", "no name"]),
        ("<labels><label name='y'/>\n<label name='y'/></labels>", ["a.xml, line 2", "'y'", "twice", "line 1"]),
        ("<!DOCTYPE labels>\n<labels><label name='y'/></labels>", ["a.xml, line 1", "DOCTYPE"]),
        ("<!DOCTYPE l [<!ENTITY a 'y'>]><labels><label name='&a;'/></labels>", ["a.xml", "DOCTYPE"]),
        ("<!DOCTYPE l SYSTEM 'file:///etc/passwd'><labels/>", ["a.xml", "DOCTYPE"]),
        ("<labels><label name='&a;'/></labels>", ["a.xml, line 1", "not well-formed"]),
        ("<labels><label name='y'/><label name='z'/></labels>", ["a.xml, line 1", "a.arff", "'z'"]),
    ],
)
def test_a_wrong_xml_file_of_labels_is_refused(refused, xml, words):
    refused(words, HEAD + "1,3,1\n", xml)


def test_xml_in_another_encoding(load):
    xml = '<?xml version="1.0" encoding="utf-16"?><labels><label name="y"/></labels>'.encode("utf-16")
    assert load(HEAD + "1,3,1\n", xml).label_names == ["y"]
    hidden = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE l><labels/>'.encode("utf-16")
    with pytest.raises(DataFileError, match="DOCTYPE"):
        load(HEAD + "1,3,1\n", hidden)


def test_arff_files_larger_than_the_limits_are_refused(load, refused):
    rows = "1,3,1\n" * 10000
    refused(["a.arff, line", "max_bytes=2000"], HEAD + rows, packed=True, max_bytes=2000)
    refused(["max_features=2"], HEAD + rows, max_features=2)
    refused(["a.xml", "max_bytes=100"], HEAD, "<labels>" + " " * 500 + "</labels>", max_bytes=100)
    label_xml = "<labels>" + "".join(f"<label name='{c}'/>" for c in range(5)) + "</labels>"
    refused(["a.xml", "4 labels"], HEAD, label_xml, max_features=4)
    assert load(HEAD + rows, packed=True).data.shape == (10000, 2)


def test_sparse_rows_that_fill_the_memory_are_refused(refused):
    # every omitted value is 1: each short row stands for 20 values
    head = "@relation r\n" + "".join(f"@attribute a{j} {{1,0}}\n" for j in range(20)) + "@attribute y {0,1}\n@data\n"
    refused(["declare 0"], head + "{}\n" * 200, max_bytes=2000)


def test_one_endless_line_is_bounded(refused):
    refused(["line 2", "max_bytes=1000000"], "@relation r\n" + "x" * 10**7, packed=True, max_bytes=10**6)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "row", ["'" + "\\'" * 50000, "{0 '" + "\\'" * 50000, '"' * 50001, "{ " * 50000, "1" + " ," * 50000]
)
def test_a_malicious_row_takes_linear_time(refused, row):
    refused(["line 6"], HEAD + row + "\n")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    [
        "@attribute x {" + "a " * 30000,
        "@attribute x {" + " " * 60000,
        "@attribute x {" + "'" * 60001,
        "@attribute x {" + "\\" * 60000,
        "@attribute '" + "\\'" * 30000,
        "@attribute x" + " " * 60000 + "?",
    ],
    ids=["words", "blanks", "quotes", "backslashes", "escaped quotes", "blanks before the type"],
)
def test_a_malicious_header_takes_linear_time(refused, line):
    refused(["line 2"], f"@relation r\n{line}\n@data\n")  # a quadratic pattern takes minutes


def test_broken_gzip_and_other_files(tmp_path):
    (tmp_path / "a.xml").write_text(XML)
    packed = gzip.compress((HEAD + "1,3,1\n" * 3000).encode())
    for damaged in (packed[:-10], packed[:50] + b"\0" * 20 + packed[70:], b"\x1f\x8b", b"PK\x03\x04\xff\xfe"):
        (tmp_path / "a.arff").write_bytes(damaged)
        with pytest.raises(DataFileError, match=r"a\.arff"):
            load_mulan(tmp_path / "a.arff", tmp_path / "a.xml")
    with pytest.raises(DataFileError, match=r"b\.xml does not exist"):
        load_mulan(tmp_path / "a.arff", tmp_path / "b.xml")


@pytest.mark.parametrize(
    ("text", "value"),
    [("a\\'b", "a\\'b"), ("'a\\'b'", "a'b"), ('"\\u00e5\\t\\\\"', "å\t\\"), ("'\\101\\q'", "Aq"), ("''", "")],
)
def test_quotes_and_escapes_are_removed(text, value):
    assert unquote(text) == value


# ---------------------------------------------------------------- read_table


def test_read_table_allows_unlabelled_rows(tmp_path):
    file = tmp_path / "a.arff"
    file.write_text(
        "@relation r\n@attribute x real\n@attribute y {0,1}\n@attribute z numeric\n@data\n1,0,1\n2,?,?\n3,?,-1\n"
    )
    (tmp_path / "a.xml").write_text('<labels><label name="z"/><label name="y"/></labels>')
    for how in ({"labels_xml": tmp_path / "a.xml"}, {"label_columns": ["z", "y"]}):
        table = read_table(file, **how)
        assert table.target.tolist() == [[0, 1], [-1, -1], [-1, -1]]
        assert table.labeled.tolist() == [True, False, False]
        assert table.label_names == ["y", "z"]
    file.write_text(file.read_text() + "4,?,1\n")
    table = read_table(file, label_columns=["z", "y"])
    assert table.target[3].tolist() == [-1, 1]
    assert table.labeled[3]


def test_read_table_sparse_and_label_file(tmp_path):
    (tmp_path / "x.arff").write_text("@relation r\n@attribute x real\n@attribute w real\n@data\n{0 1}\n{1 2}\n")
    (tmp_path / "y.arff").write_text("@relation r\n@attribute y {0,1}\n@attribute z {0,1}\n@data\n{1 1}\n{0 ?,1 ?}\n")
    table = read_table(tmp_path / "x.arff", label_file=tmp_path / "y.arff")
    assert table.data.toarray().tolist() == [[1, 0], [0, 2]]
    assert table.target.tolist() == [[0, 1], [-1, -1]]


# ---------------------------------------------------------------- round trips


names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(names.filter(lambda s: s.strip() == s), min_size=2, max_size=6, unique=True),
    st.integers(1, 6),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_written_arff_files_are_read_back(tmp_path_factory, columns, n_rows, is_sparse, seed):
    """Any names, any doubles: what is written is what is read, bit for bit, dense or sparse."""
    folder = tmp_path_factory.getbasetemp()
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, len(columns) - 1)) * 10.0 ** rng.integers(
        -300, 300, size=(n_rows, len(columns) - 1)
    )
    X[rng.random(X.shape) < 0.5] = 0
    y = rng.integers(0, 2, size=n_rows)
    text = "@relation r\n" + "".join(f"@attribute {quoted(name)} numeric\n" for name in columns[:-1])
    text += f"@attribute {quoted(columns[-1])} {{0,1}}\n@data\n"
    for row, label in zip(X, y, strict=True):
        cells = [repr(float(v)) for v in row] + [str(label)]
        if is_sparse:
            cells = [f"{j} {cell}" for j, cell in enumerate(cells) if float(cell) != 0]
            text += "{" + ",".join(cells) + "}\n"
        else:
            text += ",".join(cells) + "\n"
    (folder / "example.arff").write_bytes(text.encode())
    rows = read_table(folder / "example.arff", label_columns=[columns[-1]])
    assert rows.feature_names == columns[:-1]
    read = rows.data
    assert sparse.issparse(read) == is_sparse
    assert np.array_equal(read.toarray() if is_sparse else read, X)
    assert np.array_equal(rows.target[:, 0], y)


@settings(max_examples=40, deadline=None)
@given(st.lists(names, min_size=1, max_size=5, unique=True))
def test_written_names_of_labels_are_read_back(tmp_path_factory, labels):
    from xml.sax.saxutils import quoteattr

    file = tmp_path_factory.getbasetemp() / "example.xml"
    file.write_bytes(
        ("<labels>" + "".join(f"<label name={quoteattr(name)}/>" for name in labels) + "</labels>").encode()
    )
    assert list(read_labels(file)) == labels
