// What the whole page shares.
import { signal } from "@preact/signals";
import type { Whoami } from "./types.ts";
import { parseRoute, type Route } from "./route.ts";

export const me = signal<Whoami | null>(null);
export const route = signal<Route>(parseRoute(location.hash));
/** The tenant whose diagnoses are shown; that of the key, or for keys of all tenants the one that was chosen. */
export const tenant = signal<string>(sessionStorage.getItem("galen.tenant") ?? "");
/** Said by screen readers, one sentence at a time. */
export const said = signal("");
export const helpOpen = signal(false);
/** Single keys as short cuts can be switched off (WCAG 2.1.4). */
export const keysOn = signal(localStorage.getItem("galen.keys") !== "off");
export const now = signal(Date.now());

export function setTenant(name: string): void {
  tenant.value = name;
  sessionStorage.setItem("galen.tenant", name);
}
export function setKeysOn(on: boolean): void {
  keysOn.value = on;
  localStorage.setItem("galen.keys", on ? "on" : "off");
}
export function go(hash: string): void {
  if (location.hash === hash) return;
  location.hash = hash;
}
export function replace(hash: string): void {
  history.replaceState(null, "", hash);
  route.value = parseRoute(location.hash);
}
addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 5000);
