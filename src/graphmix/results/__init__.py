"""What a run, a fit or a record is, as values."""
