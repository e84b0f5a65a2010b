"""The address of the page: a port of the loopback interface and a token, and how a browser gets there."""

import os
import secrets
import socket
from pathlib import Path

from graphmix.errors import ConfigError

HOST = "127.0.0.1"
_TOKEN_BYTES = 32


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback interface; port 0 takes any that is free.

    Raises:
        ConfigError: the port is taken, or may not be used.
    """
    # With the protocol by name: asyncio sends small packets at once only then, and others wait 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # After a kill the old port is held for a minute otherwise.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(64)
    except (OSError, OverflowError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"`port` {port} cannot be used: {why}; choose another, or leave it out") from error
    return listening


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def address(listening: socket.socket, token: str) -> str:
    """Return the address of the page."""
    return f"http://{HOST}:{listening.getsockname()[1]}/{token}/"


def redirect(folder: Path, page: str) -> Path:
    """Write a file that only this user can read and that leads a browser to the page; return it.

    Other users can read the command line of a browser, and so must not find the token there.
    """
    path = folder / "open.html"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={page}"><a href="{page}">Label</a>\n')
    return path
