// What Galen knows: the causes it looks for, what decides each, and the checks.
import { useMemo, useState } from "preact/hooks";
import { knowledge } from "../api.ts";
import { span } from "../format.ts";
import { Empty, Foreign, Loading, Title, Trouble, useAnswer } from "../parts.tsx";
import { go, route } from "../state.ts";
import type { Knowledge, KnownCheck, KnownLabel, Rule } from "../types.ts";

const hashOf = (name: string) => `#/knowledge/${encodeURIComponent(name)}`;

export function KnowledgeView() {
  const { answer, error, again } = useAnswer(knowledge, []);
  const [text, setText] = useState("");
  const at = route.value;
  const chosen = at.view === "knowledge" ? at.label : "";
  return (
    <section>
      <Title text="Knowledge" />
      {error !== undefined && <Trouble error={error} again={again} />}
      {answer === undefined ? error === undefined && <Loading what="what Galen knows" />
        : <>
          <p class="dim">{answer.labels.filter((one) => one.children.length === 0).length} causes, {answer.checks.length} checks
            · version <span class="mono">{answer.digest.slice(0, 12)}</span></p>
          <label class="search">Search <input type="search" data-search value={text} placeholder="ECC, firewall, gpu.nvlink_status"
            onInput={(event) => setText(event.currentTarget.value)} /></label>
          <div class="split">
            <div class="side"><Browser all={answer} text={text} chosen={chosen} /></div>
            <div class="detail" aria-live="off"><Chosen all={answer} name={chosen} /></div>
          </div>
        </>}
    </section>
  );
}

function Browser({ all, text, chosen }: { all: Knowledge; text: string; chosen: string }) {
  const words = text.toLowerCase().split(/\s+/).filter((one) => one !== "");
  const found = useMemo(() => {
    if (words.length === 0) return null;
    const has = (hay: string) => words.every((word) => hay.includes(word));
    return {
      labels: all.labels.filter((one) => has([one.label, one.title, one.description, ...(one.symptoms ?? [])].join("\n").toLowerCase())).slice(0, 60),
      checks: all.checks.filter((one) => has(`${one.name}\n${one.title}\n${one.reads.join("\n")}`.toLowerCase())).slice(0, 60),
    };
  }, [all, text]);
  if (found) {
    if (found.labels.length + found.checks.length === 0) return <Empty title="Nothing known matches." />;
    return (
      <ul class="hits">
        {found.labels.map((one) => <li key={one.label}><a data-row href={hashOf(one.label)} {...current(one.label === chosen)}>{one.title}
          <span class="dim small mono">{one.label}</span></a></li>)}
        {found.checks.map((one) => <li key={one.name}><a data-row href={hashOf(one.name)} {...current(one.name === chosen)}>{one.title}
          <span class="dim small mono">check {one.name}</span></a></li>)}
      </ul>);
  }
  const byLabel = new Map(all.labels.map((one) => [one.label, one]));
  return <>
    <h2>Causes</h2>
    <ul class="tree">{all.labels.filter((one) => one.parent === "").map((one) => <Branch key={one.label} one={one} byLabel={byLabel} chosen={chosen} />)}</ul>
    <h2>Checks</h2>
    <ul class="tree">{[...groups(all.checks)].map(([group, checks]) => <li key={group}><details>
      <summary data-row>{group} <span class="dim small">{checks.length}</span></summary>
      <ul>{checks.map((one) => <li key={one.name}><a data-row href={hashOf(one.name)} {...current(one.name === chosen)}>{one.name}</a></li>)}</ul>
    </details></li>)}</ul>
  </>;
}

const current = (here: boolean) => (here ? { "aria-current": "true" as const } : {});

function groups(checks: KnownCheck[]): Map<string, KnownCheck[]> {
  const found = new Map<string, KnownCheck[]>();
  for (const check of checks) {
    const group = check.name.split(".")[0] ?? "";
    found.set(group, [...(found.get(group) ?? []), check]);
  }
  return found;
}

function Branch({ one, byLabel, chosen }: { one: KnownLabel; byLabel: Map<string, KnownLabel>; chosen: string }) {
  if (one.children.length === 0) return <li><a data-row href={hashOf(one.label)} {...current(one.label === chosen)}>{one.title}</a></li>;
  return <li><details open={chosen.startsWith(`${one.label}.`)}><summary data-row>{one.title}</summary>
    <ul>{one.children.map((name) => byLabel.get(name)).filter((child) => child !== undefined)
      .map((child) => <Branch key={child.label} one={child} byLabel={byLabel} chosen={chosen} />)}</ul></details></li>;
}

function Rules({ title, rules }: { title: string; rules: Rule[] | undefined }) {
  if (!rules || rules.length === 0) return null;
  return <><h3>{title}</h3><ul class="rules">{rules.map((rule, i) => <li key={i}><RuleText rule={rule} /></li>)}</ul></>;
}

function RuleText({ rule }: { rule: Rule }) {
  return <><Foreign text={rule.text || rule.condition || ""} />{rule.context && <span class="dim"> (also on healthy machines: never enough by itself)</span>}
    {rule.check && <div class="dim small"><a class="mono" href={hashOf(rule.check)}>{rule.check}</a> <span class="mono">{rule.condition}</span></div>}
    {rule.with?.map((other, i) => <div key={i} class="with">and <RuleText rule={other} /></div>)}</>;
}

function Names({ title, names }: { title: string; names: string[] | undefined }) {
  if (!names || names.length === 0) return null;
  return <><h3>{title}</h3><ul class="plainlist">{names.map((name) => <li key={name}>{/^[A-Z_]+\./.test(name) || /^[a-z_0-9]+\.[a-z_0-9]+$/.test(name)
    ? <a class="mono" href={hashOf(name)}>{name}</a> : <Foreign text={name} />}</li>)}</ul></>;
}

function Chosen({ all, name }: { all: Knowledge; name: string }) {
  if (name === "") return <p class="dim">Choose a cause or a check to read what decides it.</p>;
  const label = all.labels.find((one) => one.label === name);
  if (label) {
    return <article>
      <h2>{label.title}</h2><p class="dim small mono">{label.label}</p>
      <p><Foreign text={label.description} /></p>
      {label.owner && <p><span class="chip">{label.severity} severity</span> <span class="chip">{label.owner === "either" ? "customer or provider" : label.owner} acts</span></p>}
      <Rules title="Confirmed by" rules={label.confirm} />
      <Rules title="Ruled out by" rules={label.refute} />
      {label.mitigation && <><h3>What to do</h3><p><Foreign text={label.mitigation} /></p></>}
      <Names title="Symptoms" names={label.symptoms} />
      <Names title="Brings about" names={label.effects} />
      <Names title="Easily taken for" names={label.confusedWith} />
      <Names title={label.children.length > 0 ? "Checks that guide the search below" : "Checks that decide it"} names={label.checks} />
      <Names title="Below it" names={label.children} />
    </article>;
  }
  const check = all.checks.find((one) => one.name === name);
  if (check) {
    const users = all.labels.filter((one) => one.checks.includes(check.name) && one.children.length === 0);
    return <article>
      <h2>{check.title || check.name}</h2><p class="dim small mono">{check.name}</p>
      <p><span class="chip">{check.kind}</span> <span class="chip">about {span(check.seconds)}</span> {check.intrusive && <span class="chip warnchip">loads the machine</span>}
        {check.off && <span class="chip warnchip">switched off here</span>} {check.needs.map((one) => <span class="chip" key={one}>needs {one.replaceAll("_", " ")}</span>)}</p>
      {check.reads.length > 0 && <><h3>Reads</h3><ul class="plainlist mono small">{check.reads.map((one) => <li key={one}>{one}</li>)}</ul></>}
      <h3>Reports</h3>
      <table class="plain"><thead><tr><th scope="col">Finding</th><th scope="col">Kind</th></tr></thead><tbody>{check.findings.map((one) =>
        <tr key={one.name}><td class="mono">{one.name}</td><td>{one.type}{one.unit && `, ${one.unit}`}</td></tr>)}</tbody></table>
      <Names title="Decides" names={users.map((one) => one.label)} />
    </article>;
  }
  return <Empty title="Nothing of that name is known."><button type="button" onClick={() => go("#/knowledge")}>To the beginning</button></Empty>;
}
