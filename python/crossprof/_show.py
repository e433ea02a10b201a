"""``crossprof.show``: shows the page in a notebook."""

from __future__ import annotations

import atexit
import html
import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from ._errors import ProfileError
from ._profile import Profile
from ._sources import is_url


class Shown:
    """A frame that shows the page with some profiles. The server of the page ends with this process, or when :meth:`close` is
    called."""

    def __init__(self, address: str, server: subprocess.Popen[str], height: int) -> None:
        #: Address of the page: on this machine, or behind Colab's proxy. It contains a secret: everyone who has it can read the
        #: profiles.
        self.address = address
        self._server = server
        self._height = height

    def close(self) -> None:
        """Stops the server."""
        atexit.unregister(self.close)
        self._server.terminate()
        self._server.wait()

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="crossprof" src="{html.escape(self.address)}" '
            f'style="width: 100%; height: {self._height}px; border: 1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<crossprof page at {self.address}>"


def show(
    what: Profile | str | os.PathLike[str], *, height: int = 800, page: str | os.PathLike[str] | None = None
) -> Shown:
    """Shows a profile, or all profiles below a folder, as the page in a notebook. To serve the page, runs ``crossprof view`` in the
    background. Only this machine can reach that server. A browser on another machine needs a tunnel to the port in ``address``. In
    Colab, the notebook's proxy forwards the requests.

    Args:
        what: A profile that was read, a file or a folder.
        height: Height of the frame in pixels.
        page: The folder of the page (``dist/``). This page is used instead of the page in the package.

    Returns:
        An object that the notebook displays, with the ``address`` of the page.

    Raises:
        ProfileError: There is nothing to show, or no page.
    """
    paths = what.paths if isinstance(what, Profile) else (what if is_url(what) else Path(what),)
    if len(paths) > 1:
        raise ProfileError("This profile was read together with others: show one file, or the folder that contains all of them.")
    path = paths[0] if paths else ""
    if not path or is_url(path):
        raise ProfileError("The page shows only files on this machine. Save the profile, or copy its files here, and show those.")
    port, proxy = _behind_colab() or (0, "")
    words = [sys.executable, "-m", "crossprof", "view", str(path), "--no-browser", "--port", str(port)]
    if proxy:
        # The server also answers to this name.
        words += ["--proxy", urlsplit(proxy).netloc]
    if page is not None:
        words += ["--page", os.fspath(page)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert server.stdout is not None and server.stderr is not None
    for line in server.stdout:
        if line.startswith("http://"):
            address = line.strip()
            shown = Shown(urljoin(proxy, urlsplit(address)._replace(scheme="", netloc="").geturl()) if proxy else address, server, height)
            atexit.register(shown.close)
            return shown
    server.wait()
    raise ProfileError(server.stderr.read().strip() or "crossprof view ended before it printed its address.")


def _behind_colab() -> tuple[int, str] | None:
    """Returns a free port, and the address at which the browser of a Colab notebook reaches it. None outside Colab. The address
    must be known before the server starts, because the server answers only to names with which it was started."""
    if "google.colab" not in sys.modules:
        return None
    from google.colab import output

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = output.eval_js(f"google.colab.kernel.proxyPort({port})")
    if not isinstance(address, str) or not urlsplit(address).netloc:
        raise ProfileError(f"Colab gives no address for the port {port}: open the page with crossprof view on your own machine.")
    return port, address
