// A new diagnosis: from a text, logs, or a bundle.
import { useRef, useState } from "preact/hooks";
import { create, newRequestId, upload } from "../api.ts";
import { bytes } from "../format.ts";
import { Title, Trouble } from "../parts.tsx";
import { diagnosisHash } from "../route.ts";
import { go, me, tenant } from "../state.ts";
import type { Upload } from "../types.ts";

const kInline = 256 * 1024;  // smaller logs travel in the request itself
const isBundle = (file: File) => /\.(tar|tgz|tar\.gz|tar\.zst|tzst|zip)$/i.test(file.name);

async function base64(file: File): Promise<string> {
  const read = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < read.length; at += 8192) text += String.fromCharCode(...read.subarray(at, at + 8192));
  return btoa(text);
}

export function NewView() {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState("");
  const [nodes, setNodes] = useState("");
  const [strategy, setStrategy] = useState("");
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<unknown>();
  const [over, setOver] = useState(false);
  const stop = useRef<AbortController | undefined>(undefined);
  const picker = useRef<HTMLInputElement>(null);
  const requestId = useRef(newRequestId());
  const bundles = files.filter(isBundle);
  const uploads = me.value?.uploads ?? false;
  const wrong = bundles.length > 1 ? "One bundle at a time: leave the others out."
    : !uploads && (bundles.length > 0 || files.some((one) => one.size > kInline))
      ? `This gateway takes no uploads: send the part of the log around the failure, at most ${bytes(kInline)}.` : "";
  const ready = wrong === "" && (text.trim() !== "" || files.length > 0) && busy === "";
  const add = (list: FileList | null) => {
    const more = [...(list ?? [])];
    setFiles((before) => [...before, ...more.filter((one) => !before.some((two) => two.name === one.name && two.size === one.size))]);
  };

  const submit = async (event: Event) => {
    event.preventDefault();
    if (!ready) return;
    setError(undefined);
    stop.current = new AbortController();
    const { signal } = stop.current;
    try {
      const logs: unknown[] = [];
      let bundle: Upload | undefined;
      for (const file of files) {
        const tell = (share: number) => setBusy(`Sending ${file.name}: ${Math.round(share * 100)} % of ${bytes(file.size)}`);
        tell(0);
        if (isBundle(file)) bundle = await upload(tenant.value, "bundle", file, tell, signal);
        else if (file.size <= kInline) logs.push({ path: file.name, kind: "JOB", content: await base64(file) });
        else logs.push({ path: (await upload(tenant.value, "log", file, tell, signal)).name, kind: "JOB" });
      }
      setBusy("Starting…");
      const description = text.trim() || (bundle ? "" : `Log ${files.map((one) => one.name).join(", ")} was sent without a description.`);
      const names = nodes.split(/[\s,]+/).filter((one) => one !== "");
      const diagnosis = await create(tenant.value, {
        ...(description ? { description } : {}), ...(logs.length > 0 ? { logs } : {}), ...(bundle ? { bundle: bundle.name } : {}),
        ...(names.length > 0 ? { nodes: names } : {}), ...(from ? { startTime: `${from}:00Z` } : {}), ...(until ? { endTime: `${until}:00Z` } : {}),
      }, strategy, requestId.current);
      go(diagnosisHash(diagnosis.name, "search"));
    } catch (problem) {
      if (!signal.aborted) setError(problem);
      setBusy("");
    }
  };

  return (
    <section class="narrow wide-form">
      <Title text="New diagnosis" />
      <form onSubmit={(event) => void submit(event)}>
        <label for="text">What went wrong?</label>
        <textarea id="text" data-search rows={7} value={text} onInput={(event) => setText(event.currentTarget.value)}
          placeholder="Training of llama-405b stopped at 03:28 with NCCL timeouts on all ranks. Rank 37 stopped first." />
        <div class={`drop${over ? " over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => { event.preventDefault(); setOver(false); add(event.dataTransfer?.files ?? null); }}>
          <p>Drop logs or a bundle here, or <button type="button" class="link" onClick={() => picker.current?.click()}>choose files</button></p>
          <p class="dim small">Logs as they are, also .gz and .zst. A bundle is a .tar.gz, .tar.zst or .zip of <code>galen bundle capture</code>.</p>
          <label class="hidden" for="files">Logs or a bundle</label>
          <input id="files" ref={picker} class="hidden" type="file" multiple tabIndex={-1}
            onChange={(event) => { add(event.currentTarget.files); event.currentTarget.value = ""; }} />
        </div>
        {files.length > 0 && <ul class="files" aria-label="Chosen files">{files.map((file) => (
          <li key={file.name}><span class="mono">{file.name}</span> <span class="dim">{isBundle(file) ? "bundle" : "log"}, {bytes(file.size)}</span>
            <button type="button" class="plain" aria-label={`Leave out ${file.name}`} onClick={() => setFiles(files.filter((one) => one !== file))}>✕</button></li>
        ))}</ul>}
        {wrong && <p class="warn" role="alert">{wrong}</p>}
        <details><summary>More: time, nodes, way of searching</summary>
          <div class="grid">
            <label>From (UTC) <input type="datetime-local" value={from} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
            <label>Until (UTC) <input type="datetime-local" value={until} onInput={(event) => setUntil(event.currentTarget.value)} /></label>
            <label>Nodes <input value={nodes} placeholder="all that are known" spellcheck={false} onInput={(event) => setNodes(event.currentTarget.value)} /></label>
            <label>Search <select value={strategy} onChange={(event) => setStrategy(event.currentTarget.value)}>
              <option value="">as the server is set up</option>
              {["tiered", "taxonomy", "exhaustive", "selfplay", "history", "direct"].map((one) => <option key={one}>{one}</option>)}</select></label>
          </div></details>
        <div class="actions">
          <button class="primary" disabled={!ready}>Start diagnosis</button>
          {busy !== "" && <><span role="status">{busy}</span><button type="button" onClick={() => stop.current?.abort()}>Stop</button></>}
        </div>
      </form>
      {error !== undefined && <Trouble error={error} />}
    </section>
  );
}
