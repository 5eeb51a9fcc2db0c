"""What the stages of the translation pilot share."""
