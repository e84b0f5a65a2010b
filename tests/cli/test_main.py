"""How the command ends: one sentence and an exit code for what the user can correct."""

import sys

import pytest
import typer

from graphmix.cli import main
from graphmix.cli.flags import Command
from graphmix.errors import ConfigError


def ended(monkeypatch, capsys, *arguments, raising):
    """Run a command with the options --chunk and --learning-rate, or one without; return exit code and message."""
    app = typer.Typer()

    @app.command(cls=Command)
    def train(learning_rate: float = 0.1, chunk: int = 1) -> None:
        raise raising

    @app.command(cls=Command)
    def show() -> None:
        raise raising

    monkeypatch.setattr(main, "app", app)
    monkeypatch.setattr(sys, "argv", ["graphmix", *arguments])
    with pytest.raises(SystemExit) as caught:
        main.run()
    return caught.value.code, capsys.readouterr().err.strip()


def test_an_error_names_the_option_of_the_command_that_ran(monkeypatch, capsys):
    error = ConfigError("`learning_rate` must be above 0, not -1")
    assert ended(monkeypatch, capsys, "train", raising=error) == (
        2,
        "graphmix: --learning-rate must be above 0, not -1",
    )
    # The other command has no such option, and knows nothing of the one that ran before.
    assert ended(monkeypatch, capsys, "show", raising=error) == (2, f"graphmix: {error}")


@pytest.mark.parametrize("name", ["MemoryError", "torch.OutOfMemoryError"])
def test_out_of_memory_advises_an_option_only_where_there_is_one(monkeypatch, capsys, name):
    import torch

    error = MemoryError() if name == "MemoryError" else torch.OutOfMemoryError("CUDA")
    code, told = ended(monkeypatch, capsys, "train", raising=error)
    assert code == 2
    assert "out of memory" in told
    assert "--chunk" in told
    assert ended(monkeypatch, capsys, "show", raising=error) == (2, "graphmix: out of memory")


def test_ctrl_c_ends_with_its_exit_code_and_no_traceback(monkeypatch, capsys):
    assert ended(monkeypatch, capsys, "train", raising=KeyboardInterrupt()) == (130, "")


def test_a_bad_option_is_one_sentence(monkeypatch, capsys):
    code, told = ended(monkeypatch, capsys, "train", "--colour", "red", raising=AssertionError())
    assert code == 2
    assert len(told.splitlines()) == 1
    assert "--colour" in told
