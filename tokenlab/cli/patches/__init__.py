"""`tokenlab patches` and `tokenlab generate`."""
