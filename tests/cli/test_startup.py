"""What the command line answers without torch, and Ctrl-C while it starts."""

import functools
import os
import signal
import subprocess
import sys

import pytest

# Run the command, then say whether torch was imported for it.
WATCHED = """
import runpy, sys
try:
    runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
finally:
    print("torch" if "torch" in sys.modules else "no torch", file=sys.stderr)
"""

# Run the command, and press Ctrl-C when it is about to import a module.
INTERRUPTED = """
import os, runpy, signal, sys

module = sys.argv.pop(1)

class PressCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, PressCtrlC())
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Press Ctrl-C while options are parsed, where somebody swallows KeyboardInterrupt.
WHILE_PARSING = """
import os, runpy, signal
import typer.core

def parse_args(self, ctx, args):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass
    return parse(self, ctx, args)

parse = typer.core.TyperCommand.parse_args
typer.core.TyperCommand.parse_args = parse_args
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Press Ctrl-C when a command has begun, before it does anything that it could say more about.
AS_IT_BEGINS = """
import os, runpy, signal
import typer.core

def invoke(self, ctx):
    os.kill(os.getpid(), signal.SIGINT)
    return begin(self, ctx)

begin = typer.core.TyperCommand.invoke
typer.core.TyperCommand.invoke = invoke
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Run the command, and press Ctrl-C some time after its own first import.
AFTER_SECONDS = """
import os, runpy, signal, sys, threading

seconds = float(sys.argv.pop(1))

class PressCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "graphmix.cli.main":
            sys.meta_path.remove(self)
            timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()

sys.meta_path.insert(0, PressCtrlC())
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Run the command, and press Ctrl-C in a callback whose errors Python cannot raise, as importlib has them.
IN_A_CALLBACK = """
import os, runpy, signal, sys

class PressCtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            sys.meta_path.remove(self)
            Dying()

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

sys.meta_path.insert(0, PressCtrlC())
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Run the command, and press Ctrl-C in an import that swallows every exception.
SWALLOWED = """
import os, runpy, signal, sys

class Careless:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                print("swallowed")

sys.meta_path.insert(0, Careless())
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Tests that a shell started in the background ignore Ctrl-C, and so would what they start.
heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)


def run(code, *arguments, cwd):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    variables = os.environ | {"OMP_NUM_THREADS": "1", "GRAPHMIX_CACHE": str(cwd / "cache")}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=300, preexec_fn=heed)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "Usage"),
        (["--version"], 0, "graphmix "),
        (["train", "--help"], 0, "--learning-rate"),
        (["fit", "--help"], 0, "--edges"),
        (["data", "list"], 0, "citeseer"),
        (["paint"], 2, "paint"),
        (["train", "coar"], 2, "did you mean 'cora'?"),
        (["train", "synthetic", "--alpha", "-1"], 2, "alpha"),
        (["train", "synthetic", "--method", "magic"], 2, "magic"),
        (["demo", "--epochs", "0"], 2, "epochs"),
        (["fit", "--edges", "nowhere.csv", "--out", "model"], 2, "nowhere.csv"),
        (["fit", "--edges", "edges.csv", "--nodes", "nowhere.csv", "--label", "y", "--out", "model"], 2, "nowhere.csv"),
        (["fit", "--edges", "edges.csv", "--out", "model"], 2, "--label"),
        (["fit", "--edges", "edges.csv", "--link-label", "y", "--trials", "0", "--out", "model"], 2, "--trials"),
        (["train", "synthetic", "--split", "mine"], 2, "'mine'"),
        (["train", "nowhere.npz"], 2, "nowhere.npz"),
        (["report", "nowhere"], 2, "nowhere"),
        (["predict", "nowhere", "--out", "predictions.csv"], 2, "nowhere"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else None,
)
def test_help_and_errors_do_not_wait_for_torch(tmp_path, arguments, code, said):
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    result = run(WATCHED, *arguments, cwd=tmp_path)
    assert result.returncode == code, result.stderr
    assert said in result.stdout + result.stderr
    assert result.stderr.splitlines()[-1] == "no torch"


def test_importing_graphmix_does_not_import_torch(tmp_path):
    code = "import graphmix, sys; graphmix.DATASETS, graphmix.DataError; assert 'torch' not in sys.modules; "
    code += "assert graphmix.data.resolve('Cora') == 'cora'; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


SAID = "graphmix: interrupted\n"


def test_ctrl_c_while_options_are_parsed_ends_the_command(tmp_path):
    result = run(WHILE_PARSING, "data", "list", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", SAID)


def test_ctrl_c_that_a_package_would_swallow_ends_the_command(tmp_path):
    result = run(SWALLOWED, "data", "list", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", SAID)


@pytest.mark.parametrize("module", ["graphmix.cli.main", "typer", "rich.console", "graphmix.cli.fit", "numpy", "torch"])
def test_ctrl_c_while_modules_are_imported_prints_no_traceback(tmp_path, module):
    result = run(INTERRUPTED, module, "train", "synthetic", "--epochs", "2", "--trials", "1", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", SAID)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_a_callback_of_an_import_ends_the_command(tmp_path):
    result = run(IN_A_CALLBACK, "data", "list", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", SAID)


def test_ctrl_c_as_a_command_begins_says_so(tmp_path):
    result = run(AS_IT_BEGINS, "data", "list", cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", SAID)


@pytest.mark.parametrize("seconds", [0, 0.1, 0.3, 0.6, 1.0, 1.5])
def test_ctrl_c_early_prints_no_traceback(tmp_path, seconds):
    result = run(AFTER_SECONDS, seconds, "train", "synthetic", "--epochs", "5000", "--out", "run", cwd=tmp_path)
    assert result.returncode == 130, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "interrupted" in result.stderr.splitlines()[-1]
