"""One module for each thing a person can ask for: which steps it is made of, in which order."""
