"""Small SVG: the picture stays the same, its file does not grow with points that the eye cannot see."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.report.svg import simplified, smaller

COORDINATE = st.floats(-100, 100)


@given(st.lists(st.tuples(COORDINATE, COORDINATE), min_size=1, max_size=12), st.floats(0.01, 20))
def test_no_point_lies_farther_from_the_simplified_line_than_the_tolerance(line, tolerance):
    points = np.array(line)
    kept = simplified(points, tolerance)
    assert kept[0] and kept[-1]
    corners = np.flatnonzero(kept)
    for start, end in pairwise(corners):
        spots = np.linspace(points[start], points[end], 401)
        apart = np.linalg.norm(points[end] - points[start]) / 400
        for point in points[start : end + 1]:
            assert np.linalg.norm(spots - point, axis=1).min() <= tolerance + apart


def test_what_is_seen_stays():
    drawn = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9.123456pt">
     <metadata>gone</metadata><g id="figure_1"><g id="line_1">
     <defs><path id="m1" d="M 0 0 \nL 0 3.5 \n" style="stroke: #000000"/></defs>
     <use xlink:href="#m1" x="1.000001" y="2.345678" style="stroke: #000000; fill: none"/>
     <path d="M 0 0 \nL 1 0.00001 \nL 2 0 \nC 1 1 2 2.22222 3 3 \nL 3 9.87654 \nz"
     clip-path="url(#p1)" style="fill: none"/>
     <g transform="translate(1.23456 7.7) scale(0.015625 -0.1)"><use xlink:href="#m1" transform="translate(5.5 0)"/></g>
     </g></g><clipPath id="p1"/><image xlink:href="data:image/png;base64, iVBO/Regular"/></svg>"""
    found = smaller(drawn)
    assert "gone" not in found and "figure_1" not in found and "m1" in found and 'id="p1"' in found
    assert 'width="9.12pt"' in found and 'x="1" y="2.35" href="#m1" style="fill:none"' in found
    assert 'href="data:image/png;base64, iVBO/Regular"' in found
    assert 'd="M0 0L2 0C1 1 2 2.22 3 3L3 9.88z"' in found
    assert 'transform="translate(1.23 7.7) scale(0.015625 -0.1)"' in found and '<use href="#m1" x="5.5" />' in found
