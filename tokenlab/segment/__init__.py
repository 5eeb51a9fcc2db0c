"""Segmentation of unsegmented text by n-gram statistics (Entropy-driven pre-tokenization, section 3.1).

`SegmentOptions` says how, `Segmenter` does it: utilities of spans, then a greedy or an optimal choice among them.
"""

from tokenlab.segment.segmenter import Segmentation, Segmenter
from tokenlab.segment.utility import SegmentOptions, utilities

__all__ = ["SegmentOptions", "Segmentation", "Segmenter", "utilities"]
