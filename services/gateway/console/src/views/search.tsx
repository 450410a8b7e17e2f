// The search as it goes: the labels that were taken up, each with what became of it.
import { useState } from "preact/hooks";
import { countStates, directionOf, treeOf, wordsOf, type Picture, type TreeNode } from "../fold.ts";
import { belief, lastPart, visible } from "../format.ts";
import { Badge, Empty, Foreign, Shape, wordOf } from "../parts.tsx";

export function SearchTab({ picture, open, live }: { picture: Picture; open: (id: string) => void; live: boolean }) {
  const [all, setAll] = useState(false);
  const counts = countStates(picture);
  const trees = treeOf(picture);
  const hidden = counts.pruned;
  return (
    <div class="cols">
      <section aria-labelledby="tree-title">
        <div class="subhead"><h2 id="tree-title">Causes</h2>
          <p class="counts">{(["confirmed", "testing", "rejected", "inconclusive", "pruned"] as const).filter((one) => counts[one] > 0)
            .map((one) => <span key={one} class="count"><Shape state={one} /> {counts[one]} {wordOf(one)}</span>)}</p>
          {hidden > 0 && <label class="check small"><input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
            show those set aside</label>}</div>
        {trees.length === 0 ? <Empty title={live ? "No cause has been taken up yet." : "No cause was taken up."} />
          : <ul class="tree search">{trees.map((tree) => <Branch key={tree.node.label} tree={tree} all={all} picture={picture} open={open} />)}</ul>}
      </section>
      <section aria-labelledby="checks-title">
        <div class="subhead"><h2 id="checks-title">Checks</h2><p class="counts dim">{picture.checkOrder.length} answered</p></div>
        <Checks picture={picture} open={open} />
      </section>
    </div>
  );
}

function shown(tree: TreeNode, all: boolean): boolean {
  return all || tree.node.state !== "pruned" || tree.children.some((child) => shown(child, all));
}

const telling = (tree: TreeNode): boolean =>
  tree.node.state === "confirmed" || tree.node.state === "testing" || tree.children.some(telling);

function Branch({ tree, all, picture, open }: { tree: TreeNode; all: boolean; picture: Picture; open: (id: string) => void }) {
  const { node, children } = tree;
  if (!shown(tree, all)) return null;
  const title = visible(node.title) || wordsOf(lastPart(node.label.replaceAll(".", "/")));
  if (children.length > 0) {
    return <li><details open={telling(tree)}><summary data-row><Shape state={node.state} /> <span class="name">{title}</span>
      <span class="dim small"> {leaves(tree)}</span></summary>
      <ul>{children.map((child) => <Branch key={child.node.label} tree={child} all={all} picture={picture} open={open} />)}</ul></details></li>;
  }
  return <li><details class={`leaf ${node.state}`}><summary data-row><Shape state={node.state} /> <span class="name">{title}</span>
    <span class="small state"> {node.leaf ? wordOf(node.state) : ""}</span></summary>
    <div class="verdict">
      <p class="dim small mono">{node.label}</p>
      {node.reason && <p class="dim">Taken up because: <Foreign text={node.reason} /></p>}
      {node.verdict && <><p>{belief(node.verdict.probability)}</p>
        <ul class="reasons">{(node.verdict.reasons ?? []).map((reason, i) => <li key={i} class={directionOf(reason)}>
          <span class="dir">{directionOf(reason) === "supports" ? "for" : "against"}</span> <Foreign text={reason.text} />
          <Chips ids={reason.evidenceIds} open={open} /></li>)}</ul>
        {(node.verdict.missing ?? []).length > 0 && <><p class="dim">Would have decided, but did not answer:</p>
          <ul class="dim small">{node.verdict.missing?.slice(0, 12).map((one, i) => <li key={i}><Foreign text={one} /></li>)}</ul></>}</>}
      {!node.verdict && node.checks.length > 0 && <p class="dim small">Decided by <span class="mono">{node.checks.join(", ")}</span></p>}
    </div></details></li>;
}

function leaves(tree: TreeNode): string {
  const counts: Record<string, number> = {};
  const walk = (one: TreeNode) => {
    if (one.children.length === 0 && one.node.leaf) counts[one.node.state] = (counts[one.node.state] ?? 0) + 1;
    one.children.forEach(walk);
  };
  walk(tree);
  return (["confirmed", "testing", "rejected", "inconclusive", "pruned"]).filter((one) => counts[one])
    .map((one) => `${counts[one]} ${wordOf(one)}`).join(", ");
}

export function Chips({ ids, open }: { ids: string[] | undefined; open: (id: string) => void }) {
  if (!ids || ids.length === 0) return null;
  return <span class="chips">{ids.slice(0, 8).map((id) => <button key={id} type="button" class="chip link mono" onClick={() => open(id)}>
    {visible(id.startsWith("signal/") ? `log ${id.slice(id.lastIndexOf("@") + 1)}` : id)}</button>)}
    {ids.length > 8 && <span class="dim small">and {ids.length - 8} more</span>}</span>;
}

const kOrder: Record<string, number> = { FAIL: 0, ERROR: 1, PASS: 2, SKIPPED: 3 };

export function Checks({ picture, open, only = "" }: { picture: Picture; open: (id: string) => void; only?: string }) {
  const results = picture.checkOrder.map((id) => picture.checks[id]).filter((one) => one !== undefined)
    .filter((one) => only === "" || one.status === only);
  if (results.length === 0) return <Empty title={only ? "None of that kind." : "No check has answered yet."} />;
  results.sort((a, b) => (kOrder[a.status ?? ""] ?? 4) - (kOrder[b.status ?? ""] ?? 4));
  return <ul class="checks">{results.map((result) => <li key={result.id}>
    <button type="button" data-row class="row" onClick={() => open(result.id)}>
      <Badge state={result.status ?? ""} small /> <span class="mono name"><Foreign text={result.check} /></span>
      <span class="dim small"><Foreign text={result.node} /></span>
      <span class="text small"><Foreign text={result.message} /></span></button></li>)}</ul>;
}
