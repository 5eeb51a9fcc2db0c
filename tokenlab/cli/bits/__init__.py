"""`tokenlab bits`."""
