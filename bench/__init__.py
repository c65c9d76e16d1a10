"""Measurements on real machines and servers; `make bench` runs them all."""
