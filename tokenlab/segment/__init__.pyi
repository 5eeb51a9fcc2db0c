from tokenlab.segment.by_entropy import boundary_scores as boundary_scores
from tokenlab.segment.by_entropy import entropy_boundaries as entropy_boundaries
from tokenlab.segment.by_entropy import segment_by_entropy as segment_by_entropy
from tokenlab.segment.by_statistics import Segmenter as Segmenter
from tokenlab.segment.by_statistics import utilities as utilities
from tokenlab.segment.options import BoundaryOptions as BoundaryOptions
from tokenlab.segment.options import SegmentOptions as SegmentOptions
from tokenlab.segment.segmentation import Segmentation as Segmentation
