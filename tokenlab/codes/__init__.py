"""Character codes behind one interface: text to atoms and back (Latom and its baselines)."""
