"""Every reader of `READERS` keeps the protocol at the head of `_files.py`, also for files that are damaged."""

import csv
import gzip
import io
import random

import numpy as np
import pytest
from campaigns.readers import check_table
from table_files import read_table

from nmlsdr.tables import Choices, DataFileError, Form, _formats
from nmlsdr.tables._columns import Table
from nmlsdr.tables._formats import READERS, UNPACKED, WITHOUT_NAMES
from nmlsdr.tables._roles import Roles, split_columns

N = 12
NAMES = ["width", "height", "flu", "cold"]
X = np.round(np.random.default_rng(0).normal(size=(N, 2)), 3)
Y = np.array([[1, 0], [0, 1], [-1, 0], [-1, -1]] * 3)
CELLS = [[*x, *("" if label == -1 else label for label in y)] for x, y in zip(X.tolist(), Y.tolist(), strict=True)]


def csv_bytes(delimiter):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([NAMES, *CELLS])
    return text.getvalue().encode()


def arff_bytes():
    head = ["@relation r", *(f"@attribute {name} numeric" for name in NAMES[:2])]
    head += [f"@attribute {name} {{0,1}}" for name in NAMES[2:]]
    rows = [",".join("?" if cell == "" else str(cell) for cell in row) for row in CELLS]
    return "\n".join([*head, "@data", *rows, ""]).encode()


def parquet_bytes():
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = [[None if cell == "" else float(cell) for cell in column] for column in zip(*CELLS, strict=True)]
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(zip(NAMES, columns, strict=True))), file)
    return file.getvalue()


def excel_bytes():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [NAMES, *CELLS]:
        book.active.append([None if cell == "" else cell for cell in row])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def npz_bytes():
    file = io.BytesIO()
    np.savez(file, X=X, y=Y, feature_names=NAMES[:2], label_names=NAMES[2:])
    return file.getvalue()


def svmlight_bytes():
    """Rows cannot be known in part here: those with an unknown label have none."""
    rows = [",".join(str(c) for c, label in enumerate(y) if label == 1) for y in Y.tolist()]
    pairs = zip(rows, X.tolist(), strict=True)
    return "".join(f"{labels} {' '.join(f'{j}:{x}' for j, x in enumerate(row, 1))}\n" for labels, row in pairs).encode()


#: For each reader the bytes of a sound file, by its suffix.
WRITERS = {
    _formats.ArffFile: lambda suffix: arff_bytes(),
    _formats.CsvFile: lambda suffix: csv_bytes("\t" if suffix == ".tsv" else ","),
    _formats.ParquetFile: lambda suffix: parquet_bytes(),
    _formats.ExcelFile: lambda suffix: excel_bytes(),
    _formats.read_npz: lambda suffix: npz_bytes(),
    _formats.read_svmlight: lambda suffix: svmlight_bytes(),
}
#: Suffixes, with .gz where the reader takes it.
SUFFIXES = [*READERS, *(f"{suffix}.gz" for suffix, reader in READERS.items() if reader not in UNPACKED)]


def reader_of(suffix):
    return READERS[suffix.removesuffix(".gz")]


def sound_bytes(suffix):
    """A file of this suffix; an error if no writer of it is in this file."""
    plain = suffix.removesuffix(".gz")
    data = WRITERS[reader_of(suffix)](plain)
    return gzip.compress(data, mtime=0) if suffix.endswith(".gz") else data


def roles_of(suffix):
    return {} if reader_of(suffix) in WITHOUT_NAMES else {"label_columns": NAMES[2:]}


@pytest.fixture
def write(tmp_path):
    def write(suffix, data=None, name="t"):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(sound_bytes(suffix) if data is None else data)
        return path

    return write


def test_a_new_reader_does_not_pass_without_a_file(monkeypatch):
    monkeypatch.setitem(READERS, ".feather", object)
    with pytest.raises(KeyError):
        sound_bytes(".feather")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_sound_file_gives_its_table(write, suffix):
    table = check_table(read_table(write(suffix), **roles_of(suffix)))
    features = table.data.toarray() if hasattr(table.data, "toarray") else table.data
    np.testing.assert_array_equal(features, X)
    if reader_of(suffix) is _formats.read_svmlight:
        np.testing.assert_array_equal(table.target == 1, Y == 1)
        return
    np.testing.assert_array_equal(table.target, Y)
    assert (table.feature_names, table.label_names) == (NAMES[:2], NAMES[2:])
    assert [type(note) for note in table.notes] == [str] * len(table.notes)


NAMED = [suffix for suffix in SUFFIXES if reader_of(suffix) not in WITHOUT_NAMES]


@pytest.mark.parametrize("suffix", NAMED)
def test_a_reader_gives_the_columns_of_a_split_and_where_their_rows_are(write, suffix):
    path = write(suffix)
    with _formats.open_table(path, reader_of(suffix), Form(), []) as source:
        assert source.names == NAMES
        assert str(source.path) == str(path)
        assert source.line is None or source.line >= 1
        split = split_columns(source, Roles(label_columns=["cold"], drop=["flu"], id_column="height"), ["cold"])
        table = source.read(split)
    assert isinstance(table, Table)
    assert [*table.columns] == split.column_names == ["width", "cold", "height"]
    assert table.n_rows == N
    assert {len(cells) for cells in table.columns.values()} == {N}
    assert len(table.lines) == N
    assert (np.diff(table.lines) > 0).all()
    assert table.unit in ("line", "row")


@pytest.mark.parametrize("suffix", NAMED)
def test_a_raw_table_has_the_same_plan_in_every_format(write, suffix):
    table = read_table(write(suffix), plan=Choices(), label_columns=["cold"], drop=["flu"], id_column="height")
    assert [(column.name, column.kind) for column in table.plan.columns] == [
        ("width", "number"),
        ("height", "identifier"),
        ("flu", "dropped"),
    ]
    assert [*map(float, table.ids)] == X[:, 1].tolist()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "how", [{"label_columns": ["no such name"]}, {"drop": ["gout"]}, {"max_features": 1}, {"max_bytes": 10}]
)
def test_what_a_file_lacks_or_has_too_much_of_is_one_sentence(write, suffix, how):
    path = write(suffix)
    with pytest.raises(DataFileError) as error:
        read_table(path, **{**roles_of(suffix), **how})
    assert_one_sentence(str(error.value), path)


def assert_one_sentence(message, path):
    assert path.name in message
    assert message.endswith((".", "?"))
    assert message.isprintable()
    assert len(message) < 1000


def damaged(data, rng):
    """A sound file with a piece cut off, doubled, moved, overwritten or with other bytes in it."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        begin = rng.randrange(len(data) + 1)
        end = min(len(data), begin + rng.choice([1, 2, 4, 8, 40, 400]))
        piece = bytes(data[begin:end])
        kind = rng.randrange(6)
        if kind == 0:
            del data[begin:]
        elif kind == 1:
            del data[begin:end]
        elif kind == 2:
            data[begin:begin] = piece * rng.choice([1, 2, 50])
        elif kind == 3:
            data[begin:end] = rng.randbytes(len(piece))
        elif kind == 4:
            data[begin:end] = rng.choice([b"\0", b"\xff", b"\x80", b"9", b'"', b"\n"]) * len(piece)
        else:
            data[begin:end] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff" * 8, b"1e999", b"nan", b"{", b"'"])
    return bytes(data)


def hostile(suffix):
    """Files of this suffix, by what is wrong with them."""
    data = sound_bytes(suffix)
    rng = random.Random(suffix)
    yield "empty", b""
    yield "one byte", data[:1]
    yield "twice", data + data
    yield "zeros", bytes(len(data))
    yield "noise", rng.randbytes(2000)
    yield "a long line", data + b"9" * 100_000
    yield "nul bytes", data.replace(b"1", b"\0", 3)
    for other_suffix in READERS:
        if READERS[other_suffix] is not reader_of(suffix):
            yield f"a file of {other_suffix}", sound_bytes(other_suffix)
    for k in range(1, 20):
        yield f"{k} of 20 parts", data[: len(data) * k // 20]
    for k in range(120):
        yield f"damage {k}", damaged(data, rng)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_hostile_file_is_a_table_or_one_sentence(write, suffix):
    """Each file is read as a table of numbers and as a raw table."""
    n_refused = 0
    for defect, data in hostile(suffix):
        path = write(suffix, data)
        for plan in (None, Choices()):
            try:
                check_table(read_table(path, plan=plan, **roles_of(suffix)))
            except DataFileError as error:
                n_refused += 1
                assert_one_sentence(str(error), path)
            except Exception as error:
                error.add_note(f"{suffix}, {defect}")
                raise
    assert n_refused > 40  # the damage is no comedy


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_one_sentence(tmp_path, suffix):
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    for path in (folder, tmp_path / f"absent{suffix}"):
        with pytest.raises(DataFileError) as error:
            read_table(path, **roles_of(suffix))
        assert_one_sentence(str(error.value), path)
