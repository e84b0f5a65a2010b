"""The table of all hyperparameters in docs/howto/hyperparameters.md, from the fields of `Config`."""

from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.paper import varies_text
from graphmix.training.settings import GROUPS


def settings() -> str:
    """Write a table for each group: name, symbol, default, allowed values, meaning."""
    return "\n".join(_group(group) for group in GROUPS)


def _group(group: str) -> str:
    lines = [f"**{group}**", "", "| name | symbol | default | values | meaning |", "|---|---|---|---|---|"]
    for name, rules in HYPERPARAMETERS.items():
        if rules.group == group:
            varying = varies_text(name)
            default = f"{rules.default_words}, varies by {varying}" if varying else rules.default_words
            lines.append(f"| `{name}` | {rules.symbol} | {default} | {rules.values} | {rules.help} |")
    return "\n".join(lines) + "\n"


SETTINGS_TABLES = {"settings": settings}
