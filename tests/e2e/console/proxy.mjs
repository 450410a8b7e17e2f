// Stands between the browser and the gateway, and does to connections what networks do.
import net from "node:net";

export class Proxy {
  /** Bytes after which each stream of events is cut, Infinity for never, for so many streams. */
  cutAfter = Infinity;
  cutsLeft = 0;
  /** Where in the text of a stream so far it is held back until release(); -1 while nowhere yet. */
  holdAt = () => -1;
  away = false;
  cuts = 0;
  #sockets = new Set();
  #held = new Set();

  static async start(host, port) {
    const proxy = new Proxy();
    proxy.server = net.createServer((client) => proxy.#serve(client, host, port));
    await new Promise((resolve) => proxy.server.listen(0, "127.0.0.1", resolve));
    proxy.base = `http://127.0.0.1:${proxy.server.address().port}`;
    return proxy;
  }

  #serve(client, host, port) {
    if (this.away) return client.destroy();
    const upstream = net.connect(port, host);
    const end = () => {
      client.destroy();
      upstream.destroy();
      this.#sockets.delete(end);
    };
    this.#sockets.add(end);
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    let watches = false;
    let sent = 0;
    let seen = "";
    client.on("data", (bytes) => {
      const head = bytes.toString("latin1");
      if (/^[A-Z]+ \S+ HTTP\/1\.1\r\n/.test(head)) watches = /^GET \S+:watch /.test(head);
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (!watches) return void client.write(bytes);
      seen += bytes.toString("latin1");
      const holdAt = this.holdAt(seen);
      const cutAfter = this.cutsLeft > 0 ? this.cutAfter : Infinity;
      const room = Math.max(0, Math.min(cutAfter, holdAt < 0 ? Infinity : holdAt) - sent);
      if (bytes.length <= room) {
        sent += bytes.length;
        return void client.write(bytes);
      }
      if (holdAt < 0 || cutAfter <= holdAt) {
        this.cuts += 1;
        this.cutsLeft -= 1;
        return void client.end(bytes.subarray(0, room), end);
      }
      client.write(bytes.subarray(0, room));
      upstream.pause();
      this.#held.add(() => {
        sent += bytes.length;
        client.write(bytes.subarray(room));
        upstream.resume();
      });
    });
  }

  get holding() {
    return this.#held.size > 0;
  }
  release() {
    this.holdAt = () => -1;
    const held = [...this.#held];
    this.#held.clear();
    for (const go of held) go();
  }
  cutAll() {
    for (const end of [...this.#sockets]) end();
  }
  stop() {
    this.cutAll();
    this.server.close();
  }
}
