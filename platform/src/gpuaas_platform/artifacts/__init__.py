"""Artifacts: what apps install, from sources policy allows, fetched by machines and verified."""
