"""Folders and files: atomic writes, locks, checksummed descriptions, run folders."""
