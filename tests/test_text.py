"""Text from elsewhere, made fit for a terminal."""

from graphmix.text import clipped, visible


def test_control_characters_are_shown_escaped():
    assert visible("\x1b[31mred\x07\r\n\x00\x7f\x9b") == "\\x1b[31mred\\x07\\r\\n\\x00\\x7f\\x9b"


def test_text_cannot_be_turned_around():
    assert visible("abc\u202egpj.exe\u2066") == "abc\\u202egpj.exe\\u2066"


def test_a_file_name_that_is_not_utf8_can_be_encoded():
    shown = visible(b"caf\xe9.csv".decode("utf-8", "surrogateescape"))
    assert shown == "caf\\udce9.csv"
    shown.encode("utf-8")


def test_ordinary_text_of_any_script_stays():
    for text in ("Zürich", "数据", "می\u200cخواهم", "👩\u200d🔬", "a\u00a0b"):
        assert visible(text) == text


def test_long_text_keeps_both_ends():
    assert clipped("a" * 500 + "b" * 500, 1000) == "a" * 500 + "b" * 500
    cut = clipped("a" * 500_000 + "b" * 500_000, 1000)
    assert cut.startswith("a" * 500 + " …")
    assert cut.endswith("… " + "b" * 500)
    assert "1,000,000 characters" in cut
