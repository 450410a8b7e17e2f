// The page: who one is, where one is, and the frame around it.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { keyOf, setKey, whenKeyIsRefused, whoami } from "./api.ts";
import { Empty, Loading, Title, Trouble } from "./parts.tsx";
import { Help, useKeys } from "./keys.tsx";
import { helpOpen, me, route, said, setTenant, tenant } from "./state.ts";
import type { Whoami } from "./types.ts";
import { DiagnosisView } from "./views/diagnosis.tsx";
import { KnowledgeView } from "./views/knowledge.tsx";
import { ListView } from "./views/list.tsx";
import { NewView } from "./views/new.tsx";
import { NodesView } from "./views/nodes.tsx";
import { SignIn } from "./views/signin.tsx";

function enter(who: Whoami): void {
  me.value = who;
  if (who.tenant !== "*") setTenant(who.tenant);
  else if (tenant.value === "") setTenant("default");
}

function leave(): void {
  setKey("");
  me.value = null;
}

function Frame() {
  const who = me.value;
  const at = route.value;
  const link = (hash: string, text: string, here: boolean) =>
    <a href={hash} {...(here ? { "aria-current": "page" as const } : {})}>{text}</a>;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/diagnoses"><img src="/console/icon.svg" alt="" width="22" height="22" /> Galen</a>
        {who && <nav aria-label="Views">
          {link("#/diagnoses", "Diagnoses", at.view === "list" || at.view === "diagnosis")}
          {link("#/new", "New", at.view === "new")}
          {link("#/knowledge", "Knowledge", at.view === "knowledge")}
          {who.role !== "customer" && who.tenant === "*" && link("#/nodes", "Nodes", at.view === "nodes")}
        </nav>}
        {who && <div class="who">
          {who.tenant === "*"
            ? <label class="tenant">Tenant <input value={tenant.value} size={10} spellcheck={false}
                onChange={(event) => setTenant(event.currentTarget.value.trim() || "default")} /></label>
            : <span class="tenant">{who.tenant}</span>}
          <span class="dim role">{who.role}</span>
          <button type="button" class="plain" onClick={() => { helpOpen.value = true; }} aria-label="Help and keyboard">?</button>
          <button type="button" class="plain" onClick={leave}>Sign out</button>
        </div>}
      </header>
      <main id="main" tabIndex={-1}>{who ? <View /> : <SignIn onEnter={enter} />}</main>
      <p class="said" role="status" aria-live="polite">{said.value}</p>
      {helpOpen.value && <Help />}
    </>
  );
}

function View() {
  const at = route.value;
  switch (at.view) {
    case "list": return <ListView key={tenant.value} />;
    case "new": return <NewView />;
    case "diagnosis": return <DiagnosisView key={`${at.tenant}/${at.id}`} name={`tenants/${at.tenant}/diagnoses/${at.id}`} />;
    case "knowledge": return <KnowledgeView />;
    case "nodes": return <NodesView />;
    default: return <><Title text="No such page" /><Empty title="There is nothing at this address."><a href="#/diagnoses">To the diagnoses</a></Empty></>;
  }
}

function App() {
  useKeys();
  const [asked, setAsked] = useState(keyOf() === "");
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    whenKeyIsRefused(leave);
    if (keyOf() !== "") start();
  }, []);
  const start = () => {
    setError(undefined);
    whoami().then(enter, setError).finally(() => setAsked(true));
  };
  if (!asked) return <Loading what="the page" />;
  if (error !== undefined && keyOf() !== "") return <main><Trouble error={error} again={start} /></main>;
  return <Frame />;
}

const root = document.getElementById("root");
if (root) render(<App />, root);
