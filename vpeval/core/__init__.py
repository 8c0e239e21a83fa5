"""What every room needs: errors, files, tables, seeds, configurations, scripts, models."""
