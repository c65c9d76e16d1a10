"""Numbered SQL files, one per schema revision; see `kernel/migrate.py`."""
