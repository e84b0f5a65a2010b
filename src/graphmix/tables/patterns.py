"""Patterns of cells that several modules look for."""

# A number as programs write it, in the dialect that Python and pyarrow share.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
