"""Patterns of cells that several modules look for, in the dialect that Python and pyarrow share."""

# A number as programs write it.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
# What may stand before or after a number: signs and codes of currencies, and percent.
_CODES = "usd|eur|gbp|jpy|chf|cny|rmb|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|rub|brl|mxn|zar|krw|sgd|hkd|try|ils|thb"
# pyarrow knows all currency signs as a class of letters, Python's `re` does not.
UNIT = rf"(?:(?:US|AU|CA|NZ|HK|[ACRS])?\p{{Sc}}|(?i:{_CODES}|kr\.?|fr\.|rs\.?|zł)|%|‰)"
# Hyphens and dashes that stand for a minus.
DASHES = "[\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d]"
# Spaces and apostrophes between groups of digits.
SPACES = "[\u00a0\u2007\u2009\u202f]"
APOSTROPHES = "[’ʼ´`]"
# What people write for a missing number or date, in lower case. As ids and categories these may be names.
MARKS_OF_MISSING = (
    *("-", "--", "---", "\u2013", "\u2014", "\u2212", "?", "??", ".", "..", "...", "\u2026", "*", "/"),
    *("na", "n/a", "n.a.", "n.a", "#n/a", "nan", "null", "nil", "none", "<na>", "(null)", "n.d.", "n/d", "nd"),
    *("missing", "unknown", "unk", "undefined", "unspecified", "not available", "not applicable", "not known"),
    *("no data", "tbd", "tba", "#value!", "#ref!", "#div/0!", "#num!", "#name?"),
)
