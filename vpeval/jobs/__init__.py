"""Work in many pieces: batches that go on where they stopped, launchers, stamps."""
