"""Packages that import what they export on first use (PEP 562)."""

import importlib
import sys

TYPE_CHECKING = False  # not from typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any


def attach(
    package: str, exports: "Mapping[str, str]", modules: "Collection[str]" = ()
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return `__getattr__` and `__dir__` for a package that imports its names on first use.

    Args:
        package: its `__name__`.
        exports: the names to export, separated by spaces, by the module that defines them.
        modules: submodules that are attributes without being imported first, as in `graphmix.data.load`.

    Raises:
        ValueError: a name is also a submodule; importing the submodule would replace what the name refers to.

    Example:
        >>> __getattr__, __dir__ = attach("graphmix.models", {"graphmix.models.gcn": "GCN"})
        >>> __getattr__("GCN").__name__
        'GCN'
    """
    names = {name: module for module, defined in exports.items() for name in defined.split()}
    for name, module in names.items():
        if module == f"{package}.{name}":
            raise ValueError(f"{package} cannot export {name!r} lazily: a module has the same name; rename the module")

    def get(name: str) -> "Any":
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(names[name]), name)
        # From now on Python finds it without calling this function.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *modules})

    return get, list_names
