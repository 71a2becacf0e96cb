"""Every kind of hook, every action and every probe, as tables. Imports nothing else of hookcli."""
