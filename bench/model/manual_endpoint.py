#!/usr/bin/env python3
"""An endpoint in the place of a language model whose answers somebody writes by hand.

Each request becomes FOLDER/NNNN.request.json, as it came, and FOLDER/NNNN.prompt.txt, to be read. The answer is what
then stands in FOLDER/NNNN.answer.json: the JSON object that the prompt's schema asks for. Write it under another name
and rename it, so that no half of it is read. A line for each request goes to standard output, and to FOLDER/log.jsonl
at the end of each: question, tokens by length, seconds.

    python3 bench/model/manual_endpoint.py FOLDER --port 8089
    galen diagnose --llm FOLDER/llm.yaml --bundle BUNDLE

FOLDER/llm.yaml is written at the start, with time limits of an hour. It binds the loopback interface.
"""
import argparse
import http.server
import json
import os
import threading
import time

POLL_S = 0.2


class Mailbox:
    """Numbers requests and waits for their answers."""

    def __init__(self, folder, patience_s):
        self.folder = folder
        self.patience_s = patience_s
        self.lock = threading.Lock()
        done = [int(name[:4]) for name in os.listdir(folder) if name[:4].isdigit()]
        self.last = max(done, default=0)

    def path(self, number, what):
        return f"{self.folder}/{number:04d}.{what}"

    def put(self, number, what, text):
        with open(self.path(number, what) + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(number, what) + ".new", self.path(number, what))

    def ask(self, body):
        with self.lock:
            self.last += 1
            number = self.last
        begun = time.monotonic()
        question = schema_of(body)[0]
        self.put(number, "request.json", json.dumps(body, indent=1, ensure_ascii=False))
        self.put(number, "prompt.txt", readable(body))
        print(f"{number:04d} {question}: answer in {self.path(number, 'answer.json')}", flush=True)
        answer = self.wait(number, begun)
        tokens = {"prompt_tokens": sum(len(m.get("content") or "") for m in body["messages"]) // 4,
                  "completion_tokens": len(answer) // 4}
        with self.lock, open(f"{self.folder}/log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps({"number": number, "question": question,
                                  "seconds": round(time.monotonic() - begun, 1), **tokens}) + "\n")
        return answer, tokens

    def wait(self, number, begun):
        path = self.path(number, "answer.json")
        while time.monotonic() - begun < self.patience_s:
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    return file.read()
            time.sleep(POLL_S)
        raise TimeoutError(f"{path}: nobody wrote it within {self.patience_s} s")


def schema_of(body):
    """Name and schema of the answer, where the request holds one."""
    form = body.get("response_format", {}).get("json_schema")
    return (form["name"], form["schema"]) if form else ("question", None)


def readable(body):
    parts = [f"== {message['role']}\n{message.get('content') or json.dumps(message.get('tool_calls'))}"
             for message in body["messages"]]
    schema = schema_of(body)[1]
    if schema:
        parts.append(f"== schema of the answer\n{json.dumps(schema)}")
    return "\n\n".join(parts) + "\n"


def handler_of(mailbox):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send(200, {"object": "list", "data": [{"id": "manual"}]})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answer, tokens = mailbox.ask(body)
            except TimeoutError as error:
                self.send(503, {"error": {"message": str(error)}})
                return
            self.send(200, {"model": "manual", "usage": tokens, "choices": [
                {"index": 0, "message": {"role": "assistant", "content": answer},
                 "finish_reason": "stop"}]})

        def send(self, code, answer):
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--patience", type=float, default=3500, help="seconds that an answer is waited for")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    mailbox = Mailbox(arguments.folder, arguments.patience)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), handler_of(mailbox))
    server.daemon_threads = True
    with open(f"{arguments.folder}/llm.yaml", "w", encoding="utf-8") as file:
        file.write(f"url: http://127.0.0.1:{server.server_port}/v1\nmodel: manual\nproxy: none\n"
                   "retries: {most: 0}\ntimeouts: {total: 1h}\n")
    print(f"galen diagnose --llm {arguments.folder}/llm.yaml ...", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
