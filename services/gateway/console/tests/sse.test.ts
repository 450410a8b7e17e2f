import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameReader, type Frame } from "../src/sse.ts";

const kStream = "retry: 2000\n\nid: 1\ndata: {\"a\":1}\n\n: still here\n\nid: 2\r\ndata: one\r\ndata: two\r\n\r\nevent: end\ndata: {}\n\n";
const kFrames: Frame[] = [
  { id: "1", kind: "message", data: "{\"a\":1}" }, { id: "2", kind: "message", data: "one\ntwo" }, { id: "2", kind: "end", data: "{}" },
];

test("a stream gives the same frames wherever it is cut", () => {
  for (let cut = 1; cut < kStream.length; ++cut) {
    const reader = new FrameReader();
    assert.deepEqual([...reader.take(kStream.slice(0, cut)), ...reader.take(kStream.slice(cut))], kFrames, `cut at ${cut}`);
  }
  const reader = new FrameReader();
  assert.deepEqual([...kStream].flatMap((one) => reader.take(one)), kFrames);
});

test("a frame that is not whole is not given", () => {
  assert.deepEqual(new FrameReader().take("id: 1\ndata: half"), []);
});
