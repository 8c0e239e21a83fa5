"""Listening tests: design, preparation, web page and server, and the analysis of the answers."""
