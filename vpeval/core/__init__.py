"""What every package uses: errors, files, tables, seeds, configurations, models."""
