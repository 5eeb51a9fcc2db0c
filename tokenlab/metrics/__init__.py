"""Metrics. They know no method and no corpus."""

from tokenlab.metrics.segmentation import Counts, SegmentationScore, score_segmentation

__all__ = ["Counts", "SegmentationScore", "score_segmentation"]
