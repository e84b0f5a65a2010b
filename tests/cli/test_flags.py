"""Parameters in the library's messages become options on the command line."""

import pytest

from graphmix.cli.flags import translate

OPTIONS = {"--out", "-o", "--learning-rate", "--lr", "--split", "--report", "--no-report", "--metric", "--id"}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`learning_rate` must be above 0, not -1", "--learning-rate must be above 0, not -1"),
        ("choose another `out`", "choose another --out"),
        ("`out` and `split`", "--out and --split"),
        ("`id`: no such column", "--id: no such column"),
        # Not an option of this command: the parameter's name stays.
        ("`alpha` must be at least 0", "`alpha` must be at least 0"),
        ("`learning` and `learning_rates`", "`learning` and `learning_rates`"),
        # Not a parameter at all.
        ("`graphmix data list` shows all", "`graphmix data list` shows all"),
        ("a column `Split`", "a column `Split`"),
        ("no option here: out, split", "no option here: out, split"),
        ("an open backtick `out", "an open backtick `out"),
        # With a value.
        ("set `report=False`", "set --no-report"),
        ("set `report=True`", "set --report"),
        ("set `metric='macro-f1'`", "set --metric macro-f1"),
        ("set `metric=accuracy`", "set --metric accuracy"),
        ("set `out=False`", "set `out=False`"),
    ],
)
def test_a_parameter_in_backticks_becomes_the_option_of_its_name(message, shown):
    assert translate(message, OPTIONS) == shown


def test_without_options_nothing_changes():
    assert translate("choose another `out`", ()) == "choose another `out`"
