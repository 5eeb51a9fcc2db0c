"""The project's pages, served and looked at."""

import json
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import killing
import pytest
import tracked_pipeline
from browser import Browser, open_browser

from flows.servers import choose_port, serve_reports
from flows.tracking import track
from tokenlab.errors import ParameterError

UI = [sys.executable, "-m", "flows.ui"]
ANY_PORT = ["--mlflow-port", "0", "--prefect-port", "0", "--reports-port", "0"]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that ran twice, the second time with other seeds, and was tracked both times."""
    folder = tracked_pipeline.make(tmp_path_factory.mktemp("ui") / "project")
    for seeds in ([7], [0, 1]):
        tracked_pipeline.set_params(folder, scores={"seeds": seeds, "digits": 3})
        tracked_pipeline.repro(folder)
        track(folder)
    (folder / "reports/sample/index.html").write_text("<h1>The report</h1>")
    return folder


@pytest.fixture
def serve(tracked: Path) -> Iterator[Callable[..., killing.Run]]:
    """Starts `flows.ui` and waits until it prints something; what is still there in the end is killed."""
    processes = []

    def start(*arguments: str, until: str) -> killing.Run:
        started = killing.start([*UI, *arguments], tracked)
        processes.append(started.process)
        killing.wait_until(lambda: until in started.output() or started.process.poll() is not None, 180)
        return started

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[str]:
    """The address of a folder of reports, beside which lies a secret."""
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "reports"
    (folder / "sample").mkdir(parents=True)
    (folder / "sample/index.html").write_text("<h1>The report</h1>")
    (folder / "link").symlink_to(tmp_path)
    server = serve_reports(folder, 0)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_reports_are_served(reports: str) -> None:
    assert b"The report" in urlopen(f"{reports}/sample/").read()


@pytest.mark.parametrize("path", ["/../secret.txt", "/%2e%2e/secret.txt", "/link/secret.txt", "/link/"])
def test_nothing_else_is_served(reports: str, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(reports.rpartition(":")[2]))) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.split()[1] == b"404" and b"secret" not in answer


def test_other_sites_get_nothing(reports: str) -> None:
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(f"{reports}/sample/", headers={"Host": "elsewhere.example"}))


def test_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert choose_port(None, port) != port
        with pytest.raises(ParameterError, match=f"port {port} is taken"):
            choose_port(port, 1)
    assert choose_port(None, port) == port


def test_nothing_tracked_is_one_line(tmp_path: Path) -> None:
    status, output = killing.run([*UI, "--compare", "words"], tmp_path)
    assert (status, output.count("\n")) == (2, 1) and "nothing is in MLflow yet" in output


@pytest.mark.slow
def test_three_pages_that_end_together(serve: Callable[..., killing.Run], tmp_path: Path) -> None:
    started = serve(*ANY_PORT, until="Control-C")
    pages = dict(re.findall(r"^(\w+): +(\S+)$", started.output(), re.MULTILINE))
    assert pages.keys() == {"Reports", "MLflow", "Prefect"}, started.output()
    with open_browser(tmp_path) as browser:
        assert "The report" in browser.read(f"{pages['Reports']}/sample/", until="report")
        browser.read(f"{pages['MLflow']}/#/experiments", until="Where do words end?")
        browser.read(f"{pages['Prefect']}/dashboard", until="Dashboard")
    started.process.send_signal(signal.SIGINT)
    assert started.finish(30) == 0
    killing.assert_ended(started)


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["ui", "server"])
def test_none_outlives_the_others(serve: Callable[..., killing.Run], whom: str) -> None:
    started = serve(*ANY_PORT, until="MLflow: ")
    if whom == "ui":
        started.process.kill()
    else:
        (server,) = [child for child in started.process.children() if "mlflow" in child.cmdline()]
        os.kill(server.pid, signal.SIGKILL)
    status = started.finish(30)
    killing.assert_ended(started, 2)
    assert status == (-signal.SIGKILL if whom == "ui" else 2)
    assert whom == "ui" or "ui: MLflow ended" in started.output()


@pytest.mark.slow
def test_comparison_as_a_reader_sees_it(serve: Callable[..., killing.Run], tmp_path: Path) -> None:
    """Best first, whole names, the columns that matter first; runs that are superseded on no page."""
    started = serve("--compare", "words", "--mlflow-port", "0", until="Control-C")
    pages = dict(re.findall(r"^(\w[\w ]*): +(\S+)$", started.output(), re.MULTILINE))
    assert pages.keys() == {"Variants", "Charts", "All runs"}, started.output()
    with open_browser(tmp_path) as browser:
        browser.read(pages["Variants"], until="8 matching runs")
        killing.wait_until(lambda: columns(browser)[:5] == ["f1", "f1_sd", "recall", "size", "runs"], 10)
        assert {name.partition(" ")[2] for name in names(browser)[:4]} == {"wide λ=2.5", "wide λ=2.5 BPE"}
        browser.picture(tmp_path / "variants.png")
        browser.read(pages["All runs"], until="16 matching runs")
        killing.wait_until(lambda: columns(browser)[:4] == ["f1", "recall", "size", "preset"], 10)
        assert len(names(browser)) == 16 and {name[-6:] for name in names(browser)[:8]} == {"seed 1"}
        browser.picture(tmp_path / "runs.png")
        browser.read(pages["Charts"], until="Add section")
        browser.picture(tmp_path / "charts.png")
        text = browser.read(pages["All runs"].partition("?")[0], until="24 matching runs")
        assert "seed 7" not in text
    started.process.terminate()
    assert started.finish(30) == 0
    killing.assert_ended(started)
    if folder := os.environ.get("TOKENLAB_PICTURES"):
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, folder)


def shown(browser: Browser, kind: str, edge: str) -> list[str]:
    """The cells of MLflow's table in the order in which they are seen, which is not that of the page's text."""
    cells = f"[...document.querySelectorAll({json.dumps(kind)})]"
    places = f"{cells}.map(cell => [cell.getBoundingClientRect().{edge}, cell.innerText.trim()])"
    return [text for _, text in sorted(browser.evaluate(places)) if text]


def columns(browser: Browser) -> list[str]:
    """The headers of metrics and parameters, from the left."""
    known = ("Run Name", "Created", "Duration", "Dataset", "Source", "Models", "Metrics", "Parameters")
    return [name for name in shown(browser, ".ag-header-cell", "left") if name not in known]


def names(browser: Browser) -> list[str]:
    """The names of the runs, from the top."""
    return shown(browser, '.ag-row a[href*="/runs/"]', "top")
