"""Patchers behind one interface: text as patches of bytes."""
