"""Pages whose tables come from one module each: for tables.py, which page has which tables."""

from collections.abc import Callable
from pathlib import Path

from recipe_tables import RECIPE_TABLES
from scale_tables import SCALE_TABLES
from when_tables import WHEN_TABLES

DOCS = Path(__file__).parent.parent / "docs"
PAGE_TABLES: dict[Path, dict[str, Callable[[], str]]] = {
    DOCS / "when-to-use.md": WHEN_TABLES,
    DOCS / "scale.md": SCALE_TABLES,
    DOCS / "design" / "0024-recipe.md": RECIPE_TABLES,
}
