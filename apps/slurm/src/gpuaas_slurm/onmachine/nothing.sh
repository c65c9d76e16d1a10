# Nothing: what follows looks.
:
