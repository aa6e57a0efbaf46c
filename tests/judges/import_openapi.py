#!/usr/bin/env python3
"""Says of recorded requests whether they are valid for the documents that they were made from, as openapi-core sees it.

Reads a list of {"document", "requests"} as JSON, each request with "line", "headers" and "body" as
tests/judges/import_openapi.rs records them, and prints the version of openapi-core and a verdict for each request. The exit
code is 77 where openapi-core is not installed."""

import json
import sys
from importlib.metadata import version

try:
    from openapi_core import OpenAPI
    from openapi_core.contrib.werkzeug import WerkzeugOpenAPIRequest
    from werkzeug.test import EnvironBuilder
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def request(recorded):
    method, target = recorded["line"].split(" ", 1)
    path, _, query = target.partition("?")
    headers = [tuple(line.split(": ", 1)) for line in recorded["headers"]]
    body = recorded["body"].encode()
    builder = EnvironBuilder(
        path=path, query_string=query, method=method, headers=headers, data=body
    )
    return WerkzeugOpenAPIRequest(builder.get_request())


def words(error):
    """Returns an error and what it comes from, without objects that are shown by their address."""
    text = f"{type(error).__name__}: {error}"
    inner = [getattr(each, "message", str(each)) for each in getattr(error.__cause__, "schema_errors", [])]
    cause = error.__cause__
    if inner:
        text += f" ({'; '.join(inner)})"
    elif cause is not None:
        text += f" ({type(cause).__name__}: {cause})"
    return text


def verdict(document, recorded):
    try:
        errors = list(OpenAPI.from_dict(document).iter_request_errors(request(recorded)))
    except Exception as error:  # What it cannot read is a verdict, too.
        return words(error)
    return "; ".join(map(words, errors)) or "valid"


cases = json.load(sys.stdin)
verdicts = [[verdict(case["document"], each) for each in case["requests"]] for case in cases]
json.dump({"version": f"openapi-core {version('openapi-core')}", "verdicts": verdicts}, sys.stdout)
