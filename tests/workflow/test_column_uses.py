"""What became of every column: of nodes, edges, links and users."""

import pytest

from graphmix.errors import ConfigError, DataError
from graphmix.results.columns import ColumnUse, shown_uses
from graphmix.workflow.columns import Columns
from graphmix.workflow.problems import read_problem

NODES = """id,topic,part,size,price,when,code,same,nothing,word,flag
a,x,train,1,"1,200",2020-01-01,z1,7,,red,yes
b,y,val,2,"3,400",2020-01-02,z2,7,,blue,no
c,x,train,3,"(500)",2020-02-03,z3,7,,red,yes
d,y,,4,-,2020-03-04,z4,7,,blue,no
"""
EDGES = "source,target,weight,since\na,b,1,2020\nb,c,2,2021\nc,d,1,2022\n"


def uses(tmp_path, nodes=NODES, edges=EDGES, **columns):
    (tmp_path / "n.csv").write_text(nodes)
    (tmp_path / "e.csv").write_text(edges)
    found = read_problem(tmp_path / "n.csv", tmp_path / "e.csv", Columns(**columns))
    return {(use.table, use.name): (use.read_as, use.features, use.remark) for use in found.uses}, found


def test_every_column_of_nodes_and_edges(tmp_path):
    found, _ = uses(tmp_path, label="topic", split="part")
    keep = "; `keep={'%s': '%s'}` uses it"
    assert found == {
        ("n.csv", "id"): ("id", 0, ""),
        ("n.csv", "topic"): ("label", 0, ""),
        ("n.csv", "part"): ("split", 0, ""),
        ("n.csv", "size"): (
            "left out",
            0,
            "it looks like an id: every row has a different whole number" + keep % ("size", "number"),
        ),
        ("n.csv", "price"): ("number", 2, "1,234 is read as 1234; it could also be 1.234; 1 cell is missing"),
        ("n.csv", "when"): ("date", 5, ""),
        ("n.csv", "code"): (
            "left out",
            0,
            "it looks like an id or a name: nearly every row has a different value" + keep % ("code", "category"),
        ),
        ("n.csv", "same"): ("left out", 0, "all its numbers are the same" + keep % ("same", "number")),
        ("n.csv", "nothing"): ("left out", 0, "it is empty"),
        ("n.csv", "word"): ("category", 2, ""),
        ("n.csv", "flag"): ("number (yes/no as 1 and 0)", 1, ""),
        ("e.csv", "source"): ("end of an edge", 0, ""),
        ("e.csv", "target"): ("end of an edge", 0, ""),
        ("e.csv", "weight"): ("weight", 0, ""),
        ("e.csv", "since"): ("left out", 0, "of the edges only ends and weights are used"),
    }


def test_the_features_are_those_of_the_columns(tmp_path):
    found, problem = uses(tmp_path, label="topic", split="part")
    assert sum(features for _, features, _ in found.values()) == problem.graph.num_features


def test_what_is_kept_is_used_besides_the_others(tmp_path):
    before, _ = uses(tmp_path, label="topic")
    after, _ = uses(tmp_path, label="topic", keep={"code": "category", "size": None})
    assert after["n.csv", "size"] == ("number", 1, "")
    assert after["n.csv", "code"][0] == "category"
    same = before.keys() - {("n.csv", "size"), ("n.csv", "code")}
    assert {place: before[place] for place in same} == {place: after[place] for place in same}


def test_what_is_ignored_or_not_named_says_so(tmp_path):
    found, _ = uses(tmp_path, label="topic", ignore=["word"])
    assert found["n.csv", "word"] == ("left out", 0, "`ignore` names it")
    found, _ = uses(tmp_path, label="topic", features={"word": None})
    assert found["n.csv", "word"][0] == "category"
    assert found["n.csv", "price"] == ("left out", 0, "`features` does not name it")


def test_kept_columns_must_exist_and_not_be_told_otherwise(tmp_path):
    with pytest.raises(DataError, match=r"n.csv has no column 'none'"):
        uses(tmp_path, label="topic", keep={"none": None})
    with pytest.raises(DataError, match=r"column 'word' is chosen as a feature, but also named in `ignore`"):
        uses(tmp_path, label="topic", keep={"word": None}, ignore=["word"])
    with pytest.raises(ConfigError, match="give `features`, which names all columns to use, or `keep`"):
        Columns(features={"a": None}, keep={"b": None})
    with pytest.raises(ConfigError, match="`keep` must be a dictionary"):
        Columns(keep=["b"])


def test_kept_columns_are_stored():
    columns = Columns(label="y", keep={"a": "number"})
    assert Columns.from_json(columns.to_json()) == columns
    assert "keep" not in Columns(label="y").to_json()


def test_links_and_their_users(tmp_path):
    links = "source,target,sign,since,note\n" + "".join(
        f"{one},{other},{'+-'[place % 2]},{2000 + place % 3},z{place}\n"
        for place, (one, other) in enumerate(["ab", "bc", "cd", "da", "ac", "bd"])
    )
    users = "id,age,code\na,30,q1\nb,40,q2\nc,30,q3\nd,50,q4\n"
    found, _ = uses(tmp_path, users, links, link_label="sign")
    assert [(table, name, read_as) for (table, name), (read_as, _, _) in found.items()] == [
        ("e.csv", "source", "end of a link"),
        ("e.csv", "target", "end of a link"),
        ("e.csv", "sign", "label"),
        ("e.csv", "since", "number"),
        ("e.csv", "note", "left out"),
        ("n.csv", "id", "id"),
        ("n.csv", "age", "number"),
        ("n.csv", "code", "left out"),
    ]
    named, _ = uses(tmp_path, users, links, link_label="sign", features={"age": None})
    assert named["e.csv", "since"][0] == "left out"
    assert named["n.csv", "age"][0] == "number"
    kept, _ = uses(tmp_path, users, links, link_label="sign", keep={"code": "category"})
    assert kept["n.csv", "code"][0] == "category"
    assert kept["e.csv", "since"][0] == "number"


def test_a_column_that_gives_the_class_away_is_a_warning(tmp_path):
    rows = [(f"n{row}", "xy"[row % 2], row % 2 + (row % 7) / 10, row % 5) for row in range(40)]
    nodes = "id,topic,leak,size\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows)
    edges = "source,target\n" + "".join(f"n{row},n{(row + 1) % 40}\n" for row in range(40))
    _, problem = uses(tmp_path, nodes, edges, label="topic")
    assert problem.warnings == (
        "column 'leak' gives the label 'topic' away: alone it predicts 40 of 40 held-out labels; if it is known only "
        "once the label is, leave it out with `ignore=['leak']`.",
    )
    # Of a given split, the test labels are not looked at.
    parts = ["train" if row < 12 else "val" if row < 18 else "test" for row in range(40)]
    split = "\n".join(f"{line},{part}" for line, part in zip(nodes.splitlines(), ["part", *parts], strict=True))
    _, problem = uses(tmp_path, split, edges, label="topic", split="part")
    assert problem.warnings == ()


def test_of_many_columns_those_with_remarks_are_shown_and_the_rest_counted():
    many = [ColumnUse("n", f"c{place}", "number", 1, "odd" if place == 70 else "") for place in range(80)]
    many.append(ColumnUse("n", "code", "left out", 0, "it is empty"))
    shown, more = shown_uses(many, 40)
    assert len(shown) == 40
    assert [use.name for use in shown[-2:]] == ["c70", "code"]
    assert more == "and 41 more: 41 number"
    assert shown_uses(many[:40], 40) == (many[:40], "")


@pytest.mark.data
def test_us_counties_as_they_are(data_root):
    folder = data_root / "Wild" / "counties"
    if not folder.exists():
        pytest.skip("the counties are not there")
    columns = Columns(label="winner_2016")
    problem = read_problem(folder / "counties.csv", folder / "borders.csv", columns, ignore_unknown=True)
    found = {use.name: use.read_as for use in problem.uses}
    words = {"fips": "id", "county": "category", "State": "category", "winner_2016": "label"}
    ends = dict.fromkeys(("county_a", "county_b"), "end of an edge")
    skewed = ("POP_ESTIMATE_2016", "Civilian_labor_force_2016", "Employed_2016", "Unemployed_2016")
    numbers = {
        name: "number, as a logarithm" if name in skewed else "number"
        for name in found.keys() - words.keys() - ends.keys()
    }
    assert len(numbers) == 13
    assert found == words | ends | numbers
    assert problem.warnings == ()
