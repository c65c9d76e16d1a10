"""What is run on machines: scripts as files beside this one, and the readers of what they say.

One script a step and machine, for /bin/sh. Values reach a script through its environment, never
by being written into its text.
"""
