"""Custody: who may reach which machine for how long, and secrets nobody else may read."""
