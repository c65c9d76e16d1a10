"""Apps: instances, members, and the operations that controllers claim, report and complete."""
