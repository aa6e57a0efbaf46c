#!/usr/bin/env python3
"""A mail server (aiosmtpd, `pip install aiosmtpd`) on a free port of 127.0.0.1, with STARTTLS and AUTH for ann with the password secret.

Called with the files of its certificate and key. When it is ready it prints its port, then each mail that it accepts as JSON on one
line. It refuses the recipient nobody@example.org. It ends when standard input is closed. Exits with 77 and says why if
aiosmtpd is missing.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

sys.dont_write_bytecode = True
try:
    from aiosmtpd.smtp import SMTP, AuthResult
except ImportError:
    print(f"{sys.executable} has no aiosmtpd ('pip install aiosmtpd' for it)", file=sys.stderr)
    sys.exit(77)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address == "nobody@example.org":
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        seen = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "subject": message["subject"],
            "text": message.get_content().replace("\r\n", "\n"),
            "tls": session.ssl is not None,
            "user": session.auth_data.decode() if session.authenticated else None,
            "kind": message["x-kind"],
            "defects": [str(defect) for defect in message.defects],
            "date": message["date"] is not None and bool(message["date"].datetime),
        }
        print(json.dumps(seen), flush=True)
        return "250 2.0.0 accepted"


def authenticate(server, session, envelope, mechanism, data):
    good = (data.login, data.password) == (b"ann", b"secret")
    return AuthResult(success=good, auth_data=data.login, handled=good)


context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(sys.argv[1], sys.argv[2])


def session():
    return SMTP(Handler(), hostname="judge.test", tls_context=context, authenticator=authenticate, auth_require_tls=True)


async def serve():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(session, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(serve())
