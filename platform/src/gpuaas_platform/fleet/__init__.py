"""Fleet: hosts become nodes, their agents speak for them, and tasks reach machines."""
