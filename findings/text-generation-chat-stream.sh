#!/usr/bin/env bash
# The client of text-generation-inference on PyPI has chat(stream=True). One would guess that it yields the chunks of a
# server that streams. But its generator asks a response of requests for `status`, which is a name of aiohttp. So the
# first chunk raises AttributeError, whatever the server says. generate_stream() of the same client works.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install text-generation==0.7.0 huggingface_hub==0.36.2
cd "$folder"
v/bin/python - <<'PY'
import http.server, importlib.metadata, json, threading
from text_generation import Client

token = {"id": 1, "text": "pore", "logprob": -0.5, "special": False}
details = {"finish_reason": "length", "generated_tokens": 1, "seed": None}
plain = {"index": 1, "token": token, "generated_text": "pore", "details": details}
chat = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "system_fingerprint": "s",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "pore"}, "finish_reason": None}]}


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b"data: " + json.dumps(chat if "chat" in self.path else plain).encode() + b"\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = Client(f"http://127.0.0.1:{server.server_port}")
print("text-generation", importlib.metadata.version("text-generation"))
texts = [answer.token.text for answer in client.generate_stream("the", max_new_tokens=1)]
print("  generate_stream:", texts)
try:
    said = list(client.chat(messages=[{"role": "user", "content": "the"}], stream=True))
except AttributeError as why:
    said = str(why)
print("  chat(stream=True):", said)
assert texts == ["pore"] and said == "'Response' object has no attribute 'status'", "the behaviour has changed"
PY
