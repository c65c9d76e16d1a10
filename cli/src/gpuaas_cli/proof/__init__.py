"""Proofs anybody can run and read: smoke test, readiness of an app, the founding validation.

They use public calls alone, know no app, and never assume: a check passes by its evidence, fails
by it, or says what kept it from being made.
"""
