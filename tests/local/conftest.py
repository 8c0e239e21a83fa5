from toy_submission import submission_dir  # noqa: F401
