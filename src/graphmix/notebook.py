"""What objects show of themselves in a notebook: small tables as HTML. Everything that is shown is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from graphmix.text import name_for_screen

_MOST = 200


def html_facts(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """Return a title and a table of facts, one line each; facts that are None or "" are left out.

    Example:
        >>> html_facts("Graph <b>", [("name", None)])
        '<div><strong>Graph &lt;b&gt;</strong><table></table></div>'
    """
    left = ' style="text-align:left"'
    lines = (
        f"<tr><th{left}>{_cell(name)}</th><td{left}>{_cell(value)}</td></tr>"
        for name, value in facts
        if value not in (None, "")
    )
    return f"<div><strong>{_cell(title)}</strong><table>{''.join(lines)}</table></div>"


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """Return a title and a table with headings; `more` says how many rows are not shown."""
    head = "".join(f"<th>{_cell(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<div><strong>{_cell(title)}</strong><table><tr>{head}</tr>{body}</table>{rest}</div>"


def html_text(title: str, paragraphs: Iterable[str]) -> str:
    """Return a title and paragraphs of text."""
    return f"<div><strong>{_cell(title)}</strong>{''.join(f'<p>{_cell(each, 2000)}</p>' for each in paragraphs)}</div>"


def _cell(value: Any, most: int = _MOST) -> str:
    if value is None:
        return ""
    shown = f"{value:,}" if type(value) is int else f"{value:.4g}" if isinstance(value, float) else str(value)
    return escape(name_for_screen(shown, most))
