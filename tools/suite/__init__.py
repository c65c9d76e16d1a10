"""The runner behind `make test`, `make soak` and `make flaky`.

It runs the stages, repeats what failed alone, looks for what was left behind, and ends with a
report. pytest does the testing; `plugin.py` tells the runner what happened.
"""
