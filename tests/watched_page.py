"""A report in a browser, for tests that look at what is drawn."""

from pathlib import Path
from typing import Any


class Watched:
    """A page, and everything that went wrong or out while it was open."""

    def __init__(self, browser: Any, html: Path, width: int = 1440):
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(html.as_uri())
        self.page.wait_for_selector("html[data-ready=true]")

    def draw_all(self) -> None:
        self.page.evaluate("graphmix.drawAll()")

    def draw(self, figure: str) -> None:
        self.page.evaluate("(id) => graphmix.figures.find(({ element }) => element.id === id).draw()", figure)

    def traces(self, figure: str, plot: int = 0) -> list[dict[str, Any]]:
        script = (
            "([figure, plot]) => JSON.parse(JSON.stringify(document.querySelectorAll(`#${figure} .plot`)[plot].data))"
        )
        traces: list[dict[str, Any]] = self.page.evaluate(script, [figure, plot])
        return traces

    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def points(traces: list[dict[str, Any]]) -> int:
    """How many points are drawn."""
    return sum(value is not None for trace in traces for value in trace["x"])
