"""The `format` of every kind of file that has one; raise it when an older version could not read the file."""

RECORD = 1
METRICS = 2
MODEL = 3
TUNED = 1
