"""A page in the browser and an HTTP API over one model (extra `serve`)."""

from suffice.errors import DataError

try:
    from suffice.serve.app import create_app
    from suffice.serve.limits import Limits
    from suffice.serve.run import serve
except ImportError as error:
    if (error.name or "").startswith("suffice"):  # our own fault, not a package that is missing
        raise
    raise DataError(f"the page needs FastAPI and uvicorn ({error}): pip install 'suffice[serve]'") from None

__all__ = ["Limits", "create_app", "serve"]
