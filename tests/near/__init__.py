"""`make near`: the tests that reach the functions which changed since the last commit.

`make near-map` runs tests on a package whose functions note that they were called (`marks.py`,
`recorder.py`), and writes which tests reach which function (`map.py`). `changes.py` finds the
functions that differ from the last commit, `choice.py` their tests, and `chosen.py` runs them.
"""
