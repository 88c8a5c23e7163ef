"""CSV files as spreadsheets of different countries write them."""

import unicodedata

import pytest

from icpe.core.csv_text import one_line, read_cells
from icpe.core.errors import DataError
from icpe.core.number_text import EITHER


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
    assert cells.header == ["name", "note", "y"]
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


def test_letters_in_two_parts_equal_those_in_one(written):
    """As programs on a Mac write them; they look the same."""
    apart = unicodedata.normalize("NFD", "Größe;y\nhöher;p\n")
    cells = read_cells(written(apart), ("Größe",))
    assert cells.header == ["Größe", "y"] and cells.rows == [["höher", "p"]]
    assert one_line(unicodedata.normalize("NFD", "Größe")) == "Größe"


def test_lines_are_counted_as_an_editor_counts_them(written):
    cells = read_cells(written('a,b\n\n"two\nlines",1\n,\nx,2\n'))
    assert cells.rows == [["two\nlines", "1"], ["x", "2"]] and cells.lines == [4, 6]


def test_a_separator_at_the_end_of_every_line_is_no_column(written):
    assert read_cells(written("a,y,\n1,p,\n")).header == ["a", "y"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("", "is empty; its first line must name the columns"),
        ("a,b\n1,2\n3\n", "line 3 has 1 value, and the header 2"),
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


def test_what_stands_above_the_header_is_left_out_with_a_word(written):
    text = "Report 2024,,\n,,\nx,The class,z\n1,p,3\n"
    with pytest.warns(UserWarning, match=r"the header is line 3; .* 'Report 2024'"):
        cells = read_cells(written(text), ["the class"])
    assert cells.header == ["x", "The class", "z"] and cells.lines == [4]
    with pytest.warns(UserWarning, match="the header is line 2"):
        cells = read_cells(written("Report\nx;y\n1,5;p\n2,5;q\n"), ["y"])
    assert cells.rows == [["1,5", "p"], ["2,5", "q"]]


def test_a_row_that_has_the_wanted_word_is_no_header(written):
    cells = read_cells(written("x,who,y\n1,flu,p\n2,cold,q\n"), ["flu"])
    assert cells.header == ["x", "who", "y"] and len(cells.rows) == 2


def test_excel_may_say_what_separates_values(written):
    cells = read_cells(written("sep=;\r\na,b;y\r\n1,5;p\r\n"))
    assert cells.header == ["a,b", "y"] and cells.lines == [3]


def test_commas_in_the_header_do_not_hide_semicolons(written):
    text = "Temp, C;Druck, bar;y\n1,5;2,5;p\n2,5;1,5;q\n"
    assert read_cells(written(text), ["y"]).header == ["Temp, C", "Druck, bar", "y"]


def test_columns_without_name_and_values_are_none(written):
    cells = read_cells(written("a,,y,,\n1,,p,,\n2,,q,,\n"))
    assert cells.header == ["a", "y"] and cells.rows == [["1", "p"], ["2", "q"]]
    assert read_cells(written("a,y\n1,p,\n2,q,\n")).rows == [["1", "p"], ["2", "q"]]
    assert read_cells(written("a,,y\n1,3,p\n")).header == ["a", "", "y"]


def test_names_stand_on_one_line_and_rows_end_where_an_editor_ends_them(written):
    cells = read_cells(written('"blood\npressure",y\na\u2028b,p\n'))
    assert cells.header == ["blood pressure", "y"]
    assert cells.rows == [["a\u2028b", "p"]]


def test_a_stray_quote_does_not_swallow_rows_in_silence(written):
    with pytest.raises(DataError, match="in line 3 begins with a quote that is never"):
        read_cells(written('x,y,note\n1,p,ok\n2,q,"tight\n3,p,ok\n'))
    for text in ('x,y,n\n1,p,"a\n2,q,b\n3,p,c"\n', 'x,n,y\n1,"a,p\n2,"b,q\n3,c,p\n'):
        with pytest.warns(UserWarning, match="lines, which look like rows"):
            read_cells(written(text))


def test_the_mark_before_decimals_is_that_of_most_numbers(written):
    def mark(text):
        return read_cells(written(text)).decimal

    assert mark("a;b;y\n1.234;2,5 bar;p\n") == ","
    assert mark("a;y\n0.5;p\n") == "."
    assert mark("a;y\n1,234;p\n") == EITHER and mark("a\ty\n1,234\tp\n") == "."
    assert mark('a,b,y\n"1,234","2,5",p\n') == ","
