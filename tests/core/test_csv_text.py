"""CSV files as spreadsheets of different countries write them."""

import numpy as np
import pytest

from icpe.core.csv_text import all_numbers, as_number, read_cells
from icpe.core.errors import DataError


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "table.csv"
        given = text if isinstance(text, bytes) else text.encode(encoding)
        path.write_bytes(given)
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found(written, delimiter):
    text = "name,note,y\na,1;2,p\nb,3;4,q\n"
    if delimiter != ",":
        text = "name,note,y\na,1 2,p\nb,3 4,q\n".replace(",", delimiter)
    cells = read_cells(written(text))
    assert cells.delimiter == delimiter and cells.header == ["name", "note", "y"]
    assert [row[2] for row in cells.rows] == ["p", "q"]


def test_decimal_commas_do_not_hide_semicolons(written):
    cells = read_cells(written("x;y\n1,5;p\n2,25;q\n"))
    assert cells.header == ["x", "y"] and cells.rows == [["1,5", "p"], ["2,25", "q"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_spreadsheets_are_read(written, encoding):
    cells = read_cells(written('"Größe";y\n1;p\n', encoding))
    assert cells.header == ["Größe", "y"]


def test_what_excel_writes_in_western_europe_is_read_with_a_word(written):
    path = written("Größe;Preis;y\n1;5 €;p\n", "cp1252")
    with pytest.warns(UserWarning, match="it is read as Windows-1252"):
        cells = read_cells(path)
    assert cells.header == ["Größe", "Preis", "y"] and cells.rows[0][1] == "5 €"


def test_lines_are_counted_as_an_editor_counts_them(written):
    cells = read_cells(written('a,b\n\n"two\nlines",1\n,\nx,2\n'))
    assert cells.rows == [["two\nlines", "1"], ["x", "2"]] and cells.lines == [4, 6]


def test_a_separator_at_the_end_of_every_line_is_no_column(written):
    assert read_cells(written("a,y,\n1,p,\n")).header == ["a", "y"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("", "is empty; its first line must name the columns"),
        ("a,b\n1,2\n3\n", "line 3 has 1 values, and the header 2"),
        (b"PK\x03\x04\x00", "is a spreadsheet or an archive"),
        ("имя;y\nда;1\n".encode("cp1251"), "not text in UTF-8"),
        (b"a,b\n\x81,1\n", "not text in UTF-8"),
        (b"a,b\n\xe4\x00,1\n", "not text in UTF-8"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(written, given, complaint):
    with pytest.raises(DataError, match=complaint) as caught:
        read_cells(written(given))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "delimiter", "number"),
    [
        ("1234.5", ",", 1234.5),
        ("1,234.5", ",", 1234.5),
        ("1,234", ",", 1234.0),
        ("1,5", ",", 1.5),
        ("1,234", ";", 1.234),
        ("1.234,5", ";", 1234.5),
        ("-0,25", "\t", -0.25),
        ("1e-3", ";", 0.001),
    ],
)
def test_numbers_are_read_by_what_separates_values(text, delimiter, number):
    assert as_number(text, delimiter) == number


def test_a_column_is_written_in_one_way():
    found = all_numbers(["1.234", "2,5", "7"], ";")
    assert found is not None
    np.testing.assert_allclose(found, [1234.0, 2.5, 7.0])
    assert all_numbers(["1.234", "7"], ";") == [1.234, 7.0]
    assert all_numbers(["1", "x"], ";") is None
