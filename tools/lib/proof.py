"""The proofs of ./run --once: that the notebook works for who is signed in, for nobody else, and that all of it ends."""

import time

from .origin import Origin, use_environment
from .plane import Trouble

# Writes below the home folder and reads the model that the job left: both run as the project's user.
CELL = """
import pathlib, pickle
from sklearn.datasets import load_digits
model = pickle.loads(pathlib.Path({model!r}).read_bytes())
x, y = load_digits(return_X_y=True)
pathlib.Path("proof.txt").write_text("kept")
print("answer", 6 * 7, round(model.score(x / 16.0, y), 2) > 0.9)
"""


def prepare(environment):
    use_environment(environment)


def expect(condition, what, answer=None):
    if not condition:
        raise Trouble(what + (f" (answer: {answer})" if answer is not None else ""))


def notebook_works(plane, steps, link, facts):
    """The link signs in by its button, the page comes, and a cell runs over the kernel's WebSocket."""
    steps.start("sign_in")
    browser = Origin(link)
    page, pressed = browser.redeem(link)
    expect(page.status == 200, "the page of the one-time link does not come", page)
    expect(pressed.status == 303 and browser.cookies, "the one-time link signs nobody in", pressed)
    _, again = Origin(link).redeem(link)
    expect(again.status >= 400, "the one-time link was good twice", again)
    steps.end()

    steps.start("page")
    lab = browser.navigate("/lab")
    expect(lab.status == 200 and "jupyter" in lab.body.lower(), "the JupyterLab page does not come", lab)
    steps.end()

    steps.start("cell")
    kernel = browser.start_kernel()
    printed = browser.execute(kernel, CELL.format(model=facts["model"]))
    expect(printed.strip() == "answer 42 True", f"the cell printed {printed!r}")
    browser.request("DELETE", f"/api/kernels/{kernel}")
    steps.end()
    return browser


def strangers_are_refused(steps, browser, other_link):
    """Neither a request without a session nor one with the session of another workload gets through."""
    import websocket
    steps.start("refused")
    other = Origin(other_link)
    foreign = Origin(other_link)
    foreign.cookies = dict(browser.cookies)
    for name, visitor in (("without a session", other), ("with the session of another workload", foreign)):
        api = visitor.request("GET", "/api/contents", headers={"Accept": "application/json"})
        expect(api.status in (401, 403), f"a request {name} is not refused", api)
        page = visitor.navigate("/lab")
        expect(page.status in (302, 303, 401, 403) and "jupyter" not in page.body.lower(), f"a page {name} is not refused", page)
        try:
            visitor.websocket("/api/kernels/x/channels").close()
            raise Trouble(f"a WebSocket {name} is not refused")
        except websocket.WebSocketBadStatusException as refused:
            expect(refused.status_code in (401, 403), f"a WebSocket {name} is refused with {refused.status_code}")
        visitor.cookies = {} if visitor is other else dict(browser.cookies)
    steps.end()


def everything_ends(plane, steps):
    """`down`, and nothing of it is left on the machine."""
    steps.start("down")
    marks, uids = plane.marks(), plane.project_uids()
    if plane.process is not None:
        plane.down()
    deadline = time.monotonic() + 10
    while (left := plane.leftovers(marks, uids)) and time.monotonic() < deadline:
        time.sleep(0.2)
    expect(not left, "something is left after down: " + "; ".join(left[:5]))
    steps.end()
