"""Standard output and standard error that cannot be written, as real processes meet them."""

import os
import subprocess

import pytest

from command_line import COMMAND

FULL = "/dev/full"
ARGUMENTS = [["--help"], ["--version"], ["data", "list"], ["fit", "--help"], ["reproduce", "--list"]]


def run(arguments, cwd, redirected, **variables):
    """Run the command by a shell that redirects its streams."""
    script = f'exec "$@" {redirected}'
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GRAPHMIX_CACHE": str(cwd / "cache")} | variables
    return subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize(("redirected", "said"), [(f">{FULL}", "No space left"), (">&-", "closed")])
def test_output_that_cannot_be_written_is_one_sentence(tmp_path, arguments, redirected, said):
    result = run(arguments, tmp_path, redirected)
    assert result.returncode == 1, result.stderr
    (line,) = result.stderr.splitlines()
    assert "standard output" in line
    assert said in line


@pytest.mark.parametrize("plain", ["0", "1"])
def test_help_without_rich_and_without_a_buffer_too(tmp_path, plain):
    result = run(["train", "--help"], tmp_path, f">{FULL}", TYPER_USE_RICH=plain, PYTHONUNBUFFERED="1")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1


def test_a_pipe_that_nobody_reads(tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        result = subprocess.run(
            [*COMMAND, "data", "list"], cwd=tmp_path, stdout=write, stderr=-1, text=True, timeout=300
        )
    finally:
        os.close(write)
    assert result.returncode == 1
    assert result.stderr.splitlines() == ["graphmix: standard output cannot be written: Broken pipe"]


@pytest.mark.parametrize("redirected", [">&- 2>&-", f">{FULL} 2>{FULL}", ">&- 2>&- <&-"])
def test_nobody_can_be_told(tmp_path, redirected):
    assert run(["--version"], tmp_path, redirected).returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("redirected", ["2>&-", f"2>{FULL}"])
def test_without_standard_error_the_exit_code_stays(tmp_path, redirected):
    result = run(["paint"], tmp_path, redirected)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "")
    assert run(["--version"], tmp_path, redirected).returncode == 0


def test_what_is_printed_never_lands_in_a_file_that_got_the_number_of_a_closed_stream(tmp_path):
    arguments = ["train", "synthetic", "--trials", "1", "--epochs", "2", "--out", "run", "--no-report", "--json"]
    result = run(arguments, tmp_path, ">&- 2>&-")
    assert result.returncode == 1
    # The run is stored, and holds nothing but what it holds otherwise.
    assert (tmp_path / "run" / "results.json").read_text().startswith("{")
    assert "graphmix:" not in "".join(path.read_text("latin-1") for path in (tmp_path / "run").rglob("*.*"))
