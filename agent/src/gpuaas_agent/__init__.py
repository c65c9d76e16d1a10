"""Runs on a machine: enrols it, reports facts, pulls tasks."""
