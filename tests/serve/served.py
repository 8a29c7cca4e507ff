"""A server in a thread of its own, for clients that need a real one."""

import socket
import threading
import time

import uvicorn

from suffice.serve import Limits, create_app
from suffice.serve.run import configured


class Served:
    """A server in a thread of its own, on any free port."""

    def __init__(self, explainer, table=None, *, limits=None, **options):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        limits = limits or Limits(max_seconds=600)  # enough on a busy machine
        app = create_app(explainer, table, limits=limits, **options)
        self.server = uvicorn.Server(configured(app, limits))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def close(self):
        self.server.should_exit = True
        self.thread.join(600)
