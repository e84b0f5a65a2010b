"""Dates and times as people write them: every form by hand, Python's datetime as the oracle."""

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.dates import as_dates
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.table import Table

EVERY_FORM = Path(__file__).parent / "as_people_write.csv"
EPOCH = dt.datetime(1970, 1, 1)
UTC = dt.UTC


def day(*parts):
    return (dt.datetime(*parts) - EPOCH) / dt.timedelta(days=1)


def clock(hour, minute, second=0):
    return (hour * 3600 + minute * 60 + second) / 86400


NAN = float("nan")
# By column: the form, and the days of the five rows.
DATES = {
    "iso": (
        "2020-12-31",
        [day(2020, 12, 31), -1, 0.25, day(2000, 2, 29, 23, 59, 30), NAN],
    ),
    "day first": ("31/12/2020", [day(2020, 12, 31), day(2020, 2, 1), day(2021, 4, 3), day(2020, 2, 29), NAN]),
    "month first": ("12/31/2020", [day(2020, 12, 31), day(2020, 1, 2), day(2021, 3, 4), day(2020, 2, 29), NAN]),
    "named": ("Dec 31, 2020", [day(2020, 12, 31), 1, day(2021, 2, 1), day(1999, 9, 3), NAN]),
    "clock": ("23:59", [clock(23, 59), clock(0, 30), clock(13, 15), 0, clock(6, 0, 30)]),
    "zoned": ("2020-12-31", [*[day(2020, 12, 31, 12)] * 3, day(2021, 1, 1), NAN]),
}


def texts(*cells):
    column = pa.chunked_array([pa.array(cells, pa.string())])
    return Table("memory.csv", {"it": column}, len(cells))


@pytest.mark.parametrize("name", DATES)
def test_every_form_is_read(name):
    form, days = DATES[name]
    found = as_dates(read_table(EVERY_FORM), name)
    assert (found.form, found.doubt) == (form, "")
    assert not len(found.wrong)
    np.testing.assert_allclose(found.days, days, rtol=0, atol=1e-9)


def test_every_column_of_dates_is_a_feature():
    choices = choose_columns(read_table(EVERY_FORM), exclude=["id"])
    assert {name: choices[name].kind for name in DATES if not choices[name].why_not} == dict.fromkeys(DATES, "date")


FORMATS = {
    "2020-12-31": ["%Y-%m-%d", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %I:%M %p", "%Y.%m.%d"],
    "31/12/2020": ["%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y %H:%M:%S", "%d/%m/%Y %I:%M%p"],
    "12/31/2020": ["%m/%d/%Y", "%m/%d/%Y %H:%M:%S", "%m/%d/%y"],
    "31 Dec 2020": ["%d %b %Y", "%d-%b-%Y", "%d %B %Y %H:%M", "%a, %d %b %Y %H:%M:%S GMT", "%d-%b-%y"],
    "Dec 31, 2020": ["%b %d, %Y", "%B %d %Y", "%a %b %d, %Y", "%b %d, %Y %I:%M:%S %p"],
}
PAIRS = [(form, each) for form, several in FORMATS.items() for each in several]


@given(
    dates=st.lists(st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2068, 12, 31)), min_size=1, max_size=20),
    pair=st.sampled_from(PAIRS),
)
def test_what_is_written_comes_back_as_the_day(dates, pair):
    form, written = pair
    # A day that cannot be a month decides the order.
    cells = [date.strftime(written) for date in [*dates, dt.datetime(2020, 12, 31, 13, 5, 9)]]
    expected = [(dt.datetime.strptime(cell, written) - EPOCH) / dt.timedelta(days=1) for cell in cells]
    found = as_dates(texts(*cells), "it")
    assert (found.form, found.doubt) == (form, "")
    assert not len(found.wrong)
    np.testing.assert_allclose(found.days, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("zone", ["+02:00", "+0200", "+02", "-05:30", "Z", " UTC"])
def test_time_zones_are_taken_off(zone):
    moment = dt.datetime(2020, 7, 1, 1, 30, tzinfo=UTC)
    written = zone.strip().replace("UTC", "+0000").replace("Z", "+0000")
    away = dt.datetime.strptime(written if len(written) > 3 else f"{written}00", "%z").utcoffset()
    local = (moment + away).strftime("%Y-%m-%dT%H:%M:%S")
    found = as_dates(texts(f"{local}{zone}", "2020-01-01"), "it")
    assert found.days[0] == pytest.approx(day(2020, 7, 1, 1, 30))


@pytest.mark.parametrize(
    ("cell", "read", "said"),
    [
        ("1/2/2020", day(2020, 1, 2), "1/2/2020 is read as 2 January; it could also be 1 February"),
        ("1.2.2020", day(2020, 2, 1), "1.2.2020 is read as 1 February; it could also be 2 January"),
        ("1-2-2020", day(2020, 2, 1), "1.2.2020 is read as 1 February; it could also be 2 January"),
    ],
)
def test_dates_that_may_be_either_are_read_by_rule_and_said(cell, read, said):
    found = as_dates(texts(cell, cell), "it")
    assert found.days[0] == read
    assert found.doubt == said


@pytest.mark.parametrize(
    "cell",
    [
        "2020-13-01",
        "2020-02-30",
        "2021-02-29",
        "2020-00-10",
        "2020-01-01 24:00",
        "2020-01-01 13:00 PM",
        "0000-01-01",
        "2020-1",
        "soon",
        "20200101x",
        "2020-01-01T",
        "2020-01-01 1:5",
    ],
)
def test_days_that_are_not_in_the_calendar_are_wrong(cell):
    found = as_dates(texts("2020-01-01", "2020-01-02", "2020-01-03", cell), "it")
    assert found.wrong.tolist() == ([] if cell == "2020-1" else [3])


def test_columns_that_only_look_like_dates_are_something_else():
    assert used_kinds(choose_columns(texts("16:9", "4:3", "16:9", "4:3"))) == {"it": "category"}
    assert used_kinds(choose_columns(texts("may", "june", "may", "june"))) == {"it": "category"}
    assert used_kinds(choose_columns(texts("1999", "2001", "1999"))) == {"it": "number"}


def test_dates_are_a_number_and_the_parts_that_differ():
    table = texts("2020-01-06", "2020-04-06", "2020-07-06", "2020-10-05")
    (column,) = Encoders.fit(table, {"it": "date"}).columns
    # All are Mondays at midnight.
    assert column.parts == ("month",)
    assert column.feature_names == ["it", "it: sine of month", "it: cosine of month"]
    x = column.encode(table).x
    # January, April, July and October are the quarters of a circle.
    np.testing.assert_allclose(x[:, 1:], [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-6)
    days = np.array([day(2020, 1, 6), day(2020, 4, 6), day(2020, 7, 6), day(2020, 10, 5)])
    np.testing.assert_allclose(x[:, 0], (days - days.mean()) / days.std(), rtol=1e-5)


def test_weekdays_and_hours_go_round():
    table = texts("2020-01-06 00:00", "2020-01-07 06:00", "2020-01-12 12:00", "")
    (column,) = Encoders.fit(table, {"it": "date"}).columns
    assert column.parts == ("weekday", "hour")
    x = column.encode(table).x
    week = 2 * np.pi * np.array([0, 1, 6]) / 7
    np.testing.assert_allclose(x[:3, 2], np.sin(week), atol=1e-6)
    np.testing.assert_allclose(x[:3, 3], np.cos(week), atol=1e-6)
    np.testing.assert_allclose(x[:3, 4:], [[0, 1], [1, 0], [0, -1]], atol=1e-6)
    # A missing date is marked, and is nowhere on the circles.
    assert x[3].tolist() == [0, 1, 0, 0, 0, 0]


def test_numbers_and_dates_together_have_length_1(table):
    found = table("a,b\n1,2020-01-01\n3,2020-07-03\n")
    encoders = Encoders.fit(found, {"b": "date", "a": "number"})
    assert [column.kind for column in encoders.columns] == ["number", "date"]
    assert encoders.columns[1].parts == ("month", "weekday")
    np.testing.assert_allclose((encoders.encode(found).x.toarray() ** 2).sum(axis=1), [1, 1], rtol=1e-6)


@pytest.mark.parametrize(
    "kind",
    [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Berlin")],
    ids=str,
)
def test_types_of_parquet_are_the_dates_of_text(tmp_path, kind):
    moments = [dt.datetime(2020, 1, 6, tzinfo=UTC), None, dt.datetime(2021, 7, 9, tzinfo=UTC)]
    held = pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp("us", getattr(kind, "tz", None)))
    parquet.write_table(pa.table({"it": held.cast(kind, safe=False)}), tmp_path / "t.parquet")
    typed = read_table(tmp_path / "t.parquet")
    assert used_kinds(choose_columns(typed)) == {"it": "date"}
    encoders = Encoders.fit(typed, {"it": "date"})
    again = encoders.encode(texts("2020-01-06", "", "2021-07-09"))
    np.testing.assert_array_equal(again.x.toarray(), encoders.encode(typed).x.toarray())


def test_times_without_a_date_only_have_hours(tmp_path):
    parquet.write_table(pa.table({"it": [dt.time(6), dt.time(18)]}), tmp_path / "t.parquet")
    for table in (read_table(tmp_path / "t.parquet"), texts("06:00", "18:00")):
        (column,) = Encoders.fit(table, {"it": "date"}).columns
        assert (column.form, column.parts) == ("23:59", ("hour",))
        np.testing.assert_allclose(column.encode(table).x, [[-1, 1, 0], [1, -1, 0]], atol=1e-6)


def test_durations_are_numbers(tmp_path):
    held = pa.array([dt.timedelta(days=1), dt.timedelta(days=3)])
    parquet.write_table(pa.table({"it": held}), tmp_path / "t.parquet")
    assert used_kinds(choose_columns(read_table(tmp_path / "t.parquet"))) == {"it": "number"}


def test_the_form_is_kept_for_other_tables():
    encoders = Encoders.fit(texts("31/12/2020", "30/12/2020"), {"it": "date"})
    again = Encoders.from_json(encoders.to_json()).encode(texts("1/2/2021", "12/31/2020", "?"))
    # 1 February is more than 10 deviations of half a day away; with the weekday the length is the root of 2.
    assert again.x.toarray()[0, 0] == pytest.approx(10 / np.sqrt(2))
    assert again.notes == [
        "column 'it': 1 cell counted as missing: not a date like 31/12/2020 (first '12/31/2020', memory.csv row 2)",
        "column 'it': 1 cell is missing; the mean is used",
    ]
    with pytest.raises(DataError, match=r"^memory.csv row 1: 'soon' in column 'it' is not a date like 31/12/2020$"):
        encoders.encode(texts("soon", ""))


@pytest.mark.parametrize("cells", [("a", "b"), ("1", "2"), ("2020-01-01", "b")])
def test_a_column_of_other_cells_cannot_be_dates(cells):
    with pytest.raises(DataError, match=r"in column 'it' is not a date; choose another kind for the column$"):
        choose_columns(texts(*cells), asked={"it": "date"})
