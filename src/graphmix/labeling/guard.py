"""Guard: which requests are let in. Only this machine, only with the token, only from the page itself.

A page of another site may send requests to this machine too. It does not know the token, which is the first part of
every address here; its Origin is another; and where it has had its own name point to this machine, so is the Host.
"""

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST = 64 * 1024
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOOPBACK = ("127.0.0.1", "::1")


class Guard:
    """An ASGI application before another one.

    Args:
        app: what answers requests that are let in.
        token: the first part of every path.
        port: the port of the server.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            # There are no WebSockets here, and nothing to do at start or end.
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        body = await _read(receive)
        if body is None:
            await _refuse(send, 413, "the request is too large")
            return
        inner = {**scope, "path": scope["path"][len(self._token) + 1 :], "raw_path": b"", "root_path": ""}
        await self._app(inner, _whole(body, receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the reason for refusing a request; None to let it in."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        client = scope.get("client")
        if client is not None and client[0] not in _LOOPBACK:
            return 403, "only this machine may connect"
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "this is not the address of this server"
        if not _begins_with(scope["path"], self._token):
            return 403, "the address lacks the token; use the address that graphmix label printed"
        origins = headers.get("origin", [])
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return 403, "requests from other pages are not answered"
        site = headers.get("sec-fetch-site", ["none"])[0]
        if site not in ("none", "same-origin") and not self._opens_page(scope, headers):
            return 403, "requests from other pages are not answered"
        if scope["method"] == "POST":
            return _post_refusal(headers)
        return None if scope["method"] in ("GET", "HEAD") else (405, "there is no such request")

    def _opens_page(self, scope: Scope, headers: dict[str, list[str]]) -> bool:
        """Whether a link to the page is followed, in a window of its own: from the file that opens the browser."""
        asked = [headers.get(f"sec-fetch-{name}") for name in ("mode", "dest")]
        return (
            asked == [["navigate"], ["document"]] and scope["method"] == "GET" and scope["path"] == f"/{self._token}/"
        )


def _post_refusal(headers: dict[str, list[str]]) -> tuple[int, str] | None:
    if not headers.get("origin"):
        return 403, "an answer must come from the page"
    if headers.get("content-type", [""])[0].partition(";")[0].strip().lower() != "application/json":
        return 415, "an answer must be JSON"
    length = headers.get("content-length", ["0"])[0]
    if not length.isdecimal() or int(length) > LARGEST:
        return 413, "the request is too large"
    return None


def _begins_with(path: str, token: str) -> bool:
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    # The time it takes says nothing about the token.
    return secrets.compare_digest(first.encode("utf-8", "replace"), token.encode())


async def _read(receive: Receive) -> bytes | None:
    """Read a request's body; None if it is too large. The length that was stated may be a lie, or missing."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return None
    return body


def _whole(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read; then, whatever else comes: that the client has gone."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return waiting.pop() if waiting else await receive()

    return receiving


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *own]}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, reason: str) -> None:
    sending, body = _with_headers(send), reason.encode()
    # What follows in a request that was not read must not be taken for another.
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await sending({"type": "http.response.start", "status": status, "headers": headers})
    await sending({"type": "http.response.body", "body": body})
