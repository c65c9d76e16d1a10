"""Runs on a machine: enrols it, reports facts, pulls tasks."""

__version__ = "0.1.0"
