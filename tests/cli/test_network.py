"""Which commands use the network."""

import socket

from command_line import QUICK, graphmix
from small_tables import write_edges, write_nodes


def test_a_model_is_fitted_used_and_shown_without_the_network(tmp_path, monkeypatch):
    tables = ["--nodes", write_nodes(tmp_path / "n.csv"), "--edges", write_edges(tmp_path / "e.csv")]
    model, asked = tmp_path / "model", []

    def refuse(*_):
        asked.append("network")
        raise OSError("no network here")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    options = ["--methods", "supervised,fcn", *QUICK]
    for command in (
        ["fit", *tables, "--label", "topic", "--out", model, *options],
        ["predict", model, "--out", tmp_path / "p.csv"],
        ["advise", model, "--count", "2"],
        ["report", model, "--out", tmp_path / "page.html"],
    ):
        result = graphmix(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert asked == []
