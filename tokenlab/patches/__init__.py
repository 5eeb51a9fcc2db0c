"""Patchers behind one interface: text as patches of bytes.

SpacePatcher(SpaceOptions(cap=6)).starts([b"a text", b"another"])  # the offsets of their patches' first bytes
text = SpacePatcher().stream()  # the same boundaries of a text that arrives in parts
text.feed(b"a te"), text.feed(b"xt"), text.finish()
"""

from tokenlab.core.lazy import offer

__getattr__, __all__ = offer(__name__)
