// Talking to the server.

export class Problem extends Error {}
export class NoToken extends Problem {}

// A token comes from the address, after "#token=", where no server and no log sees it; or it is typed in. It is kept
// until the tab is closed.
export const TOKEN = "suffice-token";

export function takeToken() {
  const said = new URLSearchParams(location.hash.slice(1));
  const given = said.get("token");
  if (given === null) return;
  sessionStorage.setItem(TOKEN, given);
  said.delete("token");
  history.replaceState(null, "", `${location.pathname}${String(said) ? `#${said}` : ""}`);
}

export async function ask(path, body, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const options = body === undefined ? { headers } : {
    method: "POST", body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" },
  };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (token !== null && !/^[\x20-\x7e]*$/.test(token)) throw new NoToken("This is not the server's token.");
    throw new Problem("The server cannot be reached; is it still running?");
  }
  if (response.ok) return response;
  if (response.status === 401) throw new NoToken(token === null ? "This server needs its token." : "This is not the server's token.");
  const problem = await response.json().catch(() => ({}));
  throw new Problem(problem.detail || `The server answered with ${response.status}.`);
}
