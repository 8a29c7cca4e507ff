"""A server in a thread of its own, for clients that need a real one."""

import socket
import threading
import time

import uvicorn

from suffice.serve import create_app


class Served:
    """A server in a thread of its own, on any free port."""

    def __init__(self, explainer, table=None):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        self.address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        app = create_app(explainer, table)
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def close(self):
        self.server.should_exit = True
        self.thread.join(10)
