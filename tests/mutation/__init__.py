"""Mutation testing: changes the code of hookcli in small ways, and runs the tests on each change."""
