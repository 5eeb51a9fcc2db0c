"""DVC's plots are drawn without a network."""

from pathlib import Path

import killing
import pytest
from browser import open_browser
from dvc_render.html import render_html
from dvc_render.vega import VegaRenderer

from flows.pages.plots import page


@pytest.mark.slow
def test_a_plot_is_drawn_offline(tmp_path: Path) -> None:
    points = [{"step": step, "loss": 1 / step, "rev": "workspace"} for step in range(1, 5)]
    plot = VegaRenderer(points, "loss.csv", x="step", y="loss", title="Loss", template="simple")
    (tmp_path / "template.html").write_text(page(), encoding="utf-8")
    html = render_html([plot], tmp_path / "index.html", html_template=tmp_path / "template.html")
    assert "<script src" not in Path(html).read_text(encoding="utf-8")
    with open_browser(tmp_path) as browser:
        browser.read(f"file://{html}", "")
        drawn = "document.querySelectorAll('.vega-embed canvas, .vega-embed svg.marks').length"
        killing.wait_until(lambda: bool(browser.evaluate(drawn)))
