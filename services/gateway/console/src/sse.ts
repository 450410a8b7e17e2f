// Server-sent events as text (WHATWG HTML, section 9.2), as far as the gateway writes them.

export interface Frame { id: string; kind: string; data: string }

/** Takes the text of a stream in pieces, cut anywhere, and gives the frames that are whole. */
export class FrameReader {
  #rest = "";
  #id = "";
  #kind = "";
  #data: string[] = [];

  take(piece: string): Frame[] {
    const frames: Frame[] = [];
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.#data.length > 0) {
          frames.push({ id: this.#id, kind: this.#kind || "message", data: this.#data.join("\n") });
        }
        this.#kind = "";
        this.#data = [];
        continue;
      }
      if (line.startsWith(":")) continue;
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      let value = colon < 0 ? "" : line.slice(colon + 1);
      if (value.startsWith(" ")) value = value.slice(1);
      if (field === "id") this.#id = value;
      else if (field === "event") this.#kind = value;
      else if (field === "data") this.#data.push(value);
    }
    return frames;
  }
}
