// Asks for credentials: in place of the page when reading needs them, or in a dialog for administrators.

import { ApiError, get } from "./api.js";
import { h, put, say } from "./dom.js";
import { header, keep } from "./session.js";

/**
 * The form.
 * @param {string} why
 * @param {() => void} done called when the server has accepted the credentials
 * @param {{ admin?: boolean, cancel?: () => void }} [how] `admin`: a reader's credentials are not enough
 */
function form(why, done, how = {}) {
  const secret = h("input", {
    id: "login-secret",
    type: "password",
    autocomplete: "current-password",
    required: true,
    "aria-describedby": "login-error",
  });
  const user = h("input", { id: "login-user", type: "text", autocomplete: "username" });
  const error = h("p.error", { id: "login-error", role: "alert" });
  const button = h("button.primary", { type: "submit" }, "Sign in");
  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    say(error, "");
    button.disabled = true;
    const credentials = header(user.value.trim(), secret.value.trim());
    try {
      const session = await get(["v4", "session"], {}, { credentials });
      if (how.admin && !session.admin) {
        say(error, "These are a reader's credentials. An administrator's are needed.");
        return;
      }
      keep(credentials);
      done();
    } catch (problem) {
      const wrong = problem instanceof ApiError && problem.status === 401;
      say(error, wrong ? "These credentials are wrong." : /** @type {Error} */ (problem).message);
      secret.select();
    } finally {
      button.disabled = false;
    }
  }
  return h(
    "form.login",
    { onsubmit: submit },
    h("h1", null, "Sign in"),
    h("p", null, why),
    h("label", { for: "login-secret" }, "Token or password"),
    secret,
    h(
      "details",
      null,
      h("summary", null, "I have a user name"),
      h("label", { for: "login-user" }, "User name"),
      user,
    ),
    error,
    h(
      "div.buttons",
      null,
      button,
      how.cancel && h("button", { type: "button", onclick: how.cancel }, "Cancel"),
    ),
    h("p.hint", null, "Kept in this tab only, until it is closed."),
  );
}

/**
 * In place of the page.
 * @param {HTMLElement} place
 * @param {() => void} done
 */
export function askInPlace(place, done) {
  if (place.querySelector("form.login")) return;
  put(place, h("div.narrow", null, form("This Warren wants to know who reads.", done)));
  place.querySelector("input")?.focus();
}

/**
 * A dialog over the page, for what only administrators may do.
 * @param {() => void} done
 */
export function askInDialog(done) {
  const dialog = h("dialog", { "aria-label": "Sign in" });
  const close = () => dialog.close();
  dialog.append(form("With an administrator's token you may change things.", () => {
    close();
    done();
  }, { admin: true, cancel: close }));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
