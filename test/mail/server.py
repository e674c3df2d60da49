"""A real SMTP server for the example's tests: aiosmtpd on a free port of loopback. Prints its port, then one JSON line for each mail it has taken.

With four arguments (certificate, key, user, password) it takes mail only after STARTTLS and sign-in.
Recipients "nobody@..." are refused for good (550), "busy@..." for now (450); "later@..." is refused for now once, then taken.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Handler:
    def __init__(self):
        self.seen = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "nobody":
            return "550 5.1.1 no such mailbox"
        if name == "busy" or (name == "later" and address not in self.seen):
            self.seen.add(address)
            return "450 4.2.1 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        taken = {
            "to": envelope.rcpt_tos[0],
            "id": mail["Message-ID"],
            "everybody": envelope.rcpt_tos,
            "tls": session.ssl is not None,
            "subject": mail["Subject"],
            "text": mail.get_content(),
            "headers": list(mail.keys()),
        }
        print(json.dumps(taken), flush=True)
        return "250 taken"


def options():
    if len(sys.argv) < 5:
        return {}
    certificate, key, user, password = sys.argv[1:5]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def sign_in(server, session, envelope, mechanism, data):
        known = data.login == user.encode() and data.password == password.encode()
        return AuthResult(success=known, handled=False)

    return {"tls_context": context, "require_starttls": True, "authenticator": sign_in, "auth_required": True}


async def main():
    handler = Handler()
    loop = asyncio.get_running_loop()
    further = options()
    server = await loop.create_server(lambda: SMTP(handler, loop=loop, **further), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
