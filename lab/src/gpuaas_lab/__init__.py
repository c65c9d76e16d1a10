"""Real local machines for demos and system tests."""
