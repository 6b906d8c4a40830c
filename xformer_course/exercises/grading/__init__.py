"""`xformer grade`: run a learner's notebook in a kernel of its own and report every exercise in it.

`source` reads the notebook and finds the exercises, `kernel` and `limits` run it in a folder of its own and stop it in time,
`launcher` and `recorder` work inside that kernel, `run` puts the verdicts together, `report` writes them down.
The README one folder up says what this protects against, and what it does not.
"""
