"""Formats for CI systems: JUnit, SARIF, annotations of GitHub Actions, the summary of a step."""
