"""Colours of the page and its pictures can be read on a light and on a dark page."""

import pytest

from tasks.report import style

BACKGROUNDS = (style.PAPER, style.PANEL, style.TINT)
TEXT = (style.INK, style.SOFT, style.ACCENT)
DRAWN = set(style.DARK) - {*BACKGROUNDS, style.RULE}


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour (WCAG 2.2)."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_lines_can_be_read(dark: bool):
    shown = style.DARK if dark else {colour: colour for colour in style.DARK}
    pairs = [(text, background) for text in TEXT for background in BACKGROUNDS]
    pairs += [(drawn, style.PAPER) for drawn in DRAWN]
    assert all(contrast(shown[one], shown[other]) >= 4.5 for one, other in pairs)
