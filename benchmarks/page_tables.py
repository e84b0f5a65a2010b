"""Pages whose tables come from one module each: for tables.py, which page has which tables."""

from collections.abc import Callable
from pathlib import Path

from explain_table import EXPLAIN_TABLES
from labeling_tables import LABELING_TABLES
from recipe_tables import RECIPE_TABLES
from scale_tables import SCALE_TABLES
from tune_tables import TUNE_TABLES
from when_tables import WHEN_TABLES

DOCS = Path(__file__).parent.parent / "docs"
PAGE_TABLES: dict[Path, dict[str, Callable[[], str]]] = {
    DOCS / "when-to-use.md": WHEN_TABLES,
    DOCS / "scale.md": SCALE_TABLES,
    DOCS / "howto" / "explain.md": EXPLAIN_TABLES,
    DOCS / "howto" / "label.md": LABELING_TABLES,
    DOCS / "design" / "0024-recipe.md": RECIPE_TABLES,
    DOCS / "howto" / "tune.md": TUNE_TABLES,
}
