"""Composition: the rooms' routes under one application, with what holds for every request."""
