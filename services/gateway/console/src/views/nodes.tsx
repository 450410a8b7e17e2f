import { nodes } from "../api.ts";
import { Empty, Foreign, Loading, Title, Trouble, useAnswer } from "../parts.tsx";
import { now } from "../state.ts";
import { span } from "../format.ts";

export function NodesView() {
  const { answer, error, again } = useAnswer(nodes, [Math.floor(now.value / 10000)]);
  return (
    <section>
      <Title text="Nodes" />
      <p class="dim">Node executors that announced themselves. One that falls silent is gone from here when its time is over; those that
        execution was started with by name are not listed.</p>
      {error !== undefined && <Trouble error={error} again={again} />}
      {answer === undefined ? error === undefined && <Loading what="nodes" />
        : (answer.nodes ?? []).length === 0 ? <Empty title="No node has announced itself."><p class="dim">A node does so with <code>galen-node --execution=…</code>.</p></Empty>
          : <table class="list"><thead><tr><th scope="col">Node</th><th scope="col">Address</th><th scope="col">Believed for</th></tr></thead>
            <tbody>{answer.nodes?.map((node) => <tr key={node.name}><td data-label="Node"><span data-row tabIndex={-1}><Foreign text={node.name} /></span></td>
              <td class="mono" data-label="Address"><Foreign text={node.address} /></td>
              <td data-label="Believed for">{span(Math.max(0, (Date.parse(node.expireTime) - now.value) / 1000))}</td></tr>)}</tbody></table>}
    </section>
  );
}
