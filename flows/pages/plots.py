"""The page that `dvc plots show` fills, written at set-up. DVC's own loads Vega from a public server, this one has it.

`.dvc/config` names it as `plots.html_template`.
"""

from pathlib import Path

import vl_convert
from dvc_render.html import PAGE_HTML

from tokenlab.core.files import write_text

PAGE = Path(".venv", "dvc-plots.html")


def page() -> str:
    """DVC's page with Vega, Vega-Lite and Vega-Embed inside it."""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version="5.20")
    return PAGE_HTML.replace("{scripts}", f"{head}<script>{script}</script>")


if __name__ == "__main__":  # as set-up runs it
    write_text(PAGE, page())
