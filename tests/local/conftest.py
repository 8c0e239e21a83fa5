from toy_submission import room  # noqa: F401
