"""The project's pages: the servers, what they serve, and MLflow's pages in a browser."""

import json
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile
import httpx
import killing
import pytest
import toy_pipeline
import tracked_pipeline
from browser import Browser, open_browser

from flows.pages.servers import Server, Servers, ask, choose_port, reports_server
from flows.prefect_environment import read_secret
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
        toy_pipeline.repro(folder)
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


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of reports. A secret file is beside their folder, and a link in it leads there."""
    root = tmp_path_factory.mktemp("reports")
    (root / "secret.txt").write_text("secret")
    (root / "reports/sample/tables").mkdir(parents=True)
    (root / "reports/sample/index.html").write_text("<h1>The report</h1>")
    (root / "reports/link").symlink_to(root)
    (root / "presets/own <b>").mkdir(parents=True)
    for folder, about in (("", "# Small & quick.\n# Twice."), ("presets/own <b>", "# One's own.")):
        (root / folder / "dvc.yaml").touch()
        (root / folder / "params.yaml").write_text(f"{about}\npreset: x\n# not this\n")
    with pytest.MonkeyPatch.context() as patched, Servers(root) as servers:
        patched.setenv("PYTHONPATH", str(killing.ROOT))
        server = reports_server(root, choose_port(None, 0))
        servers.start(server)
        servers.wait(lambda started: None)
        yield server


def test_reports_are_served_and_open_on_the_presets(reports: Server) -> None:
    assert b"The report" in ask(reports, "/sample/")
    page = ask(reports, "/").decode()
    assert '<a href="/sample/">' in page and "Small &amp; quick. Twice." in page
    assert "make repro PRESET=own &lt;b&gt;" in page and "One&#39;s own." in page and "not this" not in page


def raw(server: Server, request: str) -> bytes:
    """The answer to a request that no client would send as it stands."""
    with socket.create_connection(("127.0.0.1", int(server.address.rpartition(":")[2]))) as connection:
        connection.sendall(request.encode())
        return connection.makefile("rb").read()


OUTSIDE = ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/link/secret.txt", "/link/", "/link"]
OUTSIDE += ["//etc/passwd", "/%2fetc/passwd"]


@pytest.mark.parametrize("path", [*OUTSIDE, "/sample/tables/"])
def test_nothing_else_is_served(reports: Server, path: str) -> None:
    headers = {"Host": reports.address.removeprefix("http://"), "Connection": "close", **hostile.basic(reports.secret)}
    answer = raw(reports, "\r\n".join([f"GET {path} HTTP/1.1", *map(": ".join, headers.items()), "", ""]))
    assert answer.split()[1] == b"404" and b"secret" not in answer and b"root:" not in answer


def test_reports_are_only_read_and_load_and_send_nothing(reports: Server) -> None:
    with httpx.Client(base_url=reports.address, headers=hostile.basic(reports.secret), trust_env=False) as client:
        for method in ("POST", "PUT", "DELETE", "PATCH", "PROPFIND"):
            assert client.request(method, "/sample/").status_code == 405
        headers = client.get("/sample/").headers
    assert "connect-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff" and headers["cross-origin-resource-policy"] == "same-origin"


def test_hostile_requests_get_nothing(reports: Server) -> None:
    hostile.assert_all_refused(f"{reports.address}/sample/", reports.secret)


def test_ports() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert choose_port(None, port) != port
        with pytest.raises(ParameterError, match=f"port {port} is taken"):
            choose_port(port, 1)
    assert choose_port(None, port) == port
    with pytest.raises(ParameterError, match="port 65536 is none"):
        choose_port(1 << 16, 1)


def test_nothing_tracked_is_one_line(tmp_path: Path) -> None:
    status, output = killing.run([*UI, "--compare", "words"], tmp_path)
    assert (status, output.count("\n")) == (2, 1) and "nothing is in MLflow yet" in output


SERVE = """
from pathlib import Path
from flows.pages.servers import Servers, choose_port, reports_server
from flows.run.processes import signals_raise

root = Path.cwd()
with signals_raise(), Servers(root) as servers:
    for number in range(2):
        servers.start(reports_server(root, choose_port(None, 0)))
    servers.wait(lambda server: None)
    print("all", flush=True)
    servers.watch()
"""


IN_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
"""A shell that is not interactive ignores SIGINT for what it starts with `&`."""


@pytest.mark.parametrize("ends", ["interrupt", "killed", "server"])
def test_servers_end_together(tmp_path: Path, ends: str) -> None:
    """At an interrupt, in the background too, with the process that started them, and with each other."""
    started = killing.start([*IN_BACKGROUND, sys.executable, "-c", SERVE], tmp_path)
    killing.wait_until(lambda: "all" in started.output() or started.process.poll() is not None)
    if ends == "interrupt":
        started.process.send_signal(signal.SIGINT)
    elif ends == "killed":
        started.process.kill()
    else:
        started.process.children()[0].kill()
    status = started.finish()
    killing.assert_ended(started)
    said = {"interrupt": "SIGINT", "killed": "", "server": "Reports ended"}[ends]
    assert said in started.output() and status == (-signal.SIGKILL if ends == "killed" else 1), started.output()


@pytest.mark.slow
def test_three_pages(
    serve: Callable[..., killing.Run], tracked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All open for the user, and for nobody else; Prefect's page asks for the password itself."""
    monkeypatch.setenv("MLFLOW_DEPLOYMENTS_TARGET", "http://127.0.0.1:9")
    started = serve(*ANY_PORT, until="Control-C")
    pages = dict(re.findall(r"^(\w+): +(\S+)", started.output(), re.MULTILINE))
    assert pages.keys() == {"Reports", "MLflow", "Prefect", "Password"}, started.output()
    secret = read_secret(tracked)
    assert secret.partition(":")[2] not in started.output()
    mlflow, new = pages["MLflow"].partition("#")[0], json.dumps({"name": "hostile", "type": "process"})
    for address in (f"{mlflow}ajax-api/2.0/mlflow/experiments/create", f"{mlflow}get-artifact"):
        hostile.assert_all_refused(address, secret, new, ("POST",))
    hostile.assert_all_refused(f"{pages['Prefect']}/api/work_pools/", secret, new, ("POST",))
    assert_mlflow_runs_nothing_and_calls_nobody(mlflow, secret)
    with open_browser(tmp_path) as browser:
        browser.read(f"{pages['Prefect']}/", until="Login")
        browser.evaluate("document.querySelector('input').focus()")
        browser.type(secret)
        browser.evaluate("document.querySelector('button[type=submit], form button').click()")
        browser.wait(until="Dashboard")
        browser.sign_in(secret)
        assert "The report" in browser.read(f"{pages['Reports']}/sample/", until="report")
        browser.read(pages["MLflow"], until="matching runs")
    started.process.send_signal(signal.SIGINT)
    assert started.finish() == 0
    killing.assert_ended(started)


def assert_mlflow_runs_nothing_and_calls_nobody(address: str, secret: str) -> None:
    """No service that would is served, not to the user either; those that the pages need are."""
    paths = [re.sub("[<{].*?[>}]", "x", path) for path in mlflow_paths()]
    closed = [path for path in paths if CALLS_OUT.search(path) and path != PROXY]
    assert len(closed) > 100, paths
    with httpx.Client(base_url=address, headers=hostile.basic(secret), trust_env=False, timeout=60) as client:
        for path in [*closed, "/ajax-api/3.0//mlflow/issues/invoke"]:
            for method in ("GET", "POST"):
                answer = client.request(method, path, json={}, follow_redirects=True)
                assert (answer.status_code, answer.text) == (404, "not served here"), (method, path)
        content = {"gateway_path": "gateway/x/invocations", "json_data": {}}
        assert client.get(PROXY, params={"gateway_path": "api/2.0/endpoints/"}).json() == {"endpoints": []}
        assert client.post(PROXY, json=content).json() == {"endpoints": []}
        assert client.get("/ajax-api/3.0/mlflow/server-info").status_code == 200
        search = client.post("/ajax-api/2.0/mlflow/experiments/search", json={"max_results": 1})
        assert search.status_code == 200 and search.json()["experiments"]


PROXY = "/ajax-api/2.0/mlflow/gateway-proxy"
"""Asked by MLflow's page; it has nowhere to pass requests on to."""

CALLS_OUT = re.compile(r"assistant|gateway|invo[ck]|jobs|optimi[sz]|webhook|proxy")
"""In the path of a service of MLflow: it runs something, or calls something."""


def mlflow_paths() -> list[str]:
    """The paths of all services of MLflow."""
    from mlflow.server import app
    from mlflow.server.assistant.api import assistant_router
    from mlflow.server.gateway_api import gateway_router
    from mlflow.server.job_api import job_api_router

    routers = [assistant_router, gateway_router, job_api_router]
    paths = [route.path for router in routers for route in router.routes]
    return [*paths, *(rule.rule for rule in app.url_map.iter_rules())]


@pytest.mark.nightly
def test_comparison_in_a_browser(serve: Callable[..., killing.Run], tracked: Path, tmp_path: Path) -> None:
    """The best run first, the important columns first, and no superseded run on any page."""
    started = serve("--compare", "words", "--mlflow-port", "0", until="Control-C")
    pages = dict(re.findall(r"^(\w[\w ]*): +(\S+)", started.output(), re.MULTILINE))
    assert pages.keys() == {"Variants", "Charts", "All runs", "Password"}, started.output()
    with open_browser(tmp_path) as browser:
        browser.sign_in(read_secret(tracked))
        browser.read(pages["Variants"], until="matching runs")
        killing.wait_until(lambda: columns(browser)[:5] == ["f1", "f1_sd", "recall", "size", "corpus"])
        assert "wide λ=2.5" in names(browser)[0]
        browser.read(pages["All runs"], until="matching runs")
        killing.wait_until(lambda: columns(browser)[:4] == ["f1", "recall", "size", "corpus"])
        assert names(browser)[0].endswith("seed 1")
        browser.read(pages["Charts"], until="Add section")
        assert "seed 7" not in browser.read(pages["All runs"].partition("?")[0], until="24 matching runs")
        assert browser.evaluate("localStorage['mlflow.assistant.panelOpen_v1'] ?? 'false'") == "false"
        first = browser.read(pages["All runs"].partition("#")[0], until="Where do words end?")
        assert "usage data" not in first and "Welcome" not in first
    started.process.terminate()
    assert started.finish() == 0
    killing.assert_ended(started)


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
