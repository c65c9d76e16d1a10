"""Billing: what was used, recorded once from what was told, and shown back to who used it."""
