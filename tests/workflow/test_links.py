"""Links as nodes: features by hand, users with and without a table of their own, and links that come later."""

import numpy as np
import pytest
import scipy.sparse as sp

from graphmix.errors import ConfigError, DataError
from graphmix.workflow.columns import Columns
from graphmix.workflow.links import link_features
from graphmix.workflow.model import load_model
from graphmix.workflow.problems import read_problem
from small_tables import fit_tables

ENDS = np.array([[0, 1, 2], [1, 2, 2]])


def test_features_of_a_link_are_its_ends_its_own_and_the_mean_of_theirs():
    own = np.array([[7.0], [8.0], [9.0]])
    user_x = sp.csr_array(np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 0.0]]))
    made = link_features(ENDS, 3, own, user_x).toarray()
    np.testing.assert_array_equal(
        made,
        [
            [0.5, 0.5, 0, 7, 2, 1],
            [0, 0.5, 0.5, 8, 4, 1],
            [0, 0, 1, 9, 5, 0],  # from a user to itself
        ],
    )
    np.testing.assert_array_equal(link_features(ENDS, 3, None, None).toarray(), made[:, :3])


def test_users_that_are_new_have_no_column_but_may_have_features():
    ends = np.array([[0, 3], [3, 4]])
    user_x = sp.csr_array(np.array([[1.0], [0], [0], [3.0], [0]]))
    made = link_features(ends, 2, None, user_x).toarray()
    np.testing.assert_array_equal(made, [[0.5, 0, 2], [0, 0, 1.5]])


LINKS = "rating,who,whom,amount\n" + "".join(
    f"{('good', 'bad', '')[n % 3]},u{n % 6},u{n * n % 5},{n % 7 + 0.5}\n" for n in range(30)
)
USERS = "name,age\n" + "".join(f"u{n},{20 + 3 * n % 17}\n" for n in range(6))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("links")
    (folder / "links.csv").write_text(LINKS)
    (folder / "users.csv").write_text(USERS)
    columns = Columns(link_label="rating")
    # The label's column comes first and is not taken for an end.
    fit_tables(
        folder, None, folder / "links.csv", columns=columns, methods=("graphmix", "label-propagation"), out="bare"
    )
    fit_tables(
        folder, folder / "users.csv", folder / "links.csv", columns=columns, methods=("supervised",), out="users"
    )
    return folder


@pytest.mark.parametrize(("out", "features"), [("bare", 6 + 1), ("users", 6 + 1 + 1)])
def test_links_are_nodes_joined_by_users(tables, out, features):
    problem = load_model(tables / out).problem
    assert problem.ids == ([f"u{n}" for n in range(6)])
    assert problem.graph.x.shape == (30, features)
    assert problem.graph.structure.ends.tolist() == [[n % 6 for n in range(30)], [n * n % 5 for n in range(30)]]
    rows = (tables / out / "predictions.csv").read_text().splitlines()
    assert rows[0].startswith("who,whom,label,predicted,probability")
    assert [row.split(",")[:3] for row in rows[1:4]] == [
        ["u0", "u0", "good"],
        ["u1", "u1", "bad"],
        ["u2", "u4", ""],
    ]


def new_links(folder, text):
    (folder / "new.csv").write_text(text)
    return folder / "new.csv"


def test_links_that_come_later(tables, tmp_path):
    stored = load_model(tables / "bare")
    later = new_links(tmp_path, "amount,rating,who,whom\n1.5,good,u0,u9\n,bad,u8,u9\n2.5,,u1,u1\n")
    grown = stored.problem.grow(None, later)
    assert grown.first == 30
    assert grown.new_names == {"who": ["u0", "u8", "u1"], "whom": ["u9", "u9", "u1"]}
    assert grown.names["who"][29:] == ["u5", "u0", "u8", "u1"]
    assert grown.graph.y.tolist()[30:] == [-1, -1, -1]
    x = grown.graph.x
    x = x.numpy() if hasattr(x, "numpy") else x.to_scipy().toarray()
    np.testing.assert_array_equal(x[30:, :6], [[0.5, 0, 0, 0, 0, 0], [0] * 6, [0, 1, 0, 0, 0, 0]])
    assert any("2 users are new" in note for note in grown.notes)
    (tmp_path / "users.csv").write_text(USERS)
    notes = stored.problem.grow(tmp_path / "users.csv", later).notes
    assert any("table of nodes is not used" in note for note in notes)
    probabilities = stored.mixture.probabilities(grown.graph)
    assert np.isfinite(probabilities).all()
    assert probabilities.shape == (33, 2)


def test_users_that_come_later_bring_their_features(tables, tmp_path):
    stored = load_model(tables / "users")
    later = new_links(tmp_path, "who,whom,amount\nu9,u0,1\nu7,u7,1\n")
    (tmp_path / "users.csv").write_text("age,name\n33,u9\n")
    grown = stored.problem.grow(tmp_path / "users.csv", later)
    x = grown.graph.x
    x = x.numpy() if hasattr(x, "numpy") else x.to_scipy().toarray()
    number = stored.problem.user_encoders.columns[0]
    scaled = [(age - number.mean) / number.std for age in (33, 20)]
    assert x[30, -1] == pytest.approx(np.mean(scaled), abs=1e-6)
    assert x[31, -1] == 0
    assert np.isfinite(stored.mixture.probabilities(grown.graph)).all()


@pytest.mark.parametrize(
    ("nodes", "links", "part"),
    [
        (None, None, ""),
        ("name,age\nu0,30\n", "who,whom,amount\nu0,u1,1\n", "node 'u0' was there at training"),
        (None, "who,whom\nu0,u1\n", "has no column 'amount', which the model was trained with"),
        (None, "who\nu0\n", "needs two columns"),
        (None, "who,whom,amount\n", "has a header but no rows"),
    ],
)
def test_tables_that_do_not_fit(tables, tmp_path, nodes, links, part):
    stored = load_model(tables / "users")
    paths = []
    for name, text in (("n.csv", nodes), ("l.csv", links)):
        if text is not None:
            (tmp_path / name).write_text(text)
        paths.append(None if text is None else tmp_path / name)
    if links is None:
        assert stored.problem.grow(*paths).first == 0
        with pytest.raises(DataError, match="give a table of new links, `edges`"):
            stored.problem.grow(tmp_path / "n.csv", None)
        return
    with pytest.raises(DataError, match=part):
        stored.problem.grow(*paths)


def test_a_table_of_users_must_have_them_all(tables, tmp_path):
    (tmp_path / "few.csv").write_text("name,age\nu0,1\nu1,2\n")
    with pytest.raises(DataError, match=r"links.csv line 4: 'u2' is not among the nodes of few.csv"):
        read_problem(tmp_path / "few.csv", tables / "links.csv", Columns(link_label="rating"))


def test_labels_in_no_part_of_the_split_are_noted(tmp_path):
    part = ("train", "val", "test", "")
    lines = [f"u{n % 6},u{n * n % 5},{('good', 'bad')[n % 2]},{part[n // 2 % 4]}" for n in range(24)]
    (tmp_path / "links.csv").write_text("\n".join(["who,whom,rating,part", *lines]))
    problem = read_problem(None, tmp_path / "links.csv", Columns(link_label="rating", split="part"))
    assert "6 labels are in no part of the split and not used" in problem.notes


def test_columns_are_looked_for_in_both_tables(tables):
    columns = Columns(link_label="rating", features={"age": None})
    problem = read_problem(tables / "users.csv", tables / "links.csv", columns)
    assert (problem.link_encoders, problem.graph.num_features) == (None, 6 + 1)
    with pytest.raises(DataError, match="no table has a column 'size'"):
        read_problem(tables / "users.csv", tables / "links.csv", Columns(link_label="rating", ignore=("size",)))


def test_unknown_users_of_links_cannot_be_ignored(tables, tmp_path):
    (tmp_path / "more.csv").write_text("who,whom,amount\nu1,u9,2\n")
    with pytest.raises(ConfigError, match="`ignore_unknown`"):
        load_model(tables / "bare").predict(edges=tmp_path / "more.csv", ignore_unknown=True)
