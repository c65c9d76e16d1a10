"""The steps operations are made of: each with a name, a check, an effect and a proof of it."""
