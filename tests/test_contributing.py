"""The list of files in CONTRIBUTING.md is that of the tree."""

from file_index import PAGE, filled


def test_the_list_of_files_is_up_to_date():
    """Otherwise: make file-index"""
    page = PAGE.read_text(encoding="utf-8")
    assert page == filled(page)
