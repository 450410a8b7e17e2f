import { useState } from "preact/hooks";
import { setKey, whoami } from "../api.ts";
import { Title, Trouble } from "../parts.tsx";
import type { Whoami } from "../types.ts";

export function SignIn({ onEnter }: { onEnter: (who: Whoami) => void }) {
  const [key, change] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const who = await whoami(key.trim());
      setKey(key.trim());
      onEnter(who);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="narrow signin">
      <Title text="Sign in" />
      <form onSubmit={(event) => void submit(event)}>
        <label for="key">API key</label>
        <input id="key" type="password" autocomplete="current-password" spellcheck={false} required value={key} placeholder="galen_…"
          onInput={(event) => change(event.currentTarget.value)} />
        <p class="dim small">It stays in this tab until you sign out or close it, and goes nowhere but to this server. Keys are made
          with <code>galen keys create</code>.</p>
        <button class="primary" disabled={busy || key.trim() === ""}>{busy ? "Asking…" : "Sign in"}</button>
      </form>
      {error !== undefined && <Trouble error={error} />}
    </section>
  );
}
