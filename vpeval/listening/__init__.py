"""Listening tests: drawing them, the page and its server, and the analysis of what listeners answered."""
