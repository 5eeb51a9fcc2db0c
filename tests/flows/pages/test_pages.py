"""The project's pages: the servers, what they serve, and MLflow's pages in a browser."""

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

from flows.pages.servers import choose_port, serve_reports
from flows.tracking.synchronise import track
from tokenlab.core.errors import ParameterError

UI = [sys.executable, "-m", "flows.pages"]
ANY_PORT = ["--mlflow-port", "0", "--prefect-port", "0", "--reports-port", "0"]


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that ran twice, the second time with other seeds, and was tracked both times."""
    folder = tracked_pipeline.make(tmp_path_factory.mktemp("ui") / "project")
    for seeds in ([7], [0, 1]):
        tracked_pipeline.set_params(folder, scores={"seeds": seeds, "digits": 3})
        tracked_pipeline.repro(folder)
        track(folder, views=[tracked_pipeline.VIEW])
    (folder / "reports/sample/index.html").write_text("<h1>The report</h1>")
    return folder


@pytest.fixture
def serve(tracked: Path) -> Iterator[Callable[..., killing.Run]]:
    """Starts `flows.pages` and waits until it prints a text; kills what remains at the end."""
    processes = []

    def start(*arguments: str, until: str) -> killing.Run:
        started = killing.start([*UI, *arguments], tracked)
        processes.append(started.process)
        killing.wait_until(lambda: until in started.output() or started.process.poll() is not None, seconds=300)
        return started

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[str]:
    """The address of a folder of reports; a secret file is beside the folder."""
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


SERVE = """
import sys
from pathlib import Path
from flows.pages.servers import HOST, Server, Servers, choose_port, interrupt_on_signals

interrupt_on_signals()
with Servers(Path.cwd()) as servers:
    for name in ("one", "two"):
        port = choose_port(None, 0)
        command = [sys.executable, "-m", "http.server", "--bind", HOST, str(port)]
        servers.start(Server(name, f"http://{HOST}:{port}", f"http://{HOST}:{port}", command))
    servers.wait(lambda server: print(server.name, flush=True))
    print("all", flush=True)
    servers.until_interrupted()
"""


@pytest.mark.parametrize("ends", ["request", "killed", "server"])
def test_servers_end_together(tmp_path: Path, ends: str) -> None:
    """At a request, with the process that started them, and with each other."""
    started = killing.start([sys.executable, "-c", SERVE], tmp_path)
    killing.wait_until(lambda: "all" in started.output() or started.process.poll() is not None)
    if ends == "request":
        started.process.terminate()
    elif ends == "killed":
        started.process.kill()
    else:
        child = started.process.children()[0]
        child.children()[0].kill()
    status = started.finish()
    killing.assert_ended(started)
    assert status == {"request": 0, "killed": -signal.SIGKILL, "server": 1}[ends], started.output()
    assert ends != "server" or "TokenlabError: one ended" in started.output()


@pytest.mark.slow
def test_three_pages(serve: Callable[..., killing.Run], tmp_path: Path) -> None:
    started = serve(*ANY_PORT, until="Control-C")
    pages = dict(re.findall(r"^(\w+): +(\S+)$", started.output(), re.MULTILINE))
    assert pages.keys() == {"Reports", "MLflow", "Prefect"}, started.output()
    with open_browser(tmp_path) as browser:
        assert "The report" in browser.read(f"{pages['Reports']}/sample/", until="report")
        browser.read(f"{pages['MLflow']}/#/experiments", until="Where do words end?")
        browser.read(f"{pages['Prefect']}/dashboard", until="Dashboard")
    started.process.send_signal(signal.SIGINT)
    assert started.finish() == 0
    killing.assert_ended(started)


@pytest.mark.slow
def test_comparison_in_a_browser(serve: Callable[..., killing.Run], tmp_path: Path) -> None:
    """The best run first, the important columns first, and no superseded run on any page."""
    started = serve("--compare", "words", "--mlflow-port", "0", until="Control-C")
    pages = dict(re.findall(r"^(\w[\w ]*): +(\S+)$", started.output(), re.MULTILINE))
    assert pages.keys() == {"Variants", "Charts", "All runs"}, started.output()
    with open_browser(tmp_path) as browser:
        browser.read(pages["Variants"], until="matching runs")
        killing.wait_until(lambda: columns(browser)[:5] == ["f1", "f1_sd", "recall", "size", "runs"])
        assert "wide λ=2.5" in names(browser)[0]
        browser.picture(tmp_path / "variants.png")
        browser.read(pages["All runs"], until="matching runs")
        killing.wait_until(lambda: columns(browser)[:4] == ["f1", "recall", "size", "preset"])
        assert names(browser)[0].endswith("seed 1")
        browser.picture(tmp_path / "runs.png")
        browser.read(pages["Charts"], until="Add section")
        browser.picture(tmp_path / "charts.png")
        assert "seed 7" not in browser.read(pages["All runs"].partition("?")[0], until="24 matching runs")
    started.process.terminate()
    assert started.finish() == 0
    killing.assert_ended(started)
    if folder := os.environ.get("TOKENLAB_PICTURES"):
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, folder)


def shown(browser: Browser, kind: str, edge: str) -> list[str]:
    """The cells of MLflow's table in the order on the screen, which differs from the order in the page."""
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
