"""What every room stands on: database, ids, clock, errors, correlation, idempotency, journal."""
