"""The page's server: Starlette behind the guard, on a port of the loopback interface."""

import json
import socket
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from graphmix.distribution import importing
from graphmix.errors import DataError, GraphMixError, RunError
from graphmix.labeling import cards
from graphmix.labeling.guard import App, Guard
from graphmix.labeling.session import MODES, Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

WHAT = "graphmix label"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# The page's files, by their addresses: the package that holds each.
FILES = {
    "": ("graphmix.labeling", "page/index.html"),
    "label.css": ("graphmix.labeling", "page/label.css"),
    "label.js": ("graphmix.labeling", "page/label.js"),
    "views.js": ("graphmix.labeling", "page/views.js"),
    "charts.js": ("graphmix.labeling", "page/charts.js"),
    "icon.svg": ("graphmix.labeling", "page/icon.svg"),
    "style.css": ("graphmix.report", "style.css"),
    "theme.js": ("graphmix.report", "theme.js"),
}
# Why a node is predicted as it is, for "Why this prediction" on the page: from its id to `words`, sentences, and a
# table of texts, `head` and `rows`.
Explain = Callable[[str], dict[str, Any]]


class Api:
    """What the page asks for. Every method gets the request's arguments and returns JSON values."""

    def __init__(self, session: Session, explain: Explain | None = None) -> None:
        self.session, self.explain = session, explain

    def get_state(self, asked: dict[str, Any]) -> Any:
        """Return the state of the session."""
        return cards.state(self.session) | {"explains": self.explain is not None}

    def get_next(self, asked: dict[str, Any]) -> Any:
        """Return the next node to ask about."""
        return self._next(asked.get("mode", MODES[0]))

    def get_node(self, asked: dict[str, Any]) -> Any:
        """Return a node."""
        return cards.card(self.session, _number(asked, "node"))

    def get_find(self, asked: dict[str, Any]) -> Any:
        """Search."""
        return cards.find(self.session, str(asked.get("text", "")))

    def get_list(self, asked: dict[str, Any]) -> Any:
        """List nodes."""
        order, which = str(asked.get("order", "unsure")), str(asked.get("which", "unlabeled"))
        return cards.listed(self.session, order, which, str(asked.get("class", "")), _number(asked, "page", 0))

    def get_map(self, asked: dict[str, Any]) -> Any:
        """Return the map; the first time, begin to draw it."""
        if self.session.map is None:
            self.session.draw_map()
        return cards.drawn(self.session)

    def get_explain(self, asked: dict[str, Any]) -> Any:
        """Return why a node is predicted as it is."""
        if self.explain is None:
            raise DataError("there are no explanations here")
        return self.explain(self.session.id_of(_number(asked, "node")))

    def post_answer(self, asked: dict[str, Any]) -> Any:
        """Store an answer, and return what is next.

        One that is sent again is stored already, unless another window has taken it back meanwhile: then it does not
        stand.
        """
        act, key, mode = str(asked.get("act")), asked.get("key", ""), asked.get("mode", MODES[0])
        _check_mode(mode)
        self.session.answer(_number(asked, "node"), act, asked.get("label"), key)
        with self.session.guard:
            stands = not key or self.session.answers.stands(key)
        return {"state": self.get_state({}), "next": self._next(mode), "stands": stands}

    def post_undo(self, asked: dict[str, Any]) -> Any:
        """Take the last answer back, also if another window gave it; return it, and its node."""
        taken = self.session.undo(asked.get("key", ""))
        if taken is None:
            return {"state": self.get_state({}), "next": self._next(MODES[0]), "taken": None}
        return {
            "state": self.get_state({}),
            "next": cards.card(self.session, self.session.number[taken.node]),
            "taken": cards.said(taken),
        }

    def post_retrain(self, asked: dict[str, Any]) -> Any:
        """Train now."""
        return {"began": self.session.retrain(), "state": self.get_state({})}

    def post_redraw(self, asked: dict[str, Any]) -> Any:
        """Draw the map again."""
        return {"began": self.session.draw_map(again=True)}

    def post_write(self, asked: dict[str, Any]) -> Any:
        """Write the labeled table."""
        return {"path": str(self.session.write_table())}

    def _next(self, mode: str) -> Any:
        _check_mode(mode)
        found = self.session.next(mode)
        return None if found is None else cards.card(self.session, *found)


def _check_mode(mode: object) -> None:
    if mode not in MODES:
        raise DataError(f"there is no mode {mode!r}")


def _number(asked: dict[str, Any], name: str, default: int | None = None) -> int:
    value = asked.get(name, default)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise DataError(f"`{name}` must be a number")


def make_app(api: Api) -> App:
    """Return the application, without its guard."""
    with importing(WHAT, "label"):
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route

    async def file(request: "Request") -> "Response":
        name = request.path_params["name"]
        if name not in FILES:
            return Response("there is no such file", 404)
        package, path = FILES[name]
        found = files(package).joinpath(path)
        return Response(found.read_bytes(), media_type=_TYPES["." + path.rpartition(".")[2]])

    async def table(request: "Request") -> "Response":
        try:
            content = await run_in_threadpool(api.session.table)
        except (GraphMixError, OSError) as error:
            return Response(str(error), 500, media_type="text/plain")
        name = api.session.table_path.name
        return Response(content, media_type="application/octet-stream", headers=_attachment(name))

    async def call(request: "Request") -> "Response":
        method = getattr(api, f"{request.method.lower()}_{request.path_params['what']}", None)
        if method is None:
            return JSONResponse({"error": "there is no such request"}, 404)
        try:
            asked = dict(request.query_params) if request.method == "GET" else _object(await request.body())
            return JSONResponse(await run_in_threadpool(method, asked))
        except DataError as error:
            return JSONResponse({"error": str(error)}, 400)
        except (GraphMixError, OSError) as error:
            return JSONResponse({"error": str(error)}, 500)

    return Starlette(
        routes=[
            Route("/api/{what}", call, methods=["GET", "POST"]),
            Route("/table", table),
            Route("/{name:path}", file),
        ]
    )


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError("the answer is not JSON") from error
    if not isinstance(value, dict):
        raise DataError("the answer is not a JSON object")
    return value


def serve(session: Session, listening: socket.socket, token: str, explain: Explain | None = None) -> None:
    """Serve the page until the process is interrupted."""
    with importing(WHAT, "label"):
        import uvicorn
    app = Guard(make_app(Api(session, explain)), token, listening.getsockname()[1])
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        limit_concurrency=64,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listening])
    if not server.started:
        raise RunError("the page's server did not start")
