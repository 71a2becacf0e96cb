"""Formats for CI systems: JUnit, SARIF, annotations of GitHub Actions."""
