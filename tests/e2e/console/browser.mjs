// The console in a headless Chromium, in front of a mesh of processes; started by console_test.py, which says where all is.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, test } from "node:test";
import { Proxy } from "./proxy.mjs";

const env = (name) => process.env[`GALEN_${name}`] ?? assert.fail(`GALEN_${name} is not set`);
const consoleDir = env("CONSOLE_SOURCES");
const require = createRequire(`${consoleDir}/package.json`);
const { chromium } = require("playwright-core");
const esbuild = require("esbuild");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.GALEN_SHOTS;
// Those that docs/console.md shows.
const kShown = ["list-light", "live-light", "report-light", "search-dark", "drawer-light", "reasoning-light", "ask-dark", "time-dark", "report-phone",
  "approve-light", "knowledge-dark"];
async function shoot(on, name) {
  if (shots && kShown.includes(name)) await on.screenshot({ path: `${shots}/${name}.png` });
}
const key = env("KEY");
const [host, port] = env("GATEWAY").split(":");
const kText = "NCCL WARN Connect failed: Connection refused on every rank";
const kViews = { light: { width: 1280, height: 860 }, dark: { width: 1280, height: 860 }, phone: { width: 375, height: 780 } };

let browser, proxy, context, page, fold;
const faults = [];  // what no test may see: errors, requests to elsewhere

async function newContext(kind = "light", signedIn = key) {
  const made = await browser.newContext({
    viewport: kViews[kind], colorScheme: kind === "dark" ? "dark" : "light", reducedMotion: "reduce", timezoneId: "UTC", locale: "en-US",
  });
  await made.grantPermissions(["clipboard-read", "clipboard-write"], { origin: proxy.base });
  await made.addInitScript((text) => {
    if (text && location.protocol === "http:") sessionStorage.setItem("galen.key", text);
    document.addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
  }, signedIn);
  made.on("request", (request) => {
    if (new URL(request.url()).origin !== proxy.base) faults.push(`asked ${request.url()}`);
  });
  made.on("console", (message) => {
    if (message.type() === "error" && !expected.some((one) => message.text().includes(one))) faults.push(message.text());
  });
  made.on("weberror", (error) => faults.push(String(error.error())));
  made.on("dialog", (dialog) => {
    faults.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  return made;
}
let expected = [];

const api = async (method, path, body, with_ = key) => {
  const response = await fetch(`http://${host}:${port}/v1/${path}`, { method,
    headers: { Authorization: `Bearer ${with_}`, ...(typeof body === "object" ? { "Content-Type": "application/json" } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
};
const make = async (incident) => (await api("POST", "tenants/acme/diagnoses", { incident })).name;
async function eventsOf(name) {
  const response = await fetch(`http://${host}:${port}/v1/${name}:watch`, { headers: { Authorization: `Bearer ${key}` } });
  return [...(await response.text()).matchAll(/^data: (.*)$/gm)].map((found) => JSON.parse(found[1])).filter((one) => one.sequence !== undefined);
}
const badge = (text) => page.locator(".head .badge", { hasText: text }).waitFor({ timeout: 60000 });
const open = async (hash, on = page) => {
  await on.goto("about:blank");
  await on.goto(`${proxy.base}/${hash}`);
};
async function createFromText(text = kText) {
  await open("#/new");
  await page.getByLabel("What went wrong?").fill(text);
  await page.getByRole("button", { name: "Start diagnosis" }).click();
  await page.waitForURL(/diagnoses\/[^/]+\/search/);
  return decodeURIComponent(/#\/(tenants\/[^?]+)\/search/.exec(page.url())[1]);
}
async function createFromBundle() {
  await open("#/new");
  await page.getByLabel("Logs or a bundle").setInputFiles(env("BUNDLE"));
  await page.getByText("bundle, ").waitFor();
  await page.getByRole("button", { name: "Start diagnosis" }).click();
  await page.waitForURL(/diagnoses\/[^/]+\/search/);
  await badge("Cause found");
  return decodeURIComponent(/#\/(tenants\/[^?]+)\/search/.exec(page.url())[1]);
}

before(async () => {
  const built = await esbuild.build({ entryPoints: [`${consoleDir}/src/fold.ts`], bundle: true, format: "esm", write: false });
  fold = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`);
  browser = await chromium.launch({ executablePath: env("CHROMIUM"), args: ["--no-sandbox", "--force-color-profile=srgb"] });
  proxy = await Proxy.start(host, Number(port));
});
after(async () => {
  await browser?.close();
  proxy?.stop();
});
beforeEach(async () => {
  proxy.release();
  proxy.cutAfter = Infinity;
  proxy.cutsLeft = 0;
  proxy.away = false;
  faults.length = 0;
  expected = [];
  await context?.close();
  context = await newContext();
  page = await context.newPage();
  page.setDefaultTimeout(30000);
});

// What never comes is said of the claim that waits for it, not of the whole program.
const claim = (name, body) => test(name, { timeout: 240000 }, async () => {
  await body();
  assert.deepEqual(faults.splice(0), []);
});

claim("a person signs in with a key, and is told when it is none", async () => {
  expected = ["401"];
  await context.close();
  context = await newContext("light", "");
  page = await context.newPage();
  const answer = await page.goto(`${proxy.base}/`);
  const policy = answer.headers()["content-security-policy"];
  for (const part of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"]) {
    assert.ok(policy.includes(part), policy);
  }
  await page.getByLabel("API key").fill("galen_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Diagnoses" }).waitFor();
  assert.equal(await page.evaluate((text) => document.cookie + JSON.stringify(localStorage) + location.href, key).then((all) => all.includes(key)), false);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.getItem("galen.key")), null);
});

claim("a diagnosis from a text is watched while it runs, until it asks for an answer", async () => {
  // In mid-search, where leaves were ranked and not yet judged, for as long as we look.
  proxy.holdAt = (text) => {
    const left = text.indexOf('"branchLeft"');
    return left < 0 ? -1 : text.indexOf('"verdictsGiven"', left);
  };
  const name = await createFromText();
  await badge("Running");
  await page.locator("[data-line=live]").waitFor();
  await page.locator(".checks .row").first().waitFor();
  await page.locator(".tree.search li").first().waitFor();
  while (!proxy.holding) await page.waitForTimeout(50);
  assert.notEqual((await page.locator(".awaited").textContent()).trim(), "");
  await page.locator(".leaf.testing").first().waitFor();
  await shoot(page, "live-light");
  proxy.release();
  await badge("Needs your answer");
  const picture = fold.fold(fold.emptyPicture(), await eventsOf(name));
  assert.equal(await page.locator(".leaf.testing").count(), 0);
  assert.equal(await page.locator(".leaf.rejected").count(), fold.countStates(picture).rejected);
  assert.equal(await page.locator(".checks .row").count(), picture.checkOrder.length);
});

claim("a stream that is cut again and again loses and doubles nothing", async () => {
  expected = ["ERR_INCOMPLETE_CHUNKED_ENCODING"];
  proxy.cutAfter = 20000;
  proxy.cutsLeft = 6;
  const name = await make({ description: kText });
  await open(`#/${name}/time`);
  await badge("Needs your answer");
  assert.equal(proxy.cutsLeft, 0);
  await page.getByLabel("each check").check();
  const shown = await page.locator("section[aria-labelledby=search-time] .what").allTextContents();
  const picture = fold.fold(fold.emptyPicture(), await eventsOf(name));
  assert.deepEqual(shown, picture.moments.map((one) => one.text));
});

claim("a network that goes away and comes back is said, and costs nothing", async () => {
  expected = ["ERR_", "Failed to load"];
  proxy.holdAt = (text) => text.indexOf('"childrenRanked"');
  const name = await make({ description: kText });
  await open(`#/${name}/search`);
  await page.locator("[data-line=live]").waitFor();
  await page.locator(".checks .row").first().waitFor();
  proxy.away = true;
  proxy.cutAll();
  await page.locator("[data-line=reconnecting]").waitFor();
  assert.ok(await page.locator(".checks .row").count() > 0);
  proxy.away = false;
  proxy.release();
  await badge("Needs your answer");
  const picture = fold.fold(fold.emptyPicture(), await eventsOf(name));
  assert.equal(await page.locator(".checks .row").count(), picture.checkOrder.length);
});

claim("an answer starts another round, and stands in the report", async () => {
  const name = await createFromText();
  await badge("Needs your answer");
  await page.getByRole("link", { name: "What can you add?" }).click();
  await page.getByLabel("What you saw, tried, or know").fill("the container has the default /dev/shm");
  await page.getByRole("button", { name: "Send and search on" }).click();
  await page.getByLabel("Added later").waitFor();
  await badge("Needs your answer");
  await page.getByLabel("Added later").getByText("the container has the default /dev/shm").waitFor();
  assert.deepEqual((await api("GET", name)).feedback, ["the container has the default /dev/shm"]);
  await page.getByRole("button", { name: "Give to a person…" }).click();
  await page.getByRole("dialog").getByLabel("Why").fill("needs hands");
  await page.getByRole("dialog").getByRole("button", { name: "Give to a person" }).click();
  await badge("With a person");
  assert.equal((await api("GET", name)).state, "ESCALATED");
});

claim("a bundle is sent, its cause found, its evidence opened, and its report shared", async () => {
  const name = await createFromBundle();
  await page.locator(".leaf.confirmed summary").first().click();
  const chip = page.locator(".leaf.confirmed .chips button", { hasText: "gpu.ecc@volta-34" }).first();
  await chip.click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel("Raw text").getByText("<device_memory>1</device_memory>").first().waitFor();
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "gpu.ecc@volta-34");
  await page.getByRole("link", { name: "Report", exact: true }).click();
  await page.getByText("Uncorrectable (double-bit) ECC error in GPU DRAM").first().waitFor();
  await page.getByRole("button", { name: "Copy link" }).click();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, `${proxy.base}/#/${name}/report`);
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  assert.ok((await page.evaluate(() => navigator.clipboard.readText())).startsWith("# Uncorrectable"));
  // Somebody else of the tenant, who may only read.
  const reader = await newContext("light", env("READER_KEY"));
  const theirs = await reader.newPage();
  await theirs.goto(link);
  await theirs.getByRole("heading", { level: 1, name: /Uncorrectable/ }).waitFor();
  assert.equal(await theirs.getByRole("button", { name: "Record the established cause…" }).count(), 0);
  await reader.close();
  // A person says what it was.
  await page.getByRole("button", { name: "Record the established cause…" }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Cause").inputValue(), "GPU.MEMORY.UNCORRECTABLE_ECC");
  await dialog.getByLabel("Your name").fill("Ada");
  await dialog.getByRole("button", { name: "Record it" }).click();
  await page.getByText("Established by a person").waitFor();
  assert.equal((await api("GET", name)).confirmation.by, "Ada");
});

claim("an approver approves the very action, typed by hand, and takes it back; others cannot", async () => {
  const name = await createFromBundle();
  await open(`#/${name}/report`);
  await page.getByRole("heading", { name: "Proposed actions" }).waitFor();
  await page.getByText("This key is of no approver.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Review…" }).count(), 0);
  const approver = await newContext("light", env("APPROVER_KEY"));
  const theirs = await approver.newPage();
  await theirs.goto(`${proxy.base}/#/${name}/report`);
  await theirs.getByRole("button", { name: "Review…" }).first().click();
  const dialog = theirs.getByRole("dialog");
  await dialog.getByText("Drain the node").waitFor();
  await shoot(theirs, "approve-light");
  assert.deepEqual(await faultsOf(theirs, "approve"), []);
  const approve = dialog.getByRole("button", { name: "Approve", exact: true });
  assert.equal(await approve.isDisabled(), true);
  await dialog.getByLabel("Why").fill("node is drained");
  await theirs.keyboard.press("Enter");  // is not enough
  assert.equal((await api("GET", `${name}/actions`)).actions[0].state, "PROPOSED");
  await dialog.getByLabel("To approve").fill("volta-34");
  await approve.click();
  await dialog.waitFor({ state: "detached" });
  await theirs.locator(".proposed .badge", { hasText: "approved" }).waitFor();
  const [action] = (await api("GET", `${name}/actions`)).actions;
  assert.deepEqual([action.state, action.reason], ["APPROVED", "node is drained"]);
  await theirs.getByRole("button", { name: "Review…" }).first().click();
  await dialog.getByRole("button", { name: "Take it back" }).click();
  await theirs.locator(".proposed .badge", { hasText: "refused" }).waitFor();
  assert.equal((await api("GET", `${name}/actions`)).actions[0].state, "REJECTED");
  await approver.close();
});

async function faultsOf(on, view) {
  await on.evaluate(axe);
  const { violations } = await on.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${view}: ${one.id} at ${one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`);
}

claim("axe finds no serious fault in any view, in light, in dark and on a phone", async () => {
  for (const example of env("EXAMPLES").split(",")) {
    const body = readFileSync(example);
    const response = await fetch(`http://${host}:${port}/v1/tenants/acme/uploads?kind=bundle&fileName=b.tar.gz`,
      { method: "POST", headers: { Authorization: `Bearer ${key}` }, body });
    await eventsOf(await make({ bundle: (await response.json()).name }));
  }
  const found = await createFromBundle();
  const asked = await createFromText();
  await badge("Needs your answer");
  const views = {
    list: "#/diagnoses", new: "#/new", report: `#/${found}/report`, search: `#/${found}/search`, evidence: `#/${found}/evidence`,
    drawer: `#/${found}/evidence?evidence=${encodeURIComponent("gpu.ecc@volta-34")}`, reasoning: `#/${found}/reasoning`, time: `#/${found}/time`,
    ask: `#/${asked}/report`, undecided: `#/${asked}/search`, knowledge: "#/knowledge/GPU.MEMORY.UNCORRECTABLE_ECC",
  };
  const problems = [];
  for (const kind of Object.keys(kViews)) {
    const other = await newContext(kind);
    const on = await other.newPage();
    for (const [view, hash] of Object.entries(views)) {
      await open(hash, on);
      await on.locator("h1").waitFor();
      await on.waitForLoadState("networkidle");
      if (view === "drawer") await on.getByRole("dialog").waitFor();
      problems.push(...(await faultsOf(on, `${view} ${kind}`)));
      const wide = await on.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) problems.push(`${view} ${kind}: ${wide} pixels wider than the window`);
      await shoot(on, `${view}-${kind}`);
    }
    await other.close();
  }
  assert.deepEqual(problems, []);
  // Would it have found one?
  await page.evaluate(() => document.querySelector("main").append(document.createElement("img"), document.createElement("input")));
  assert.notDeepEqual(await faultsOf(page, "control"), []);
});

claim("another tenant's diagnosis is not there", async () => {
  expected = ["404"];
  await open("#/tenants/other/diagnoses/none");
  await page.getByRole("alert").getByText("Not found").waitFor();
});

claim("what others wrote is shown as text", async () => {
  const evil = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script> a\u202eb <a href=javascript:window.pwned=1>x</a>";
  const name = await make({ description: evil, nodes: ["<b>n</b>"], logs: [{ path: "<i>x</i>.log", content: Buffer.from("NCCL WARN <svg onload=window.pwned=1>\n").toString("base64") }] });
  for (const tab of ["report", "search", "evidence", "reasoning", "time"]) {
    await open(`#/${name}/${tab}`);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("main img, main script, main a[href^=javascript], main b, main i").count(), 0);
  }
  await open("#/diagnoses");
  await page.getByText("a\\u202eb").first().waitFor();
});

claim("the keyboard leads everywhere, and fields keep what is typed", async () => {
  await make({ description: "for the keyboard" });
  await open("#/diagnoses");
  await page.locator(".rowlink").first().waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("gk?");
  assert.equal(await page.getByLabel("Search").inputValue(), "gk?");
  await page.getByLabel("Search").fill("keyboard");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/tenants\/acme\/diagnoses/);
  await page.locator(".tabs").waitFor();
  await page.keyboard.press("5");
  await page.getByRole("heading", { name: "The search" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Help" }).waitFor();
  await page.getByRole("dialog").getByLabel("Single keys are short cuts").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  assert.match(page.url(), /diagnoses/);
  await page.getByRole("button", { name: "Help and keyboard" }).click();
  await page.getByRole("dialog").getByLabel("Single keys are short cuts").check();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  await page.getByRole("heading", { name: "Knowledge" }).waitFor();
});

claim("lists are filtered, and say when nothing matches", async () => {
  const name = await createFromBundle();
  await open("#/diagnoses?state=SUCCEEDED&cause=GPU.MEMORY");
  await page.locator(`a[href="#/${name}"]`).waitFor();
  for (const state of await page.locator("tbody .badge").allTextContents()) assert.match(state, /Cause found/);
  await page.getByLabel("Search").fill("no such words");
  await page.getByText("No diagnosis matches.").waitFor();
  await page.getByRole("button", { name: "Clear the filter" }).click();
  await page.locator(`a[href="#/${name}"]`).waitFor();
  assert.match(page.url(), /#\/diagnoses$/);
});

claim("knowledge is browsed, and nodes are shown to operators", async () => {
  await open("#/knowledge");
  await page.getByLabel("Search").fill("uncorrectable ECC");
  await page.getByRole("link", { name: /Uncorrectable \(double-bit\) ECC/ }).click();
  await page.getByRole("heading", { name: "Confirmed by" }).waitFor();
  await page.getByRole("link", { name: "gpu.ecc", exact: true }).first().click();
  await page.getByRole("heading", { name: "Reads" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Nodes" }).count(), 0);
  const operator = await newContext("light", env("OPERATOR_KEY"));
  const theirs = await operator.newPage();
  await theirs.goto(`${proxy.base}/#/nodes`);
  await theirs.getByText("registered-node").waitFor();
  await operator.close();
});
