"""Every kind of hook and every action, as tables. Imports nothing else of hookcli."""
