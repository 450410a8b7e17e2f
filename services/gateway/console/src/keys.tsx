// The keyboard. Nothing that changes anything has a key of its own.
import { useEffect } from "preact/hooks";
import { Dialog } from "./parts.tsx";
import { go, helpOpen, keysOn, me, route, setKeysOn } from "./state.ts";
import { diagnosisHash, kTabs } from "./route.ts";

const kHelp: [string, string][] = [
  ["?", "this help"], ["g d", "diagnoses"], ["g n", "new diagnosis"], ["g k", "knowledge"], ["g o", "nodes"], ["/", "search in this view"],
  ["j, k", "next, previous row"], ["Enter", "open"], ["1 … 5", "parts of a diagnosis"], ["Esc", "close"],
];

const inField = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")].filter((row) => row.offsetParent !== null);
  const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

export function useKeys(): void {
  useEffect(() => {
    let waiting = 0;
    const onKey = (event: KeyboardEvent) => {
      if (!keysOn.value || me.value === null || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (inField(event.target) || document.querySelector("dialog[open]")) return;
      const after = Date.now() - waiting < 1500;
      waiting = 0;
      const done = () => event.preventDefault();
      if (after) {
        const to: Record<string, string> = { d: "#/diagnoses", n: "#/new", k: "#/knowledge", o: "#/nodes" };
        const hash = to[event.key];
        if (hash) {
          done();
          return go(hash);
        }
      }
      const at = route.value;
      const tab = at.view === "diagnosis" ? kTabs[Number(event.key) - 1] : undefined;
      if (event.key === "?") helpOpen.value = true;
      else if (event.key === "g") waiting = Date.now();
      else if (event.key === "/") document.querySelector<HTMLElement>("[data-search]")?.focus();
      else if (event.key === "j") step(1);
      else if (event.key === "k") step(-1);
      else if (tab && at.view === "diagnosis") go(diagnosisHash(`tenants/${at.tenant}/diagnoses/${at.id}`, tab));
      else return;
      done();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

export function Help() {
  return (
    <Dialog title="Help" onClose={() => { helpOpen.value = false; }}>
      <h3>Keyboard</h3>
      <dl class="keys">{kHelp.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <label class="check"><input type="checkbox" checked={keysOn.value} onChange={(event) => setKeysOn(event.currentTarget.checked)} />
        Single keys are short cuts</label>
      <h3>Signs</h3>
      <p>✓ holds, ✕ does not, ? cannot be told, ◇ set aside as irrelevant, ● under way, – skipped. What was skipped or could not be told is
        never counted as healthy.</p>
      <p class="dim small">Made with Preact and its signals (<a href="/console/licences.txt">MIT</a>). This page talks to its own server only, and keeps your key in this tab.</p>
    </Dialog>
  );
}
