// Where the page is: behind the "#", so that no server is asked for it. Pure.

export type Route =
  | { view: "list"; query: URLSearchParams }
  | { view: "new" }
  | { view: "diagnosis"; tenant: string; id: string; tab: string; evidence: string }
  | { view: "knowledge"; label: string }
  | { view: "nodes" }
  | { view: "unknown" };

export const kTabs = ["report", "search", "evidence", "reasoning", "time"] as const;

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "").map(decode);
  const parameters = new URLSearchParams(query);
  if (parts.length === 0) return { view: "list", query: parameters };
  if (parts[0] === "diagnoses" && parts.length === 1) return { view: "list", query: parameters };
  if (parts[0] === "new" && parts.length === 1) return { view: "new" };
  if (parts[0] === "nodes" && parts.length === 1) return { view: "nodes" };
  if (parts[0] === "knowledge") return { view: "knowledge", label: parts[1] ?? "" };
  if (parts[0] === "tenants" && parts[2] === "diagnoses" && parts[1] && parts[3]) {
    return { view: "diagnosis", tenant: parts[1], id: parts[3], tab: parts[4] ?? "", evidence: parameters.get("evidence") ?? "" };
  }
  return { view: "unknown" };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function diagnosisHash(name: string, tab = "", evidence = ""): string {
  return `#/${name}${tab ? `/${tab}` : ""}${evidence ? `?evidence=${encodeURIComponent(evidence)}` : ""}`;
}
