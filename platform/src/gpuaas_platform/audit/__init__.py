"""Audit: who did what to what, append-only, chained by hashes, readable, exportable, verifiable."""
