#!/usr/bin/env python3
"""A Django (5.1 or newer 5.x, `pip install 'Django>=5.1,<6'`) with its admin, over https on a free port of 127.0.0.1.

Called with the files of its certificate and key. Everything that it writes is in a temporary folder, and all of it is
gone when standard input is closed. When it is ready it prints the URL, the user and the password on one line; to each
line of standard input it answers what it has counted, as JSON on one line. Exits with 77 and says why if Django is
missing.
"""

import collections
import hashlib
import json
import os
import ssl
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
try:
    import django
except ImportError:
    print(f"skipped: {sys.executable} has no Django ('pip install Django' for it)", file=sys.stderr)
    sys.exit(77)
if not (5, 1) <= django.VERSION[:2] < (6, 0):
    print(f"skipped: Django 5.1 or a newer 5.x is needed, this is {django.get_version()}", file=sys.stderr)
    sys.exit(77)

from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.urls import path

NAME, PASSWORD = "editor", "a password"


def configure(folder):
    settings.configure(
        ALLOWED_HOSTS=["localhost"],
        CSRF_COOKIE_SECURE=True,
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": str(folder / "database"),
                # Several threads write: each waits for its turn from the beginning of its transaction.
                "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 60, "init_command": "PRAGMA journal_mode=WAL"},
            }
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
            "django.contrib.staticfiles",
            "shop",
        ],
        MEDIA_ROOT=str(folder / "media"),
        MIDDLEWARE=[
            "django.middleware.security.SecurityMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        ROOT_URLCONF=__name__,
        SECRET_KEY="for a test",
        SESSION_COOKIE_SECURE=True,
        STATIC_URL="/static/",
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        USE_TZ=True,
    )
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    from django.contrib.auth.models import User

    User.objects.create_superuser(NAME, "editor@example.org", PASSWORD)


class Handler(WSGIRequestHandler):
    """Keeps the access log, a counter of methods, paths and statuses."""

    log = collections.Counter()
    lock = threading.Lock()

    def get_environ(self):
        return super().get_environ() | {"HTTPS": "on"}

    def log_message(self, format, *arguments):
        pass

    def log_request(self, code="-", size="-"):
        with self.lock:
            self.log[f"{self.command} {self.path.partition('?')[0]} {code}"] += 1

    def log_error(self, format, *arguments):
        print(format % arguments, file=sys.stderr)


def counted(folder):
    """What the access log, the database and the folder of uploads have."""
    from django.contrib.admin.models import LogEntry
    from django.contrib.sessions.models import Session
    from shop.models import Product

    with Handler.lock:
        access = dict(Handler.log)
    files = sorted((folder / "media").rglob("*.txt"))
    return {
        "access": access,
        "products": sorted(Product.objects.values_list("name", flat=True)),
        "for_sale": Product.objects.filter(for_sale=True).count(),
        "added": LogEntry.objects.filter(action_flag=1).count(),
        "deleted": LogEntry.objects.filter(action_flag=3).count(),
        "sessions": Session.objects.count(),
        "manuals": collections.Counter(hashlib.sha256(file.read_bytes()).hexdigest() for file in files),
    }


def serve(folder, certificate, key):
    configure(folder)
    from django.contrib import admin
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    urlpatterns.append(path("admin/", admin.site.urls))
    server = ThreadedWSGIServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    # Who connects and says nothing keeps only a thread of its own waiting.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"https://localhost:{server.server_port}", NAME, PASSWORD, sep="\t", flush=True)
    for _line in sys.stdin:
        print(json.dumps(counted(folder)), flush=True)
    server.shutdown()


urlpatterns = []

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as folder:
        serve(Path(folder), *sys.argv[1:])
