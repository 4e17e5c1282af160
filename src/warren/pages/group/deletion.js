// Deleting a group: for administrators, and only after they have said so twice.

import { address } from "../shell/address.js";
import { reason, send } from "../shell/api.js";
import { h, say } from "../shell/dom.js";
import { forget } from "../shell/live.js";
import { go } from "../shell/router.js";

/** @param {string} cluster @param {string} group */
export function askToDelete(cluster, group) {
  const error = h("p.error", { role: "alert" });
  const button = h("button.danger", { type: "button", onclick: remove }, "Delete the group");
  const cancel = h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "delete-title" },
    h("h2", { id: "delete-title" }, "Delete ", h("span.hostile", null, group), "?"),
    h(
      "p",
      null,
      `Warren forgets the group of ${cluster} and the windows of its partitions. Nothing changes in Kafka: if the group commits again, it comes back.`,
    ),
    error,
    h("div.buttons", null, cancel, button),
  );
  async function remove() {
    say(error, "");
    button.disabled = true;
    try {
      await send("DELETE", ["v3", "kafka", cluster, "consumer", group]);
      dialog.close();
      forget(cluster, group);
      go(address([]));
    } catch (problem) {
      say(error, reason(problem));
      button.disabled = false;
    }
  }
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
