"""How the command ends: one sentence and an exit code for what the user can correct."""

import errno
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch
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


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory: you tried to"),
        RuntimeError("can't start new thread"),
        pa.ArrowMemoryError("malloc of size 64 failed"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        np._core._exceptions._ArrayMemoryError((2**40,), np.dtype("f8")),
    ],
)
def test_out_of_memory_says_what_would_help_in_that_command(monkeypatch, capsys, error):
    code, told = ended(monkeypatch, capsys, "train", raising=error)
    assert code == 2
    assert "out of memory" in told
    assert "--chunk" in told
    assert ended(monkeypatch, capsys, "show", raising=error) == (2, "graphmix: out of memory")


def test_ctrl_c_ends_with_its_exit_code_and_no_traceback(monkeypatch, capsys):
    assert ended(monkeypatch, capsys, "train", raising=KeyboardInterrupt()) == (130, "graphmix: interrupted")


def test_a_bad_option_is_one_sentence(monkeypatch, capsys):
    code, told = ended(monkeypatch, capsys, "train", "--colour", "red", raising=AssertionError())
    assert code == 2
    assert len(told.splitlines()) == 1
    assert "--colour" in told
