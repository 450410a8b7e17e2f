// Throughput over what explains it, on one time axis; what was looked at of the system; whom to leave out.
import { draw, short, type Line } from "../courses.ts";
import { Foreign } from "../parts.tsx";
import type { Report } from "../types.ts";
import { Chips } from "./search.tsx";

const dashes = ["", "6 3", "2 2", "8 2 2 2", "1 3", "10 4"];

export function Courses({ report }: { report: Report }) {
  const drawing = draw(report.courses);
  if (!drawing) return null;
  const bottom = drawing.height - 30;
  let colour = -1;
  const drawn = drawing.panels.map((panel) => ({ panel, lines: panel.lines.map((line) => ({ line, ...look(line, line.kind === "suspect" || line.kind === "training" ? ++colour : 0) })) }));
  return <section class="panel courses" aria-labelledby="r-courses"><h2 id="r-courses">Over time</h2>
    <svg viewBox={`0 0 ${drawing.width} ${drawing.height}`} role="img" aria-label={`Throughput and ${drawing.panels.length - 1} quantities over time`}>
      {drawing.shades.map((shade, i) => <rect key={i} class="shade" x={shade.x} y={20} width={shade.width} height={bottom - 20}><title>throughput is low</title></rect>)}
      {drawn.map(({ panel, lines }) => <g key={panel.name}>
        <rect class="frame" x={drawing.left} y={panel.top} width={drawing.right - drawing.left} height={panel.height} />
        <text x={drawing.left} y={panel.top - 5}>{panel.name}{panel.unit && `, ${panel.unit}`}</text>
        <text class="dimtext" text-anchor="end" x={drawing.left - 5} y={panel.top + 10}>{short(panel.high)}</text>
        <text class="dimtext" text-anchor="end" x={drawing.left - 5} y={panel.top + panel.height}>{short(panel.low)}</text>
        {lines.map(({ line, name, dash }, i) => <g key={i}><path class={`line ${name}`} d={line.path} stroke-dasharray={dash} />
          {line.levels && <path class="level" d={line.levels} />}</g>)}</g>)}
      {drawing.ticks.map((tick) => <text key={tick.x} class="dimtext" text-anchor="middle" x={tick.x} y={bottom + 16}>{tick.text}</text>)}
    </svg>
    <ul class="legend">{drawn.flatMap(({ panel, lines }) => lines.map(({ line, name, dash }, i) => <li key={panel.name + i}>
      <svg width="26" height="10" aria-hidden="true"><path class={`line ${name}`} d="M2 5H24" stroke-dasharray={dash} /></svg> {panel.name}: <Foreign text={line.name} /></li>))}</ul>
    <p class="dim small">Times are UTC. Red ground: throughput is low. A gap: not known.</p></section>;
}

function look(line: Line, colour: number): { name: string; dash: string } {
  if (line.kind === "throughput" || line.kind === "peers") return { name: line.kind, dash: "" };
  return { name: `c${colour % dashes.length}`, dash: dashes[colour % dashes.length] ?? "" };
}

const states: Record<string, { mark: string; word: string }> = {
  CLEAN: { mark: "✓", word: "clean" }, FAULTY: { mark: "✗", word: "abnormal" }, UNKNOWN: { mark: "?", word: "not known" },
};

export function System({ report, open }: { report: Report; open: (id: string) => void }) {
  const families = report.system?.families ?? [];
  if (families.length === 0) return null;
  return <section class="panel" aria-labelledby="r-system"><h2 id="r-system">The system{report.system?.state === "CLEAN" && " is fine"}</h2>
    <ul class="families">{families.map((family) => { const state = states[family.state ?? ""] ?? { mark: "?", word: "not known" };
      return <li key={family.name} class={`family ${(family.state ?? "unknown").toLowerCase()}`}><span class="mark" aria-hidden="true">{state.mark}</span> <strong>{family.title}</strong> {state.word}: <Foreign text={family.text} />{" "}
        {family.state === "FAULTY" && <Chips ids={family.evidenceIds?.slice(0, 4)} open={open} />}</li>; })}</ul></section>;
}

export function Exclusion({ report, open }: { report: Report; open: (id: string) => void }) {
  const nodes = report.exclusion?.nodes ?? [];
  if (nodes.length === 0) return null;
  return <section class="panel" aria-labelledby="r-exclusion"><h2 id="r-exclusion">Leave out of the job</h2>
    <ol>{nodes.map((node) => <li key={node.node}><strong><Foreign text={node.node} /></strong>{node.gainPct !== undefined && `: ${node.gainPct >= 0 ? "+" : ""}${node.gainPct.toFixed(1)} % throughput`};{" "}
      <Foreign text={node.reason} /> <Chips ids={node.evidenceIds?.slice(0, 4)} open={open} /></li>)}</ol>
    {report.exclusion?.gainPct !== undefined && <p>Together {report.exclusion.gainPct.toFixed(1)} % more than now.</p>}
    <p class="dim small">Afterwards: <Foreign text={report.exclusion?.verify} /></p></section>;
}
