"""No file that is read can run code: the library names nothing that would let it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "graphmix"
# What turns the content of a file into code, or can.
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "runpy", "code"}
CALLS = {"eval", "exec", "compile", "torch.load", "np.load", "numpy.load", "pd.read_pickle", "os.system"}
# Its files are pickles. It reads them by a list of harmless constructors: tests/data/datasets/test_planetoid.py.
MAY_UNPICKLE = {"data/datasets/planetoid.py"}
# It reads no file: its bytes come from the workers that this process started, or that the user named.
FROM_WORKERS = {"executors/packing.py"}


def unsafe(tree):
    """The unsafe things that a module names, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from ((name, node.lineno) for name in names if name.partition(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in CALLS:
                yield called, node.lineno
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if (keyword.arg, value) in {("shell", True), ("allow_pickle", True), ("weights_only", False)}:
                    yield f"{called}({keyword.arg}={value})", node.lineno


def test_no_module_names_anything_that_runs_what_it_reads():
    paths = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name: list(unsafe(ast.parse(path.read_text()))) for name, path in paths.items()}
    assert {name for name, places in found.items() if places} == MAY_UNPICKLE | FROM_WORKERS


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(command, shell=True)",
        "eval(text)",
    ],
)
def test_such_names_would_be_noticed(code):
    assert list(unsafe(ast.parse(code)))
