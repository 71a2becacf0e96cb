"""What CI systems read: JUnit, SARIF, annotations of GitHub Actions."""
