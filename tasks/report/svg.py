"""Small SVG: what Matplotlib writes, with fewer digits, shorter names, and without points that the eye cannot see.

Coordinates keep two decimals of a point (1/72 inch). A line keeps only the points that it needs to stay within 0.1
points of the original, or within more where the file would still be larger than 120 kB.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"#([\w.-]+)")
_PLACE = re.compile(r"translate\((\S+) 0\)")
_TRANSLATION = re.compile(r"translate\([^)]*\)")
_COMMAND = re.compile(r"([MLQCz])([^MLQCz]*)")
_TOLERANCES = {0.1: 2, 0.2: 2, 0.4: 1, 0.8: 1, 1.6: 1}
"""Points of 1/72 inch, and the decimals of coordinates that go with them."""
LARGEST = 120_000
"""Bytes of a picture, where a tolerance gets it so small."""

ElementTree.register_namespace("", _SVG.strip("{}"))


def smaller(text: str) -> str:
    """The same picture in fewer bytes. text: SVG as Matplotlib writes it."""
    found = text
    for tolerance in _TOLERANCES:  # Most pictures need the first one only.
        found = _rewritten(text, tolerance)
        if len(found.encode()) <= LARGEST:
            break
    return found


def _rewritten(text: str, tolerance: float) -> str:
    root = ElementTree.fromstring(text)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    used = set(_REFERENCE.findall(text))
    styles = {name: _style(element) for element in root.iter() if (name := element.get("id")) in used}
    for element in root.iter():
        link, name = element.attrib.pop(f"{_LINK}href", ""), element.attrib.pop("id", None)
        if name is not None and name in used:
            element.set("id", _shorter(name))
        if link:
            element.set("href", _shorter(link) if link.startswith("#") else link)  # Others are pictures as data.
        if place := _PLACE.fullmatch(element.get("transform", "")):  # of a letter in a line
            del element.attrib["transform"]
            element.set("x", place[1])
        elif "transform" in element.attrib:
            element.set("transform", _TRANSLATION.sub(lambda found: _rounded(found[0]), element.attrib["transform"]))
        for key in ("x", "y", "width", "height"):
            if key in element.attrib:
                element.set(key, _rounded(element.attrib[key]))
        if "d" in element.attrib:
            element.set("d", _path(element.attrib["d"], tolerance))
        # Matplotlib repeats the style of a marker wherever it stands.
        style = [part for part in _style(element) if part not in styles.get(link.removeprefix("#"), [])]
        element.attrib.pop("style", None)
        if style:
            element.set("style", ";".join(style))
        element.text, element.tail = (part and part.strip() for part in (element.text, element.tail))
    _unwrap(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _unwrap(element: ElementTree.Element) -> None:
    """Put the content of groups that say nothing in their place."""
    content: list[ElementTree.Element] = []
    for child in element:
        _unwrap(child)
        content += child if child.tag == f"{_SVG}g" and not child.attrib else [child]
    element[:] = content


def _shorter(name: str) -> str:
    """The name of a letter without what most fonts have in common; the same in all pictures."""
    return name.replace("NotoSans", "").replace("-Regular", "")


def simplified(points: np.ndarray, tolerance: float) -> np.ndarray:
    """Which points of a line are kept, by the algorithm of Douglas and Peucker.

    Args:
        points: float64[points, 2], at least one.
        tolerance: no point lies farther from the line through those that are kept.

    Returns: bool[points]; the ends are kept.
    """
    kept = np.zeros(len(points), bool)
    kept[[0, -1]] = True
    open_spans = [(0, len(points) - 1)]
    while open_spans:
        first, last = open_spans.pop()
        if last - first < 2:
            continue
        offsets, chord = points[first + 1 : last] - points[first], points[last] - points[first]
        along = np.clip(offsets @ chord / max(float(chord @ chord), 1e-12), 0, 1)
        distances = np.hypot(*(offsets - along[:, None] * chord).T)
        farthest = int(distances.argmax())
        if distances[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            open_spans += [(first, middle), (middle, last)]
    return kept


def _style(element: ElementTree.Element) -> list[str]:
    return [part.replace(": ", ":").strip() for part in element.get("style", "").split(";") if part.strip()]


def _path(text: str, tolerance: float) -> str:
    """The data of a path, its straight runs simplified."""
    written: list[str] = []
    run: list[tuple[float, float]] = []
    for command, numbers in _COMMAND.findall(text):
        values = [float(number) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        if command == "L":
            run += points
            continue
        written += [_straight(run, tolerance), command + _pairs(points)]
        run = points[-1:]
    return "".join([*written, _straight(run, tolerance)])


def _straight(run: Sequence[tuple[float, float]], tolerance: float) -> str:
    """The points of a run after its first, where the pen is already."""
    if len(run) < 2:
        return ""
    points = np.array(run)
    return "L" + _pairs(points[simplified(points, tolerance)][1:], _TOLERANCES[tolerance])


def _pairs(points: Sequence[tuple[float, float]] | np.ndarray, decimals: int = 2) -> str:
    return " ".join(f"{_short(x, decimals)} {_short(y, decimals)}" for x, y in points)


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda number: _short(float(number[0])), text)


def _short(value: float, decimals: int = 2) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
