// How the answer came about, as a graph: proposed, verified, criticised, refined, summed up.
import { kBox, layoutOf } from "../graph.ts";
import type { Picture } from "../fold.ts";
import { visible } from "../format.ts";
import { Empty, Foreign } from "../parts.tsx";
import type { ReasoningStep } from "../types.ts";
import { Chips } from "./search.tsx";

const kMost = 120;

function split(text: string, width: number, lines: number): string[] {
  const out: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      out.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  if (line !== "") out.push(line);
  if (out.length > lines) return [...out.slice(0, lines - 1), `${(out[lines - 1] ?? "").slice(0, width - 1)}…`];
  return out.map((one) => (one.length > width + 2 ? `${one.slice(0, width)}…` : one));
}

const kindOf = (step: ReasoningStep) => (step.kind ?? "").toLowerCase();

function toneOf(step: ReasoningStep): string {
  if (kindOf(step) !== "verification") return kindOf(step);
  const text = step.text ?? "";
  return text.startsWith("confirmed") ? "confirmed" : text.startsWith("rejected") ? "rejected" : "inconclusive";
}

export function ReasoningTab({ picture, open, live }: { picture: Picture; open: (id: string) => void; live: boolean }) {
  const steps = picture.reasoning;
  if (steps.length === 0) {
    return <Empty title={live ? "The reasoning is drawn when the report is written." : "There is no reasoning to show."} />;
  }
  // A graph of hundreds helps nobody: what was confirmed and what it hangs on, then the rest as far as there is room.
  const kept = steps.length <= kMost ? steps : steps.filter((one) => !["inconclusive", "proposition"].includes(toneOf(one))).slice(0, kMost);
  const { placed, edges, width, height } = layoutOf(kept);
  return (
    <div>
      {kept.length < steps.length && <p class="dim">Drawn without {steps.length - kept.length} steps that decided nothing; the list below has all.</p>}
      <div class="scroll graphbox" tabIndex={0} role="group" aria-label="The reasoning as a graph; the same stands below as a list">
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} class="graph" aria-hidden="true">
          {edges.map(({ from, to }) => {
            const x1 = from.x + kBox.width;
            const y1 = from.y + kBox.height / 2;
            const y2 = to.y + kBox.height / 2;
            const middle = (x1 + to.x) / 2;
            return <path key={`${from.step.id} ${to.step.id}`} class={`edge ${toneOf(from.step)}`} d={`M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${to.x} ${y2}`} />;
          })}
          {placed.map(({ step, x, y }) => <g key={step.id} class={`stepbox ${toneOf(step)}`} transform={`translate(${x} ${y})`}>
            <title>{visible(step.text)}</title>
            <rect width={kBox.width} height={kBox.height} rx="6" />
            <text x="12" y="18" class="kind">{kindOf(step)}{toneOf(step) !== kindOf(step) ? `: ${toneOf(step) === "rejected" ? "ruled out" : toneOf(step) === "inconclusive" ? "undecided" : "confirmed"}` : ""}</text>
            {split(visible(step.label ? (picture.labels[step.label]?.title || step.label) : step.text), 34, 2).map((line, i) =>
              <text key={i} x="12" y={34 + i * 14}>{line}</text>)}
          </g>)}
        </svg>
      </div>
      <h2>In words</h2>
      <ol class="steps">{steps.map((step) => <li key={step.id} class={toneOf(step)}>
        <span class="chip">{kindOf(step)}</span> {step.label && <strong><Foreign text={picture.labels[step.label]?.title || step.label} />: </strong>}
        <Foreign text={step.text} />{step.model && <span class="dim small"> (words of the model {step.model})</span>}
        <Chips ids={step.evidenceIds} open={open} /></li>)}</ol>
    </div>
  );
}
