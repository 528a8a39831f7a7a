"""The chatbot as a web service, and the page that shows what its model sees.

`create_app` puts it together; `context-builder serve` runs it.
"""

from context_builder.web.app import create_app
from context_builder.web.settings import WebSettings

__all__ = ["WebSettings", "create_app"]
