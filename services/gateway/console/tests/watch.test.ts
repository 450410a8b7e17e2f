import assert from "node:assert/strict";
import { test } from "node:test";
import type { DiagnosisEvent } from "../src/types.ts";
import { follow, type Line, type Wire } from "../src/watch.ts";

const frame = (sequence: number) => `id: ${sequence}\ndata: {"sequence":"${sequence}","checksFinished":{}}\n\n`;
const kEnd = "event: end\ndata: {}\n\n";

/** A server with a log of so many events, whose connections are cut as the numbers say: after how many bytes. */
class FakeServer implements Wire {
  asked: string[] = [];
  slept = 0;
  constructor(private readonly events: number, private readonly cuts: number[], private readonly answers: (Response | Error)[] = []) {}
  open(last: string): Promise<Response> {
    this.asked.push(last);
    const special = this.answers.shift();
    if (special instanceof Error) return Promise.reject(special);
    if (special) return Promise.resolve(special);
    let text = ": hello\n\n";
    for (let i = Number(last || "0") + 1; i <= this.events; ++i) text += frame(i);
    text += kEnd;
    const cut = this.cuts.shift();
    const bytes = new TextEncoder().encode(cut === undefined ? text : text.slice(0, cut));
    let at = 0;
    return Promise.resolve(new Response(new ReadableStream({
      pull(controller) {
        if (at < bytes.length) {
          controller.enqueue(bytes.slice(at, at + 7));
          at += 7;
        } else if (cut === undefined) {
          controller.close();
        } else {
          controller.error(new Error("cut"));
        }
      },
    })));
  }
  sleep(): Promise<void> {
    this.slept += 1;
    return Promise.resolve();
  }
}

async function watch(server: FakeServer, from = 0) {
  const seen: number[] = [];
  const lines: Line[] = [];
  let resets = 0;
  await follow(server, {
    onEvents: (events: DiagnosisEvent[]) => seen.push(...events.map((one) => Number(one.sequence))),
    onReset: () => {
      resets += 1;
      seen.length = 0;
    },
    onLine: (line) => lines.push(line),
  }, new AbortController().signal, from);
  return { seen, lines, resets };
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

test("a stream that is cut anywhere, and anywhere again, gives each event once and in order", async () => {
  for (let cut = 0; cut < 300; cut += 3) {
    const server = new FakeServer(6, [cut, Math.floor(cut / 2), 40]);
    const { seen, lines } = await watch(server);
    assert.deepEqual(seen, upTo(6), `cut at ${cut}`);
    assert.equal(lines.at(-1), "ended");
  }
});

test("it goes on after the last event that it gave", async () => {
  const server = new FakeServer(5, [12 + 2 * frame(1).length]);
  assert.deepEqual((await watch(server)).seen, upTo(5));
  assert.deepEqual(server.asked, ["", "2"]);
});

test("events that come twice are given once", async () => {
  const twice = new Response(frame(1) + frame(2) + frame(1) + frame(2) + frame(3) + kEnd);
  assert.deepEqual((await watch(new FakeServer(3, [], [twice]))).seen, [1, 2, 3]);
});

test("where one is missing it asks again instead of going on", async () => {
  const gap = new Response(frame(1) + frame(3) + kEnd);
  const server = new FakeServer(3, [], [gap]);
  assert.deepEqual((await watch(server)).seen, [1, 2, 3]);
  assert.deepEqual(server.asked, ["", "1"]);
});

test("a reset begins anew", async () => {
  const reset = new Response(`event: reset\ndata: {}\n\n${frame(1)}${frame(2)}${kEnd}`);
  const { seen, resets } = await watch(new FakeServer(2, [], [reset]), 99);
  assert.deepEqual(seen, [1, 2]);
  assert.equal(resets, 1);
});

test("nothing newer ends it", async () => {
  const { seen, lines } = await watch(new FakeServer(2, [], [new Response(null, { status: 204 })]), 2);
  assert.deepEqual(seen, []);
  assert.equal(lines.at(-1), "ended");
});

test("a server that is away is asked again, a refusal is not", async () => {
  const away = new FakeServer(2, [], [new Error("no network"), new Response("{}", { status: 503 }), new Response("", { status: 429 })]);
  assert.deepEqual((await watch(away)).seen, [1, 2]);
  assert.equal(away.slept, 3);
  const refused = new FakeServer(2, [], [new Response("{\"error\":{\"message\":\"none\"}}", { status: 404 })]);
  const { seen, lines } = await watch(refused);
  assert.deepEqual([seen, lines.at(-1), refused.slept], [[], "refused", 0]);
});
