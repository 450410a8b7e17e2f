// A flow of twelve steps for Restate, as durable.py has it run: each step's result is durable before the next begins.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

// The SDK wants a newer Node than Debian's, for this alone.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((one, other) => { resolve = one; reject = other; });
  return {promise, resolve, reject};
};

const [where, port] = process.argv.slice(2);
const restate = await import(pathToFileURL(createRequire(`${where}/`).resolve("@restatedev/restate-sdk")));
const flow = restate.service({
  name: "flow",
  handlers: {
    run: async (ctx) => {
      let bytes = 0;
      for (let i = 0; i < 12; i++) bytes += (await ctx.run(`step${i}`, async () => "x".repeat(400))).length;
      return bytes;
    },
  },
});
await restate.serve({services: [flow], port: Number(port)});
console.log("ready");
