"""The package: what its metadata says, what it holds, what it needs, and what works without the extras."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import graphmix as package
from command_line import graphmix
from graphmix.distribution import EXTRAS, NAME, __version__, importing, needs
from graphmix.errors import RunError
from graphmix.results.describe import versions
from graphmix.workflow.output import OutputTable
from small_tables import write_edges, write_nodes

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/graphmix"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOP = ("README.md", "CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "LICENSE", "CHANGELOG.md")
# Imported under another name than that of the distribution.
DISTRIBUTIONS = {"sklearn": "scikit-learn", "torch_geometric": "torch-geometric"}
QUICK = ("--trials", "2", "--epochs", "2", "--device", "cpu")


def names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, made as `python -m build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture
def metadata(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        (name,) = [name for name in held.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(held.read(name).decode())


def test_the_metadata_names_package_version_pythons_and_extras(metadata):
    assert metadata["Name"] == NAME == PROJECT["name"]
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra")) == {*EXTRAS, "all", "dev"}
    pythons = {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)}
    assert pythons <= set(metadata.get_all("Classifier"))
    assert PROJECT["scripts"] == {"graphmix": "graphmix.__main__:run"}


def test_the_wheel_holds_the_whole_package_and_its_types(built):
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        inside = {name for name in held.namelist() if ".dist-info/" not in name}
    there = {path.relative_to(ROOT / "src").as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert inside == {name for name in there if "__pycache__" not in name}
    assert "graphmix/py.typed" in inside


def test_the_sdist_holds_what_tests_and_docs_need(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as held:
        inside = {name.partition("/")[2] for name in held.getnames()}
    folders = ("src/graphmix/py.typed", "tests/test_package.py", "docs/conf.py", "results", "tools/check_package.py")
    for needed in (*TOP, "pyproject.toml", "constraints.txt", "Makefile", *folders):
        assert any(name == needed or name.startswith(f"{needed}/") for name in inside), needed


def test_the_extras_are_those_that_messages_name():
    extras = PROJECT["optional-dependencies"]
    assert {name: names(extras[name]) for name in EXTRAS} == {name: set(held) for name, held in EXTRAS.items()}
    assert extras["all"] == [f"{NAME}[{','.join(sorted(EXTRAS))}]"]
    assert f"{NAME}[all]" in extras["dev"]
    assert not names(PROJECT["dependencies"]) & {held for extra in EXTRAS.values() for held in extra}


def test_the_dependencies_are_what_is_imported():
    found = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    # Brought by torch for CUDA, by numba, by optuna and by jinja2.
    found -= {*sys.stdlib_module_names, "graphmix", "triton", "llvmlite", "sqlalchemy", "markupsafe"}
    imported = {DISTRIBUTIONS.get(name, name) for name in found}
    assert imported - {held for extra in EXTRAS.values() for held in extra} == names(PROJECT["dependencies"])


def kind(name):
    """Ruff's order of `__all__`: CONSTANTS, Classes, the rest."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2, name


def test_all_is_complete_sorted_and_documented():
    listed = package.__all__
    assert listed == sorted(listed, key=kind)
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported - {"attach", "__version__"} == set(listed)
    page = (ROOT / "docs/api.md").read_text()
    shown = set(re.findall(r"^\.\. auto\w+:: graphmix\.(\w+)(?![.\w])", page, re.MULTILINE))
    shown |= set(re.findall(r"^\.\. py:data:: (\w+)", page, re.MULTILINE))
    assert shown == set(listed)


def test_one_version_everywhere():
    assert package.__version__ == versions()["graphmix"] == __version__
    assert graphmix("--version").stdout.split() == ["graphmix", __version__]
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    released = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[:1] in ([], [__version__])
    wheels = re.findall(r"graphmix_learn-([\d.]+)-py3", (ROOT / "docs/install.md").read_text())
    assert set(wheels) == {__version__}


@pytest.mark.parametrize("folder", ["src", "docs", "tools", "benchmarks", "examples", ".github", "."])
def test_nothing_asks_for_the_other_graphmix(folder):
    asked = re.compile(r"""pip3? install (?:-\S+ )*['"]?graphmix(?![\w-])|version\(['"]graphmix['"]\)""")
    files = (ROOT / folder).glob("*") if folder == "." else (ROOT / folder).rglob("*")
    texts = [path for path in files if path.suffix in (".md", ".py", ".toml", ".yml", ".j2", ".js", ".cff", ".html")]
    assert texts or not (ROOT / folder).exists()
    assert [str(path) for path in texts if asked.search(path.read_text())] == []


def test_the_sentence_names_packages_and_extra():
    assert needs("a report", "report") == "a report needs plotly and jinja2: pip install 'graphmix-learn[report]'"
    sentence = r"^a table needs pandas: pip install 'graphmix-learn\[pandas\]'$"
    with pytest.raises(RunError, match=sentence), importing("a table", "pandas"):
        import nothing_of_the_kind  # noqa: F401


@pytest.fixture(params=["plotly", "jinja2"])
def without(request, monkeypatch):
    """A machine without one package of the extra `report`."""
    for name in [held for held in sys.modules if held.partition(".")[0] == request.param]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, request.param, None)


@pytest.mark.usefixtures("without")
def test_training_and_fitting_end_normally_without_the_extra_for_reports(tmp_path):
    nodes, edges = write_nodes(tmp_path / "nodes.csv"), write_edges(tmp_path / "edges.csv")
    tables = ("--nodes", nodes, "--edges", edges, "--label", "topic", "--methods", "label-propagation")
    for words in (("train", "synthetic", *QUICK, "--out", "run"), ("fit", *tables, "--out", "model")):
        ended = graphmix(*words, cwd=tmp_path, COLUMNS="200")
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count(f"no report was written: {needs('a report', 'report')}") == 1
        assert not list((tmp_path / words[-1]).glob("*.html"))
    asked = graphmix("report", "run", cwd=tmp_path, COLUMNS="200")
    assert asked.returncode == 2
    assert needs("a report", "report") in asked.stderr


def test_a_dataframe_without_pandas_is_one_sentence(tmp_path):
    (tmp_path / "pandas.py").write_text("raise ImportError('not here')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from graphmix.workflow.output import OutputTable; "
    code += "OutputTable({'id': ['a']}).to_pandas()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.strip().endswith(f"RunError: {needs('a DataFrame', 'pandas')}")
    assert list(OutputTable({"id": ["a"]}).to_pandas()["id"]) == ["a"]


def test_everything_public_is_imported_without_extras():
    code = (
        "import sys; sys.modules |= dict.fromkeys(['plotly', 'pandas', 'torch_geometric']); "
        "import graphmix, graphmix.report, graphmix.cli.main; [getattr(graphmix, name) for name in graphmix.__all__]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
