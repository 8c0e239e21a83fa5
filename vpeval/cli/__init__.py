"""Command lines: options, messages and exit codes of scripts. No code that computes imports this package."""
