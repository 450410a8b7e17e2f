// node build.mjs: dist/ from src/, the same bytes each time. --tests: the tests, into build/tests/.
import { build } from "esbuild";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";

const common = { bundle: true, charset: "utf8", legalComments: "none", logLevel: "warning", target: "es2022" };

if (process.argv.includes("--tests")) {
  const tests = (await readdir("tests")).filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `tests/${name}`), outdir: "build/tests", outExtension: { ".js": ".mjs" },
    format: "esm", platform: "node", jsx: "automatic", jsxImportSource: "preact" });
} else {
  const outdir = process.argv[2] ?? "dist";
  await mkdir(outdir, { recursive: true });
  await build({ ...common, entryPoints: { app: "src/app.tsx" }, outdir, format: "esm", minify: true, jsx: "automatic", jsxImportSource: "preact" });
  await build({ ...common, entryPoints: { app: "src/style.css" }, outdir, minify: true });
  // What is part of app.js, and on which terms.
  let terms = "";
  for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) {
    const { version } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
    terms += `${name} ${version}\n\n${(await readFile(`node_modules/${name}/LICENSE`, "utf8")).trim()}\n\n\n`;
  }
  await writeFile(`${outdir}/licences.txt`, terms);
  for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${outdir}/${name}`);
}
